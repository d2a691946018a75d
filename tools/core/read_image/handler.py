"""ReadImage: one image file as a text block that describes it and an image block.

Sends the file's own bytes where every client can show them; everything else is decoded in a process of its own.
"""

from __future__ import annotations

import asyncio
import os

from scorpio.limits import OUTPUT_CHARS_MAX
from scorpio.tool import ToolFailure, ToolResult, image_block, text_block
from tools.core.limits import IMAGE_PIXELS_MAX, IMAGE_SIDE_PIXELS_MAX
from tools.core.read_image import headers, signatures
from tools.core.read_image.decoder import DecoderFailure
from tools.core.read_image.image_file import ImageFile, expand, human_bytes, open_image, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.core._catalog import ReadImageArguments
    from tools.core.state import CoreState

_BASE64_CHUNK_BYTES = 48 * 1024  # a multiple of 3; one call per chunk, because base64 holds the interpreter's lock


async def handle(arguments: ReadImageArguments, call: Call[CoreState]) -> ToolResult:
    path = expand(arguments["file_path"])
    if not os.path.isabs(path):
        path = os.path.join(await call.working_directory(), path)
    image = await asyncio.to_thread(open_image, path)
    with image.file:
        mime_type = _require_image(image)
        passed = await asyncio.to_thread(_passed, image, mime_type)
        if passed is not None:
            return passed
        call.activity = f"decoding {printable(os.path.basename(path))}"
        try:
            decoded = await call.state.image_decoders.decode(image.file)
        except DecoderFailure as failure:
            if mime_type == signatures.SVG:
                return await asyncio.to_thread(_source, image, str(failure))
            raise ToolFailure(f"{printable(image.path)} {failure}") from None
        line = _line(image, mime_type, (decoded.width, decoded.height), decoded.notes)
        data = await asyncio.to_thread(_base64, decoded.data)
        return ToolResult([text_block(line), image_block(data, decoded.data_mime_type)])


def _require_image(image: ImageFile) -> str:
    """The file's image type. Raises ToolFailure for other files and for too many pixels."""
    kind = signatures.identify(image.head[: signatures.HEAD_BYTES], image.file_bytes)
    name = printable(image.path)
    if not kind.mime_type:
        raise ToolFailure(f"{name} is {kind.noun}. {kind.advice}")
    size = headers.size_in_head(kind.mime_type, image.head) if kind.mime_type in signatures.PASSED_TYPES else None
    if size and size[0] * size[1] > IMAGE_PIXELS_MAX:
        width, height = size
        raise ToolFailure(
            f"{name} has {width}x{height} pixels, {width * height / 10**6:.0f} megapixels; ReadImage decodes at most "
            f"{IMAGE_PIXELS_MAX // 10**6}. Scale it down first, for example with `magick FILE -resize 2000x out.png`."
        )
    return kind.mime_type


def _passed(image: ImageFile, mime_type: str) -> ToolResult | None:
    """The answer with the file's own bytes, or None when they need work. Raises ToolFailure for a damaged file."""
    if mime_type not in signatures.PASSED_TYPES or not image.complete:
        return None
    try:
        header = headers.read_header(mime_type, image.head)
    except headers.Damaged as reason:
        raise ToolFailure(f"{printable(image.path)} is truncated or damaged: {reason}.") from None
    if not header.plain or header.orientation != headers.UPRIGHT:
        return None
    if max(header.width, header.height) > IMAGE_SIDE_PIXELS_MAX:
        return None
    line = _line(image, mime_type, (header.width, header.height), [])
    return ToolResult([text_block(line), image_block(_base64(image.head), mime_type)])


def _source(image: ImageFile, reason: str) -> ToolResult:
    """An SVG that could not be drawn, as text."""
    source = image.read_text(OUTPUT_CHARS_MAX)
    what = f"first {OUTPUT_CHARS_MAX} characters follow" if len(source) == OUTPUT_CHARS_MAX else "source follows"
    name = printable(os.path.basename(image.path))
    line = f"{name}: {signatures.SVG}, {human_bytes(image.file_bytes)}. It {reason} Its {what}."
    return ToolResult([text_block(line), text_block(source)])


def _line(image: ImageFile, mime_type: str, size: tuple[int, int], notes: list[str]) -> str:
    name = printable(os.path.basename(image.path))
    line = f"{name}: {mime_type} {size[0]}x{size[1]}, {human_bytes(image.file_bytes)}"
    return ". ".join([line, " ".join(notes)]) if notes else line


def _base64(data: bytes) -> str:
    from binascii import b2a_base64

    view = memoryview(data)
    chunks = [
        b2a_base64(view[start : start + _BASE64_CHUNK_BYTES], newline=False)
        for start in range(0, len(view), _BASE64_CHUNK_BYTES)
    ]
    return b"".join(chunks).decode("ascii")
