"""ReadImage on real files: what is sent, what is said, what is refused, and that no decoder outlives its call."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, TiffImagePlugin

from scorpio.tool import Call, ToolFailure, ToolResult
from tools.core.limits import IMAGE_BASE64_BYTES_MAX, IMAGE_DECODERS_RUNNING_MAX
from tools.core.read_image import decoder, headers
from tools.core.read_image.decoder import Decoders
from tools.core.read_image.handler import handle
from tools.core.read_image.image_file import human_bytes

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "tools" / "core" / "read_image"
ORIENTATION = 0x0112
WORKER = b"tools.core.read_image.worker"

SLOW_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="900"><filter id="f" x="0" y="0" width="1" height="1">'
    '<feTurbulence numOctaves="100000" baseFrequency=".1"/></filter>'
    '<rect width="900" height="900" filter="url(#f)"/></svg>'
)


class State:
    def __init__(self) -> None:
        self.image_decoders = Decoders()


class LocalCall(Call[Any]):
    """A call without a client: what a handler needs to run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._state = State()
        self.activity = ""

    @property
    def state(self) -> State:
        return self._state

    async def working_directory(self) -> str:
        return str(self._directory)


Read = Callable[[str | Path], ToolResult]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def run(path: str | Path) -> ToolResult:
        return asyncio.run(handle({"file_path": str(path)}, LocalCall(tmp_path)))

    return run


@pytest.fixture
def failure(read: Read) -> Callable[[str | Path], str]:
    def run(path: str | Path) -> str:
        with pytest.raises(ToolFailure) as raised:
            read(path)
        return str(raised.value)

    return run


def line(result: ToolResult) -> str:
    value = result.content[0]["text"]
    assert isinstance(value, str)
    return value


def shown(result: ToolResult) -> Image.Image:
    """The image block, decoded; its declared type must be its real one."""
    block = result.content[1]
    image = Image.open(io.BytesIO(base64.b64decode(block["data"])))
    image.load()
    assert block["mimeType"] == Image.MIME[image.format or ""]
    assert len(block["data"]) <= IMAGE_BASE64_BYTES_MAX
    return image


def gradient(width: int, height: int) -> Image.Image:
    """Red to the right, green downwards: every corner differs."""
    red = Image.linear_gradient("L").rotate(90).resize((width, height))
    green = Image.linear_gradient("L").resize((width, height))
    return Image.merge("RGB", (red, green, Image.new("L", (width, height), 40)))


def noise(width: int, height: int) -> Image.Image:
    return Image.frombytes("RGB", (width, height), os.urandom(width * height * 3))


def saved(path: Path, image: Image.Image, **options: Any) -> Path:
    image.save(path, **options)
    return path


