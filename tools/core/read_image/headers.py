"""Size, rotation and soundness of PNG, JPEG, GIF and WebP files, read from their structure.

Decodes no pixel and imports no image library. Refuses files that are cut short or inconsistent: a client's API
rejects such an image, and with it the whole conversation.
"""

from __future__ import annotations

import struct
import zlib

from tools.core.read_image.signatures import GIF, JPEG, PNG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

INFLATED_BYTES_MAX = 4 * 1024 * 1024
"""A colour profile or text inside a PNG may unpack to this much; real profiles have at most 3 MB."""

UPRIGHT = 1
"""EXIF orientation of an image that is shown as it is stored; 2 to 8 are turned or mirrored."""

_EXIF_ENTRIES_MAX = 512


class Damaged(Exception):
    """The file contradicts its own format. The text completes "NAME is truncated or damaged: …"."""


class Header:
    """`orientation`: EXIF, 1 to 8. `plain` is False when clients differ in how they show it (CMYK, rare codings)."""

    __slots__ = ("frames", "height", "orientation", "plain", "width")

    def __init__(self, width: int, height: int) -> None:
        if width <= 0 or height <= 0:
            raise Damaged(f"its size is {width}x{height} pixels")
        self.width = width
        self.height = height
        self.orientation = UPRIGHT
        self.frames = 1
        self.plain = True


def size_in_head(mime_type: str, head: bytes) -> tuple[int, int] | None:
    """(width, height) as the first bytes of the file tell, or None; JPEG may tell it far behind them."""
    try:
        if mime_type == JPEG:
            header, _ = _jpeg_header(head)
            return header.width, header.height
        if mime_type not in (PNG, GIF):
            return _webp_canvas(head[12:16], head[20:30])
        width, height = struct.unpack(">II", head[16:24]) if mime_type == PNG else struct.unpack("<HH", head[6:10])
        return width, height
    except (struct.error, Damaged):
        return None


def read_header(mime_type: str, data: bytes) -> Header:
    """What the whole file says of itself. Raises Damaged."""
    try:
        if mime_type == PNG:
            return _png(data)
        if mime_type == JPEG:
            return _jpeg(data)
        if mime_type == GIF:
            return _gif(data)
        return _webp(data)
    except (struct.error, IndexError):
        raise Damaged("it ends in the middle of its header") from None


def _png(data: bytes) -> Header:
    """Source: W3C PNG 3rd edition, 5 (chunks) and 11.2.1 (IHDR)."""
    if data[12:16] != b"IHDR":
        raise Damaged("its first chunk is not IHDR")
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    if (colour, depth) not in _PNG_DEPTHS:
        raise Damaged(f"there is no colour type {colour} with {depth} bits")
    header = Header(width, height)
    pixels = False
    for name, body in _png_chunks(data):
        if name == b"IDAT":
            pixels = True
        elif name == b"acTL":
            header.frames = max(1, int.from_bytes(body[:4], "big"))
        elif name == b"eXIf":
            header.orientation = _orientation(bytes(body))
        elif name in _PNG_PACKED and _unpacks_beyond(name, bytes(body)):
            raise Damaged(f"its {name.decode()} chunk unpacks to more than {INFLATED_BYTES_MAX >> 20} MB")
    if not pixels:
        raise Damaged("it holds no pixels")
    return header


