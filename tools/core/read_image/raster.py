"""Pixels: opens an image with Pillow, turns it upright, fits it into the bounds of limits.py, encodes it.

Runs in the decoder process only. Reads the one format it is told to expect, and the first picture of several.
"""

from __future__ import annotations

import math
import struct
import warnings
import zlib

from PIL import AvifImagePlugin as Avif
from PIL import IcoImagePlugin as Ico
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL import TiffImagePlugin as Tiff
from PIL import WebPImagePlugin as WebP

from tools.core.limits import IMAGE_BASE64_BYTES_MAX, IMAGE_PIXELS_MAX, IMAGE_SIDE_PIXELS_MAX
from tools.core.read_image import signatures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader
    from typing import Any

ENCODED_BYTES_MAX = IMAGE_BASE64_BYTES_MAX // 4 * 3

JPEG_QUALITY = 85
"""Above it files grow fast and text in screenshots gets no clearer."""

SHRUNK_SIDE_PIXELS_MAX = 1568
"""What an image too large in bytes is scaled to: models that scale images down themselves stop there."""

_STEP = 0.8
_STRIP_ROWS = 256
_PROFILE_BYTES_MAX = 64 * 1024
_AVIF_THREADS = 2
_ORIENTATION_TAG = 0x0112

_FORMATS = {
    signatures.PNG: "PNG",
    signatures.JPEG: "JPEG",
    signatures.GIF: "GIF",
    signatures.BMP: "BMP",
    signatures.WEBP: WebP.WebPImageFile.format,
    signatures.TIFF: Tiff.TiffImageFile.format,
    signatures.ICO: Ico.IcoImageFile.format,
    signatures.AVIF: Avif.AvifImageFile.format,
}

_FAULTS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""What Pillow's format plugins raise on files that somebody bent."""

_TOO_MANY_PIXELS = (
    f"has more than {IMAGE_PIXELS_MAX // 10**6} megapixels, the most ReadImage decodes. Scale it down first."
)
_BOUNDS = f"at most {IMAGE_SIDE_PIXELS_MAX} pixels a side and {IMAGE_BASE64_BYTES_MAX / 10**6:g} MB as base64 are sent"


class Undecodable(Exception):
    """A predicate about the file: "is truncated or damaged: …"."""


def converted(file: BufferedReader, mime_type: str, file_bytes: int) -> tuple[dict[str, Any], bytes]:
    """The answer's header (width, height, mime_type, notes) and the encoded image.

    Raises Undecodable; MemoryError when the bound of the process is reached.
    """
    notes: list[str] = []
    try:
        image = _opened(file, mime_type)
        width, height = image.size
        frames = _count_frames(image, mime_type, notes)
        orientation = image.getexif().get(_ORIENTATION_TAG, 1)
        profile = image.info.get("icc_profile") if image.mode in ("RGB", "RGBA") else None
        image = _viewable(_reduced(image, mime_type, notes))
        image = ImageOps.exif_transpose(image)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise Undecodable(_TOO_MANY_PIXELS) from None
    except UnidentifiedImageError:
        raise Undecodable("is truncated or damaged: its header makes no sense.") from None
    except _FAULTS as fault:
        raise Undecodable(f"is truncated or damaged: {fault}.") from None
    if 2 <= orientation <= 8:
        notes.append("Rotated as its EXIF orientation says.")
    heavy = frames == 1 and mime_type in signatures.PASSED_TYPES and file_bytes > ENCODED_BYTES_MAX
    upright = (height, width) if 5 <= orientation <= 8 else (width, height)
    data_mime_type, data = encoded(image, mime_type, upright, notes, heavy=heavy, profile=profile)
    return {"width": width, "height": height, "mime_type": data_mime_type, "notes": notes}, data


def _opened(file: BufferedReader, mime_type: str) -> Image.Image:
    """Header only, no pixel yet; more than IMAGE_PIXELS_MAX are refused here."""
    Image.MAX_IMAGE_PIXELS = IMAGE_PIXELS_MAX
    Avif.DEFAULT_MAX_THREADS = _AVIF_THREADS  # each thread's stack counts as address space
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    if mime_type not in _FORMATS:
        raise UnidentifiedImageError
    return Image.open(file, formats=[_FORMATS[mime_type] or ""])


def _count_frames(image: Image.Image, mime_type: str, notes: list[str]) -> int:
    if mime_type in (signatures.JPEG, signatures.ICO):  # what else is in there is previews and other sizes
        return 1
    frames: int = getattr(image, "n_frames", 1)
    if frames > 1:
        notes.append(f"Only the first of {frames} {'pages' if mime_type == signatures.TIFF else 'frames'} is shown.")
    return frames