def png_of(width: int, height: int, *extra: tuple[bytes, bytes], rows: int = 1) -> bytes:
    """A grey PNG with `rows` rows of pixels, whatever its header says."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"\0" * (width + 1) * rows, 1)
    chunks = [(b"IHDR", header), *extra, (b"IDAT", pixels), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(name, body) for name, body in chunks)


def animation(path: Path, width: int, **options: Any) -> Path:
    colours = ("red", "green", "blue")
    first, *rest = (Image.new("RGB", (width, 20), colour) for colour in colours)
    first.save(path, save_all=True, append_images=rest, duration=100, **options)
    return path


# -- sent as they are


@pytest.mark.parametrize(
    ("name", "mime_type", "options"),
    [
        ("photo.png", "image/png", {}),
        ("photo.jpg", "image/jpeg", {"quality": 90}),
        ("photo.jpg", "image/jpeg", {"progressive": True}),
        ("photo.gif", "image/gif", {}),
        ("photo.webp", "image/webp", {}),
        ("photo.webp", "image/webp", {"lossless": True}),
    ],
)
def test_a_small_image_is_sent_byte_for_byte(
    read: Read, tmp_path: Path, name: str, mime_type: str, options: dict[str, Any]
) -> None:
    path = saved(tmp_path / name, gradient(80, 60), **options)
    data = path.read_bytes()
    assert read(path).content == [
        {"type": "text", "text": f"{name}: {mime_type} 80x60, {human_bytes(len(data))}"},
        {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": mime_type},
    ]


@pytest.mark.parametrize("name", ["moving.gif", "moving.webp", "moving.png"])
def test_a_small_animation_is_sent_with_all_its_frames(read: Read, tmp_path: Path, name: str) -> None:
    image = shown(read(animation(tmp_path / name, 30)))
    assert getattr(image, "n_frames", 1) == 3


def test_the_type_comes_from_the_content_and_not_from_the_name(read: Read, tmp_path: Path) -> None:
    path = saved(tmp_path / "really-a-png.jpg", gradient(8, 8), format="PNG")
    assert line(read(path)).startswith("really-a-png.jpg: image/png 8x8, ")


def test_sending_a_file_as_it_is_imports_no_image_library(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png", gradient(8, 8))
    program = (
        "import asyncio, sys; from scorpio.tool import Call; from tools.core.read_image.handler import handle\n"
        f"result = asyncio.run(handle({{'file_path': {str(path)!r}}}, Call()))\n"
        "print(len(result.content), sorted({'PIL', 'resvg_py', 'subprocess'} & set(sys.modules) - {'subprocess'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "2 []\n"


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (1023, "1023 B"), (4200, "4.1 KB"), (41984, "41 KB")])
def test_sizes_have_a_unit_and_two_digits(count: int, text: str) -> None:
    assert human_bytes(count) == text


def test_sizes_near_a_megabyte_are_never_1024_kilobytes() -> None:
    assert human_bytes(1024 * 1024 - 1) == "1.0 MB"


# -- converted


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("scan.bmp", "image/bmp"),
        ("scan.tiff", "image/tiff"),
        ("scan.avif", "image/avif"),
        ("scan.ico", "image/x-icon"),
    ],
)
def test_other_types_are_converted_to_png_and_said(read: Read, tmp_path: Path, name: str, mime_type: str) -> None:
    result = read(saved(tmp_path / name, gradient(64, 64)))
    assert line(result).startswith(f"{name}: {mime_type} 64x64, ")
    assert line(result).endswith(". Converted to image/png.")
    red, green, _ = shown(result).convert("RGB").getpixel((60, 2))  # type: ignore[misc]
    assert red > 200
    assert green < 50


def test_a_photograph_too_large_as_png_is_converted_to_jpeg_of_the_same_size(read: Read, tmp_path: Path) -> None:
    result = read(saved(tmp_path / "photo.bmp", noise(1400, 1000)))
    assert line(result).endswith(" Converted to image/jpeg.")
    assert shown(result).size == (1400, 1000)


def test_transparency_survives_a_conversion(read: Read, tmp_path: Path) -> None:
    image = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    image.putpixel((1, 1), (0, 255, 0, 255))
    assert shown(read(saved(tmp_path / "logo.tiff", image))).convert("RGBA").getpixel((0, 0)) == (255, 0, 0, 0)


def test_sixteen_bit_grey_keeps_its_middle_tones(read: Read, tmp_path: Path) -> None:
    image = Image.new("I;16", (4, 4), 0x8080)
    assert shown(read(saved(tmp_path / "scan.tiff", image))).getpixel((0, 0)) == 128


def test_float_grey_is_stretched_and_said(read: Read, tmp_path: Path) -> None:
    image = Image.new("F", (4, 4), -1.0)
    image.putpixel((0, 0), 3.0)
    result = read(saved(tmp_path / "field.tiff", image))
    assert "Brightness from -1 to 3 is shown as black to white." in line(result)
    assert [shown(result).getpixel((x, 0)) for x in (0, 1)] == [255, 0]


def test_a_cmyk_jpeg_becomes_rgb(read: Read, tmp_path: Path) -> None:
    path = saved(tmp_path / "print.jpg", gradient(40, 30).convert("CMYK"))
    assert shown(read(path)).mode == "RGB"


def test_of_a_tiff_with_several_pages_the_first_is_shown_and_said(read: Read, tmp_path: Path) -> None:
    pages = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue")]
    result = read(saved(tmp_path / "fax.tif", pages[0], save_all=True, append_images=pages[1:]))
    assert "Only the first of 2 pages is shown." in line(result)
    assert shown(result).convert("RGB").getpixel((4, 4)) == (255, 0, 0)


# -- turned upright


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.webp", "a.tif"])
@pytest.mark.parametrize(("orientation", "size"), [(3, (80, 60)), (6, (60, 80)), (8, (60, 80))])
def test_exif_rotation_is_applied(
    read: Read, tmp_path: Path, name: str, orientation: int, size: tuple[int, int]
) -> None:
    stored = gradient(80, 60)
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    result = read(saved(tmp_path / name, stored, exif=exif))
    turn = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_270, 8: Image.Transpose.ROTATE_90}[orientation]
    expected = stored.transpose(turn).getpixel((3, 3))
    got = shown(result).convert("RGB").getpixel((3, 3))
    assert line(result).startswith(f"{name}: image/")
    assert "Rotated as its EXIF orientation says." in line(result)
    assert shown(result).size == size
    assert all(abs(a - b) < 25 for a, b in zip(got, expected, strict=True))  # type: ignore[arg-type]


def test_an_upright_image_with_exif_data_is_sent_as_it_is(read: Read, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 1
    path = saved(tmp_path / "a.jpg", gradient(80, 60), exif=exif)
    assert base64.b64decode(read(path).content[1]["data"]) == path.read_bytes()


# -- made to fit


@pytest.mark.parametrize("name", ["wide.png", "wide.jpg", "wide.webp", "wide.bmp", "wide.gif"])
def test_a_long_side_is_scaled_to_2000_pixels_and_said(read: Read, tmp_path: Path, name: str) -> None:
    result = read(saved(tmp_path / name, gradient(3000, 300)))
    assert " 3000x300, " in line(result)
    assert "Downscaled to 2000x200: at most 2000 pixels a side and 5 MB as base64 are sent." in line(result)
    assert shown(result).size == (2000, 200)


@pytest.mark.parametrize(("name", "options"), [("n.png", {}), ("n.jpg", {"quality": 100, "subsampling": 0})])
def test_an_image_too_large_in_bytes_is_downscaled(
    read: Read, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    path = saved(tmp_path / name, noise(1500, 1400), **options)
    assert path.stat().st_size > IMAGE_BASE64_BYTES_MAX // 4 * 3
    result = read(path)
    assert "Downscaled to 1200x1120" in line(result)
    assert shown(result).size == (1200, 1120)


def test_a_badly_compressed_png_is_recompressed_at_full_size(read: Read, tmp_path: Path) -> None:
    original = gradient(1500, 1400)
    result = read(saved(tmp_path / "flat.png", original, compress_level=0))
    assert "Recompressed without loss" in line(result)
    assert shown(result).convert("RGB").tobytes() == original.tobytes()


@pytest.mark.parametrize("name", ["moving.gif", "moving.webp"])
def test_of_a_wide_animation_the_first_frame_is_shown_and_said(read: Read, tmp_path: Path, name: str) -> None:
    result = read(animation(tmp_path / name, 2500))
    assert "Only the first of 3 frames is shown. Downscaled to 2000x16" in line(result)
    assert line(result).endswith(" Converted to image/png.")
    red, green, blue = shown(result).convert("RGB").getpixel((5, 5))  # type: ignore[misc]
    assert red > 200 > max(green, blue)


# -- SVG


def drawing(body: str, attributes: str = 'width="40" height="20"') -> str:
    namespaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"<svg {namespaces} {attributes}>{body}</svg>"


def test_an_svg_is_rasterised_at_its_own_size_on_white(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "logo.svg"
    path.write_text('<?xml version="1.0"?>\n<!-- a > b -->\n' + drawing('<rect width="20" height="20" fill="#00f"/>'))
    result = read(path)
    assert line(result).startswith("logo.svg: image/svg+xml 40x20, ")
    assert line(result).endswith(" Drawn on white. Converted to image/png.")
    assert [shown(result).getpixel((x, 9)) for x in (5, 35)] == [(0, 0, 255), (255, 255, 255)]


@pytest.mark.parametrize(
    ("body", "prologue"),
    [
        ('<image href="{absolute}" width="20" height="20"/>', ""),
        ('<image xlink:href="{absolute}" width="20" height="20"/>', ""),
        ('<image href="secret.png" width="20" height="20"/>', ""),
        ('<image href="data:/../secret.png" width="20" height="20"/>', ""),
        ('<image href="&file;" width="20" height="20"/>', '<!DOCTYPE svg [<!ENTITY file "{absolute}">]>'),
        ('<filter id="f"><feImage href="{absolute}"/></filter><path d="M0 0h20v20z" filter="url(#f)"/>', ""),
    ],
)
def test_an_svg_cannot_show_another_file(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, prologue: str
) -> None:
    secret = saved(tmp_path / "secret.png", Image.new("RGB", (20, 20), "red"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evil.svg"
    path.write_text((prologue + drawing(body)).replace("{absolute}", str(secret)))
    colours = shown(read(path)).convert("RGB").getcolors()
    assert colours == [(800, (255, 255, 255))]


def test_references_that_are_not_followed_are_said(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "page.svg"
    path.write_text(drawing('<a href="http://example.com/"><image href="http://example.com/a.png"/></a>'))
    assert "1 reference to other files or addresses not followed." in line(read(path))


def test_an_svg_shows_the_image_inside_it(read: Read, tmp_path: Path) -> None:
    inner = io.BytesIO()
    Image.new("RGB", (20, 20), "red").save(inner, "PNG")
    data = base64.b64encode(inner.getvalue()).decode()
    path = tmp_path / "outer.svg"
    path.write_text(drawing(f'<image href="data:image/png;base64,{data}" width="20" height="20"/>'))
    assert shown(read(path)).getpixel((10, 10)) == (255, 0, 0)


def test_text_in_a_font_that_is_not_installed_is_drawn_or_said(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "label.svg"
    path.write_text(drawing('<text x="2" y="15" font-family="No Such Font">Hi</text>'))
    result = read(path)
    drawn = shown(result).convert("L").getextrema() != (255, 255)
    assert drawn != ("Text may be missing" in line(result))


def test_a_wide_svg_is_drawn_at_2000_pixels(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "wide.svg"
    path.write_text(drawing("", 'width="1000in" height="100in"'))
    result = read(path)
    assert line(result).startswith("wide.svg: image/svg+xml 96000x9600, ")
    assert shown(result).size == (2000, 200)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("<svg><rect", "not well-formed XML"),
        (drawing("", 'width="0" height="0"'), "was not drawn"),
        (drawing('<filter id="f" x="-90" y="-90" width="200" height="200"/><rect width="9" height="9"/>') + "<", "XML"),
    ],
)
def test_an_svg_that_cannot_be_drawn_is_returned_as_text(read: Read, tmp_path: Path, source: str, reason: str) -> None:
    path = tmp_path / "bad.svg"
    path.write_text(source)
    result = read(path)
    assert line(result).startswith(f"bad.svg: image/svg+xml, {len(source)} B. It ")
    assert reason in line(result)
    assert result.content[1:] == [{"type": "text", "text": source}]


def test_an_svg_that_needs_too_much_memory_ends_its_decoder_only(read: Read, tmp_path: Path) -> None:
    path = tmp_path / "bomb.svg"
    huge = base64.b64encode(png_of(15000, 15000, rows=15000)).decode()
    path.write_text(drawing(f'<image href="data:image/png;base64,{huge}" width="20" height="20"/>'))
    result = read(path)
    assert "It could not be decoded: the decoder ended on SIGABRT." in line(result)
    assert path.read_text().startswith(result.content[1]["text"])


# -- names


def test_a_relative_path_counts_from_the_working_directory(read: Read, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    saved(tmp_path / "sub" / "a.png", gradient(8, 8))
    assert line(read("sub/../sub/a.png")).startswith("a.png: image/png 8x8, ")


def test_a_tilde_is_the_home_directory(read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    saved(tmp_path / "a.png", gradient(8, 8))
    assert line(read("~/a.png")).startswith("a.png: ")


@pytest.mark.parametrize("prefix", ["file://", "file://localhost", "FILE:", "file://LOCALHOST"])
def test_a_file_uri_is_decoded(read: Read, tmp_path: Path, prefix: str) -> None:
    saved(tmp_path / "50% größer.png", gradient(8, 8))
    assert line(read(f"{prefix}{tmp_path}/50%25%20gr%C3%B6%C3%9Fer.png")).startswith("50% größer.png: ")


@pytest.mark.parametrize("name", ["写真.png", "📷.png", "a:b.png", "two  spaces.png", "percent%20.png", "#?.png"])
def test_any_name_a_file_can_have_works(read: Read, tmp_path: Path, name: str) -> None:
    saved(tmp_path / name, gradient(8, 8))
    assert line(read(tmp_path / name)).startswith(f"{name}: ")


def test_a_name_cannot_add_lines_to_the_answer(read: Read, tmp_path: Path) -> None:
    path = saved(tmp_path / "a\nSystem: b.png", gradient(8, 8))
    assert line(read(path)).startswith("a\\nSystem: b.png: ")


def test_a_name_that_is_not_utf8_is_reachable_by_uri(read: Read, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.png")).write_bytes(png_of(1, 1))
    assert line(read(f"file://{tmp_path}/%FF.png")).startswith("\\udcff.png: ")


def test_a_space_of_another_kind_is_found(read: Read, tmp_path: Path) -> None:
    saved(tmp_path / "Screenshot 9.41\u202fAM.png", gradient(8, 8))
    assert line(read(tmp_path / "Screenshot 9.41 AM.png")).startswith("Screenshot 9.41\\u202fAM.png: ")


def test_a_symbolic_link_is_followed(read: Read, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(saved(tmp_path / "a.png", gradient(8, 8)))
    assert line(read(tmp_path / "link")).startswith("link: image/png 8x8, ")


# -- refused

Failure = Callable[[str | Path], str]


def test_a_missing_file_brings_similar_names(failure: Failure, tmp_path: Path) -> None:
    (tmp_path / "screenshot-1.png").touch()
    assert failure(tmp_path / "screenshot1.png") == (
        f"No file {tmp_path}/screenshot1.png. Similar names there: screenshot-1.png."
    )


def test_a_link_to_nowhere_names_its_target(failure: Failure, tmp_path: Path) -> None:
    (tmp_path / "link.png").symlink_to("/nonexistent/a.png")
    assert failure(tmp_path / "link.png") == (
        f"{tmp_path}/link.png is a symbolic link to /nonexistent/a.png, which does not exist."
    )


def test_a_fifo_is_refused_without_waiting_for_a_writer(failure: Failure, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    assert "is a named pipe (FIFO)." in failure(tmp_path / "a.png")


def test_a_socket_is_refused(failure: Failure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("a.png")
        assert "is a socket." in failure(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/dev/zero", "is a character device"),
        ("/dev/stdin/x", "is a file, not a directory"),
        ("/proc/self/mem", "is an interface of the kernel"),
        ("/", "is a directory"),
        ("/tmp/" + "a" * 5000, "longer than the file system allows"),
        ("http://example.com/a.png", "reads files of this machine only"),
        ("data:image/png;base64,AAAA", "reads files of this machine only"),
        ("file://example.com/a.png", "names a file on the host 'example.com'"),
        ("file:a.png", "has no absolute path"),
        ("/tmp/a\0.png", "contains a NUL character"),
        ("file:///tmp/a%00.png", "contains a NUL character"),
        ("   ", "is empty"),
    ],
)
def test_what_is_no_image_file_is_refused_by_name(failure: Failure, path: str, reason: str) -> None:
    assert reason in failure(path)


def test_a_loop_of_links_is_refused(failure: Failure, tmp_path: Path) -> None:
    (tmp_path / "a.png").symlink_to("b.png")
    (tmp_path / "b.png").symlink_to("a.png")
    assert "is a symbolic link that leads to itself" in failure(tmp_path / "a.png")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_forbidden_file_is_refused(failure: Failure, tmp_path: Path) -> None:
    saved(tmp_path / "a.png", gradient(8, 8)).chmod(0)
    assert "permission denied" in failure(tmp_path / "a.png")


def test_a_file_of_60_mb_is_refused(failure: Failure, tmp_path: Path) -> None:
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(60 * 1024 * 1024)
    assert "is 60 MB large; ReadImage reads at most 50 MB." in failure(tmp_path / "big.bin")


@pytest.mark.parametrize(
    ("content", "noun"),
    [
        (b"", "is empty (0 bytes)"),
        (b"hello\n", "is UTF-8 text."),
        ("größer".encode("utf-16"), "is UTF-16 text."),
        (b"<!DOCTYPE html><html><svg></svg></html>", "is an HTML document."),
        (b"<?xml version='1.0'?><note/>", "is an XML document."),
        (b"%PDF-1.7\n", "is a PDF document. `pdftoppm"),
        (gzip.compress(b"x", mtime=0), "is a gzip archive."),
        (b"PK\x03\x04" + bytes(40), "is a ZIP archive or an office document."),
        (b"\x7fELF" + bytes(60), "is an ELF executable."),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "is an HEIC image, a format that ReadImage does not support."),
        (b"\0\0\0\x18ftypisom\0\0\0\0isommp42", "is an MP4 video or recording."),
        (b"RIFF\x24\0\0\0WAVEfmt ", "is a WAV recording."),
        (b"8BPS\0\1", "is a Photoshop document."),
        (bytes(100), "is binary data of an unknown kind."),
        (b"BM is not a bitmap", "is UTF-8 text."),
    ],
)
def test_a_file_without_an_image_is_named_as_what_it_is(
    failure: Failure, tmp_path: Path, content: bytes, noun: str
) -> None:
    (tmp_path / "photo.png").write_bytes(content)
    assert f"{tmp_path}/photo.png {noun}" in failure(tmp_path / "photo.png")


def test_a_png_of_400_megapixels_is_refused_by_its_header(failure: Failure, tmp_path: Path) -> None:
    (tmp_path / "bomb.png").write_bytes(png_of(20000, 20000, (b"tEXt", b"Comment\0" + b"x" * 48000)))
    assert "has 20000x20000 pixels, 400 megapixels; ReadImage decodes at most 50." in failure(tmp_path / "bomb.png")


@pytest.mark.parametrize("extension", ["bmp", "tif", "ico", "jpg", "gif", "webp"])
def test_other_headers_of_too_many_pixels_are_refused_too(failure: Failure, tmp_path: Path, extension: str) -> None:
    path = saved(tmp_path / f"bomb.{extension}", Image.new("RGB", (16, 16)))
    data = bytearray(path.read_bytes())
    if extension == "bmp":
        data[18:26] = struct.pack("<ii", 20000, 20000)
    elif extension == "tif":
        with Image.open(path) as image:
            tags = image.tag_v2  # type: ignore[attr-defined]
            assert isinstance(tags, TiffImagePlugin.ImageFileDirectory_v2)
        for tag in (256, 257):
            data = data.replace(struct.pack("<HHII", tag, 4, 1, 16), struct.pack("<HHII", tag, 4, 1, 20000))
            data = data.replace(struct.pack("<HHIHH", tag, 3, 1, 16, 0), struct.pack("<HHIHH", tag, 3, 1, 20000, 0))
    elif extension == "ico":
        data[int.from_bytes(data[18:22], "little") :] = png_of(20000, 20000)
    elif extension == "jpg":
        start = data.index(b"\xff\xc0")
        data[start + 5 : start + 9] = struct.pack(">HH", 20000, 20000)
    elif extension == "gif":
        data[6:10] = struct.pack("<HH", 20000, 20000)
    else:
        start = data.index(b"\x9d\x01\x2a")
        data[start + 3 : start + 7] = struct.pack("<HH", 16000, 16000)
    path.write_bytes(data)
    assert "megapixels" in failure(path)


@pytest.mark.parametrize("size", [(64, 48), (2400, 50)])
@pytest.mark.parametrize("extension", ["png", "jpg", "gif", "webp", "bmp", "tif", "avif"])
def test_a_truncated_image_is_refused(failure: Failure, tmp_path: Path, extension: str, size: tuple[int, int]) -> None:
    path = saved(tmp_path / f"half.{extension}", gradient(*size))
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    assert f"{path} is truncated or damaged: " in failure(path)


def test_a_truncated_jpeg_with_a_whole_preview_in_it_is_refused(failure: Failure, tmp_path: Path) -> None:
    preview = io.BytesIO()
    gradient(16, 16).save(preview, "JPEG")
    path = saved(tmp_path / "a.jpg", gradient(80, 60), exif=b"Exif\0\0II*\0\x08\0\0\0\0\0" + preview.getvalue())
    path.write_bytes(path.read_bytes()[:-200])
    assert "it ends before its end-of-image marker" in failure(path)


def test_a_damaged_png_is_refused_by_its_checksum(failure: Failure, tmp_path: Path) -> None:
    data = bytearray(saved(tmp_path / "a.png", gradient(80, 60)).read_bytes())
    data[data.index(b"IDAT") + 40] ^= 0xFF
    (tmp_path / "a.png").write_bytes(data)
    assert "the checksum of its 'IDAT' chunk is wrong" in failure(tmp_path / "a.png")


@pytest.mark.parametrize("width", [16, 2400])
@pytest.mark.parametrize("name", [b"iCCP", b"zTXt", b"iTXt"])
def test_a_colour_profile_or_text_that_unpacks_to_a_bomb_is_refused(
    failure: Failure, tmp_path: Path, width: int, name: bytes
) -> None:
    packed = zlib.compress(bytes(200 * 1024 * 1024), 9)
    prefix = b"Name\0\1\0\0\0" if name == b"iTXt" else b"Name\0\0"
    (tmp_path / "bomb.png").write_bytes(png_of(width, 1, (name, prefix + packed)))
    assert "is truncated or damaged: " in failure(tmp_path / "bomb.png")


@pytest.fixture(scope="module")
def sound_files() -> dict[str, bytes]:
    files = {}
    for name, mime_type in (("PNG", "png"), ("JPEG", "jpeg"), ("GIF", "gif"), ("WEBP", "webp")):
        buffer = io.BytesIO()
        exif = Image.Exif()
        exif[ORIENTATION] = 6
        gradient(20, 10).save(buffer, name, **({} if name == "GIF" else {"exif": exif}))
        files[f"image/{mime_type}"] = buffer.getvalue()
    return files


@settings(max_examples=150, deadline=None)
@given(
    mime_type=st.sampled_from(["image/png", "image/jpeg", "image/gif", "image/webp"]),
    edits=st.lists(st.tuples(st.integers(0, 4000), st.binary(max_size=4)), max_size=4),
    length=st.integers(0, 4000),
)
def test_a_header_is_read_or_called_damaged_whatever_its_bytes(
    sound_files: dict[str, bytes], mime_type: str, edits: list[tuple[int, bytes]], length: int
) -> None:
    data = bytearray(sound_files[mime_type])
    for position, replacement in edits:
        at = position % len(data)
        data[at : at + len(replacement)] = replacement
    cut = bytes(data[: max(16, length)])
    size = headers.size_in_head(mime_type, cut)
    assert size is None or min(size) >= 0
    try:
        header = headers.read_header(mime_type, cut)
    except headers.Damaged:
        return
    assert header.width > 0
    assert header.height > 0
    assert 1 <= header.orientation <= 8


def test_a_file_that_is_exchanged_while_it_is_read_never_hangs_or_mixes(tmp_path: Path) -> None:
    images = [saved(tmp_path / "red.png", Image.new("RGB", (9, 9), "red")), tmp_path / "pipe", Path("/dev/zero")]
    os.mkfifo(images[1])
    path, ended = tmp_path / "a.png", threading.Event()

    def exchange() -> None:
        while not ended.is_set():
            for target in images:
                (tmp_path / "next").symlink_to(target)
                (tmp_path / "next").replace(path)

    async def read_often() -> list[str]:
        outcomes = []
        for _ in range(200):
            try:
                outcomes.append(line(await handle({"file_path": str(path)}, LocalCall(tmp_path))))
            except ToolFailure as refused:
                outcomes.append(str(refused))
        return outcomes

    path.symlink_to(images[0])
    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        outcomes = asyncio.run(read_often())
    finally:
        ended.set()
        thread.join()
    size = human_bytes(images[0].stat().st_size)
    whole = [f"a.png: image/png 9x9, {size}"]
    needs = "ReadImage needs a regular file with an image."
    refusals = [f"{path} is {kind}. {needs}" for kind in ("a named pipe (FIFO)", "a character device")]
    assert set(outcomes) <= {*whole, *refusals}
    assert len(set(outcomes)) > 1


# -- the decoder process


def workers(pid: int) -> list[int]:
    """Decoder processes that `pid` started."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
            found += [int(child) for child in children if WORKER in Path(f"/proc/{child}/cmdline").read_bytes()]
        except FileNotFoundError:
            continue
    return found