_PNG_DEPTHS = {(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (3, 1), (3, 2), (3, 4), (3, 8)} | {
    (colour, depth) for colour in (2, 4, 6) for depth in (8, 16)
}
_PNG_PACKED = (b"iCCP", b"zTXt", b"iTXt")


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """(name, body) up to IEND. Checksums of critical chunks are compared; programs write ancillary ones wrong."""
    view, position = memoryview(data), 8
    while True:
        if position + 12 > len(data):
            raise Damaged("it ends before its last chunk")
        length, name = int.from_bytes(data[position : position + 4], "big"), data[position + 4 : position + 8]
        end = position + 12 + length
        if end > len(data):
            raise Damaged(f"it ends inside its {name.decode('latin-1')!r} chunk")
        critical = not name[0] & 0x20
        if critical and zlib.crc32(view[position + 4 : end - 4]) != int.from_bytes(data[end - 4 : end], "big"):
            raise Damaged(f"the checksum of its {name.decode('latin-1')!r} chunk is wrong")
        yield name, view[position + 8 : end - 4]
        if name == b"IEND":
            return
        position = end


def _unpacks_beyond(name: bytes, body: bytes) -> bool:
    """True if the packed part of the chunk is larger than INFLATED_BYTES_MAX; it is never unpacked further."""
    keyword_end = body.find(b"\0")
    start = keyword_end + 2
    if name == b"iTXt":
        if body[keyword_end + 1 : keyword_end + 2] != b"\1":  # not compressed
            return False
        language_end = body.find(b"\0", keyword_end + 3)
        start = body.find(b"\0", language_end + 1) + 1
    unpacker, size = zlib.decompressobj(), 0
    packed = body[start:]
    try:
        while packed and size <= INFLATED_BYTES_MAX:
            size += len(unpacker.decompress(packed, 64 * 1024))
            packed = unpacker.unconsumed_tail
    except zlib.error:
        return False  # a chunk nobody can read harms nobody
    return size > INFLATED_BYTES_MAX


def _jpeg(data: bytes) -> Header:
    header, scan = _jpeg_header(data)
    if data.rfind(b"\xff\xd9") < scan:
        raise Damaged("it ends before its end-of-image marker")
    return header


def _jpeg_header(data: bytes) -> tuple[Header, int]:
    """(header, index of the first scan), from the markers before it. Source: ITU-T T.81, B.1 and B.2.

    What lies before the scan is skipped by its length, so an embedded preview is not mistaken for the image.
    """
    header, orientation, position = None, UPRIGHT, 2
    while True:
        position = data.find(b"\xff", position)
        while position >= 0 and data[position : position + 1] == b"\xff":
            position += 1
        if not 0 <= position < len(data) - 2:
            raise Damaged("it ends before its pixels")
        marker = data[position]
        if marker in _JPEG_ALONE:
            position += 1
            continue
        length = int.from_bytes(data[position + 1 : position + 3], "big")
        segment = data[position + 3 : position + 1 + length]
        if marker in _JPEG_FRAMES:
            depth, height, width, components = struct.unpack(">BHHB", segment[:6])
            header = Header(width, height)
            header.plain = marker in _JPEG_COMMON and depth == 8 and components in (1, 3)
        elif marker == 0xE1 and segment.startswith(b"Exif\0"):
            orientation = _orientation(segment[6:])
        elif marker == 0xDA:
            break
        position += 1 + length
    if header is None:
        raise Damaged("it has no frame header")
    header.orientation = orientation
    return header, position


_JPEG_ALONE = {0x00, 0x01, *range(0xD0, 0xD9)}
_JPEG_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_COMMON = (0xC0, 0xC1, 0xC2)


def _gif(data: bytes) -> Header:
    """Source: GIF89a, 18 to 27. A missing trailer is common and accepted after a whole image."""
    width, height, flags = struct.unpack("<HHB", data[6:11])
    position = 13 + _colour_table_bytes(flags)
    frames = 0
    while position < len(data) and data[position] != 0x3B:
        if data[position] == 0x21:
            position = _after_sub_blocks(data, position + 2)
        elif data[position] == 0x2C:
            left, top, frame_width, frame_height, flags = struct.unpack("<HHHHB", data[position + 1 : position + 10])
            width, height = max(width, left + frame_width), max(height, top + frame_height)
            position = _after_sub_blocks(data, position + 11 + _colour_table_bytes(flags))
            frames += 1
        else:
            raise Damaged(f"there is no GIF block of type {data[position]:#04x}")
    if frames == 0:
        raise Damaged("it holds no picture")
    header = Header(width, height)
    header.frames = frames
    return header


def _colour_table_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_sub_blocks(data: bytes, position: int) -> int:
    while True:
        if position >= len(data):
            raise Damaged("it ends in the middle of a picture")
        length = data[position]
        position += 1 + length
        if length == 0:
            return position


def _webp(data: bytes) -> Header:
    """Source: RFC 9649, 2."""
    if int.from_bytes(data[4:8], "little") + 8 > len(data):
        raise Damaged("it is shorter than its header says")
    canvas = _webp_canvas(data[12:16], data[20:30])
    if canvas is None:
        raise Damaged("its first chunk is none of VP8, VP8L and VP8X")
    header = Header(*canvas)
    position, stills, header.frames = 12, 0, 0
    while position + 8 <= len(data):
        name, length = data[position : position + 4], int.from_bytes(data[position + 4 : position + 8], "little")
        if name == b"EXIF":
            header.orientation = _orientation(data[position + 8 : position + 8 + length].removeprefix(b"Exif\0\0"))
        header.frames += name == b"ANMF"
        stills += name in (b"VP8 ", b"VP8L")
        position += 8 + length + length % 2
    if not header.frames and not stills:
        raise Damaged("it holds no picture")
    header.frames = max(1, header.frames)
    return header


def _webp_canvas(name: bytes, body: bytes) -> tuple[int, int] | None:
    """`body`: the first 10 bytes of the chunk `name`, the first one of the file."""
    if name == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if name == b"VP8L" and body[:1] == b"\x2f":
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if name == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", body[6:10])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _orientation(tiff: bytes) -> int:
    """Tag 0x0112 of the first directory, or 1 where it is missing or makes no sense. Source: CIPA DC-008, 4.6."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None:
        return UPRIGHT
    try:
        (start,) = struct.unpack(order + "I", tiff[4:8])
        (count,) = struct.unpack(order + "H", tiff[start : start + 2])
        for index in range(min(count, _EXIF_ENTRIES_MAX)):
            entry = start + 2 + 12 * index
            tag, kind, _, value = struct.unpack(order + "HHIH", tiff[entry : entry + 10])
            if tag == 0x0112 and kind == 3:
                return value if 1 <= value <= 8 else UPRIGHT
    except struct.error:
        pass
    return UPRIGHT