def _reduced(image: Image.Image, mime_type: str, notes: list[str]) -> Image.Image:
    """`image` with sides of at most IMAGE_SIDE_PIXELS_MAX, with as few copies of all its pixels as possible."""
    if mime_type != signatures.JPEG:  # JPEG decodes at half size or less when it is not loaded beforehand
        image.load()
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _grey(image, notes)
    elif image.mode == "1":
        image = image.convert("L")
    elif image.mode in ("P", "PA") or (image.has_transparency_data and image.mode in ("L", "RGB")):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    image.thumbnail((IMAGE_SIDE_PIXELS_MAX, IMAGE_SIDE_PIXELS_MAX), Image.Resampling.LANCZOS, reducing_gap=2.0)
    return image


def _viewable(image: Image.Image) -> Image.Image:
    """`image` as L, RGB or RGBA; an alpha channel that hides nothing is dropped."""
    if image.mode == "LAB":
        raise Undecodable("is in the LAB colour space, which ReadImage does not support. Convert it to RGB first.")
    if image.mode in ("LA", "La", "RGBa"):
        image = image.convert("LA").convert("RGBA") if image.mode == "La" else image.convert("RGBA")
    if image.mode == "RGBA":
        return image.convert("RGB") if image.getchannel("A").getextrema() == (255, 255) else image
    return image if image.mode in ("L", "RGB") else image.convert("RGB")


def _grey(image: Image.Image, notes: list[str]) -> Image.Image:
    """16-bit, 32-bit and float grey as 8-bit, strip by strip: Pillow's own conversion clips instead of scaling."""
    wide, low, high = "F" if image.mode == "F" else "I", 0.0, 65535.0
    if not image.mode.startswith("I;16"):
        low, high = (float(str(bound)) for bound in image.getextrema())
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            low, high = 0.0, 1.0
        notes.append(f"Brightness from {low:g} to {high:g} is shown as black to white.")
    scale = 255 / (high - low)
    grey = Image.new("L", image.size)
    for top in range(0, image.height, _STRIP_ROWS):
        strip = image.crop((0, top, image.width, min(image.height, top + _STRIP_ROWS))).convert(wide)
        grey.paste(strip.point(lambda value: value * scale - low * scale).convert("L"), (0, top))
    return grey


def encoded(
    image: Image.Image,
    mime_type: str,
    size: tuple[int, int],
    notes: list[str],
    *,
    heavy: bool = False,
    profile: bytes | None = None,
) -> tuple[str, bytes]:
    """(type, bytes) of `image` as PNG, or JPEG when it was one or PNG is too large; smaller until it fits.

    `size`: of the original, upright. `heavy`: the original file is too large as it is.
    """
    options: dict[str, Any] = {"icc_profile": profile} if profile and len(profile) <= _PROFILE_BYTES_MAX else {}
    lossless = mime_type != signatures.JPEG
    data_mime_type, data = _smallest(image, lossless, options)
    if heavy and image.size == size and (data_mime_type != signatures.PNG or len(data) > ENCODED_BYTES_MAX):
        image = _scaled(image, min(SHRUNK_SIDE_PIXELS_MAX, int(max(image.size) * _STEP)))
        data_mime_type, data = _smallest(image, lossless, options)
    while len(data) > ENCODED_BYTES_MAX:
        image = _scaled(image, int(max(image.size) * _STEP))
        data_mime_type, data = _smallest(image, lossless, options)
    if image.size != size:
        notes.append(f"Downscaled to {image.width}x{image.height}: {_BOUNDS}.")
    elif heavy:
        notes.append(f"Recompressed without loss: {_BOUNDS}.")
    if data_mime_type != mime_type:
        notes.append(f"Converted to {data_mime_type}.")
    if data_mime_type == signatures.JPEG and image.mode == "RGBA":
        notes.append("Transparency is shown as white.")
    return data_mime_type, data


def _smallest(image: Image.Image, lossless: bool, options: dict[str, Any]) -> tuple[str, bytes]:
    """PNG if it is wanted and fits, else JPEG, which may not fit either."""
    import io

    buffer = io.BytesIO()
    if lossless:
        image.save(buffer, "PNG", **options)
        if buffer.tell() <= ENCODED_BYTES_MAX:
            return signatures.PNG, buffer.getvalue()
        buffer = io.BytesIO()
    if image.mode == "RGBA":
        background = Image.new("RGB", image.size, "white")
        background.paste(image, mask=image.getchannel("A"))
        image = background
    image.save(buffer, "JPEG", quality=JPEG_QUALITY, **options)
    return signatures.JPEG, buffer.getvalue()


def _scaled(image: Image.Image, side: int) -> Image.Image:
    """`image` with `side` pixels on its longer side."""
    factor = side / max(image.size)
    size = max(1, round(image.width * factor)), max(1, round(image.height * factor))
    return image.resize(size, Image.Resampling.LANCZOS)