def some_workers(pid: int, count: int) -> list[int]:
    """Those that run once there are at least `count`; the test's own time limit bounds the wait."""
    while len(found := workers(pid)) < count:
        os.sched_yield()
    return found


linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@linux
def test_a_cancelled_call_leaves_no_decoder_and_a_burst_starts_two_at_most(tmp_path: Path) -> None:
    (tmp_path / "slow.svg").write_text(SLOW_SVG)

    async def run() -> tuple[list[int], list[int]]:
        call = LocalCall(tmp_path)
        calls = [asyncio.create_task(handle({"file_path": "slow.svg"}, call)) for _ in range(5)]
        started = await asyncio.to_thread(some_workers, os.getpid(), IMAGE_DECODERS_RUNNING_MAX)
        for task in calls:
            task.cancel()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        return started, workers(os.getpid())

    started, left = asyncio.run(run())
    assert len(started) == IMAGE_DECODERS_RUNNING_MAX
    assert left == []


@linux
def test_a_decoder_that_takes_too_long_is_ended_and_said(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder, "IMAGE_DECODE_S_MAX", 0.5)
    (tmp_path / "slow.svg").write_text(SLOW_SVG)
    result = read("slow.svg")
    assert "It takes more than 10 s to decode." in line(result)
    assert result.content[1]["text"] == SLOW_SVG
    assert workers(os.getpid()) == []


@linux
def test_the_decoder_dies_with_a_killed_server(tmp_path: Path) -> None:
    (tmp_path / "slow.svg").write_text(SLOW_SVG)
    program = (
        "import asyncio, sys; from scorpio.tool import Call; from tools.core.read_image.handler import handle\n"
        "from tools.core.read_image.decoder import Decoders\n"
        "class LocalCall(Call):\n"
        "    state = type('State', (), {'image_decoders': Decoders()})\n"
        f"asyncio.run(handle({{'file_path': {str(tmp_path / 'slow.svg')!r}}}, LocalCall()))"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) as server:
        try:
            (worker,) = some_workers(server.pid, 1)
            ended = os.pidfd_open(worker)
            while not computes(worker):
                os.sched_yield()
        finally:
            server.send_signal(signal.SIGKILL)
    readable, _, _ = select.select([ended], [], [], 5)
    os.close(ended)
    assert readable


def computes(pid: int) -> bool:
    """True once the process has used half a second: it has bound itself to its parent long before."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) >= os.sysconf("SC_CLK_TCK") // 2


# -- the declaration


def test_the_tool_takes_what_the_seed_says() -> None:
    tool = json.loads((FOLDER / "tool.json").read_text())
    schema = tool["inputSchema"]
    assert tool["name"] == "ReadImage"
    assert {name: value["type"] for name, value in schema["properties"].items()} == {"file_path": "string"}
    assert schema["required"] == ["file_path"]
    assert len(tool["description"].encode()) < 2000


@pytest.mark.parametrize("case", json.loads((FOLDER / "cases.json").read_text()), ids=lambda case: case["title"])
def test_the_documented_cases_hold(failure: Failure, case: dict[str, Any]) -> None:
    if "before" in case:  # needs another tool: tests/toolsets/test_cases.py plays it
        return
    text, expected = failure(case["arguments"]["file_path"]), case["result"]
    assert expected["is_error"]
    assert text == expected.get("text", text)
    assert re.search(expected.get("text_matches", ""), text)
