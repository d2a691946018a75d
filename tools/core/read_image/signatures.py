"""What a file is, from its first bytes: an image type that can be shown, or a name for what it is instead.

Never looks at the file's name and decodes nothing.
"""

from __future__ import annotations

HEAD_BYTES = 64 * 1024
"""How much `identify` wants to see: SVG files of drawing programs begin with kilobytes of comments and entities."""

PNG = "image/png"
JPEG = "image/jpeg"
GIF = "image/gif"
WEBP = "image/webp"
BMP = "image/bmp"
TIFF = "image/tiff"
ICO = "image/x-icon"
AVIF = "image/avif"
SVG = "image/svg+xml"

PASSED_TYPES = (PNG, JPEG, GIF, WEBP)
"""Types that every client shows; the file's own bytes are sent."""

CONVERT = "Convert it to PNG first, for example with `magick FILE out.png`."
HEIC = "Convert it first, with `heif-convert FILE out.jpg`, or `sips -s format jpeg FILE --out out.jpg` on macOS."
PDF = "`pdftoppm -png FILE page` makes an image of each page."
UNPACK = "Unpack it first and read the image inside."
FRAME = "`ffmpeg -i FILE -frames:v 1 frame.png` takes an image out of it."
SHOW = "Bash shows text files, for example with `cat`."
SUPPORTED = "ReadImage reads PNG, JPEG, GIF, WebP, BMP, TIFF, ICO, AVIF and SVG."

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"\xff\xd8\xff", JPEG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"II*\0", TIFF),
    (b"MM\0*", TIFF),
    (b"II+\0", TIFF),
    (b"MM\0+", TIFF),
)

_OTHERS = (
    (0, b"%PDF-", "a PDF document", PDF),
    (0, b"\x1f\x8b", "a gzip archive", UNPACK),
    (0, b"PK\x03\x04", "a ZIP archive or an office document", UNPACK),
    (0, b"PK\x05\x06", "an empty ZIP archive", SUPPORTED),
    (0, b"BZh", "a bzip2 archive", UNPACK),
    (0, b"\xfd7zXZ\0", "an xz archive", UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive", UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
    (0, b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (257, b"ustar", "a tar archive", UNPACK),
    (0, b"\x7fELF", "an ELF executable", SUPPORTED),
    (0, b"MZ", "a Windows executable", SUPPORTED),
    (0, b"\xcf\xfa\xed\xfe", "a Mach-O executable", SUPPORTED),
    (0, b"\xca\xfe\xba\xbe", "a Mach-O executable or a Java class", SUPPORTED),
    (0, b"\0asm", "a WebAssembly module", SUPPORTED),
    (0, b"SQLite format 3\0", "an SQLite database", SUPPORTED),
    (0, b"8BPS", "a Photoshop document", CONVERT),
    (0, b"\0\0\0\x0cjP  ", "a JPEG 2000 image", CONVERT),
    (0, b"\xff\x4f\xff\x51", "a JPEG 2000 image", CONVERT),
    (0, b"\0\0\0\x0cJXL ", "a JPEG XL image", CONVERT),
    (0, b"\xff\x0a", "a JPEG XL image", CONVERT),
    (0, b"\x76\x2f\x31\x01", "an OpenEXR image", CONVERT),
    (0, b"#?RADIANCE", "a Radiance HDR image", CONVERT),
    (0, b"DDS ", "a DirectDraw texture", CONVERT),
    (0, b"icns", "a macOS icon file", CONVERT),
    (0, b"\0\0\x02\0", "a Windows cursor or a TGA image", CONVERT),
    (0, b"qoif", "a QOI image", CONVERT),
    (0, b"gimp xcf", "a GIMP document", CONVERT),
    (0, b"%!PS", "a PostScript document", "`gs -sDEVICE=png16m -r100 -o page%d.png FILE` makes images of its pages."),
    (0, b"\x1a\x45\xdf\xa3", "a Matroska or WebM video", FRAME),
    (0, b"FLV\x01", "a Flash video", FRAME),
    (0, b"OggS", "an Ogg recording", SUPPORTED),
    (0, b"ID3", "an MP3 recording", SUPPORTED),
    (0, b"fLaC", "a FLAC recording", SUPPORTED),
    (0, b"\x80\x04\x95", "a Python pickle", SUPPORTED),
    (0, b"wOF2", "a web font", SUPPORTED),
    (0, b"\0\x01\0\0\0", "a TrueType font", SUPPORTED),
)

_AVIF_BRANDS = {b"avif", b"avis"}
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
_BMP_HEADER_BYTES = {12, 16, 40, 52, 56, 64, 108, 124}


class Kind:
    """`mime_type` is "" when ReadImage cannot show it; then `noun` says what it is and `advice` what to do."""

    __slots__ = ("advice", "mime_type", "noun")

    def __init__(self, mime_type: str, noun: str = "", advice: str = "") -> None:
        self.mime_type = mime_type
        self.noun = noun
        self.advice = advice


def identify(head: bytes, file_bytes: int) -> Kind:
    """What a file of `file_bytes` bytes that begins with `head` (up to HEAD_BYTES of it) is."""
    for magic, mime_type in _IMAGES:
        if head.startswith(magic):
            return Kind(mime_type)
    if head[:4] == b"RIFF":
        return _riff(head[8:12])
    if head[4:8] == b"ftyp":
        return _iso_media(head)
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADER_BYTES:
        return Kind(BMP)
    if _is_icon(head, file_bytes):
        return Kind(ICO)
    for offset, magic, noun, advice in _OTHERS:
        if head.startswith(magic, offset):
            return Kind("", noun, advice)
    return _text(head, len(head) < file_bytes)


def _riff(form: bytes) -> Kind:
    if form == b"WEBP":
        return Kind(WEBP)
    if form == b"AVI ":
        return Kind("", "an AVI video", FRAME)
    return Kind("", "a WAV recording" if form == b"WAVE" else "a RIFF file", SUPPORTED)


def _iso_media(head: bytes) -> Kind:
    """The `ftyp` box: size, "ftyp", major brand, minor version, compatible brands. Source: ISO/IEC 14496-12, 4.3."""
    box = head[8 : min(int.from_bytes(head[:4], "big"), 1024)]
    brands = {box[i : i + 4] for i in range(0, len(box) - 3, 4)}
    if brands & _AVIF_BRANDS:
        return Kind(AVIF)
    if brands & _HEIC_BRANDS:
        return Kind("", "an HEIC image, a format that ReadImage does not support", HEIC)
    if box[:4] == b"crx ":
        return Kind("", "a Canon raw photograph", CONVERT)
    return Kind("", "a QuickTime video" if box[:4] == b"qt  " else "an MP4 video or recording", FRAME)


def _is_icon(head: bytes, file_bytes: int) -> bool:
    """Four bytes are a weak mark, so the first directory entry must make sense too."""
    count = int.from_bytes(head[4:6], "little")
    if head[:4] != b"\0\0\x01\0" or count == 0 or len(head) < 22:
        return False
    size, offset = int.from_bytes(head[14:18], "little"), int.from_bytes(head[18:22], "little")
    return head[9] == 0 and size > 0 and 6 + 16 * count <= offset < file_bytes


def _text(head: bytes, cut: bool) -> Kind:
    utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding, name = ("utf-16", "UTF-16 text") if utf16 else ("utf-8-sig", "UTF-8 text")
    text = _decoded(head, encoding, cut)
    if text is None or any(ord(c) < 32 and c not in "\t\n\r\f\b\x1b" for c in text[:4096]):
        if _opens_svg(head.decode("latin-1")):  # an older encoding, which the XML declaration names
            return Kind(SVG)
        return Kind("", "binary data of an unknown kind", SUPPORTED)
    if _opens_svg(text):
        return Kind(SVG)
    start = text[:1024].lstrip().lower()
    if start.startswith(("<!doctype html", "<html")):
        return Kind("", "an HTML document", SHOW)
    if start.startswith("<?xml"):
        return Kind("", "an XML document", SHOW)
    return Kind("", name, SHOW)


def _decoded(head: bytes, encoding: str, cut: bool) -> str | None:
    """`head` as text; a character cut in two at its end is no fault when the file goes on."""
    import codecs

    try:
        return codecs.getincrementaldecoder(encoding)().decode(head, final=not cut)
    except UnicodeDecodeError:
        return None


def _opens_svg(text: str) -> bool:
    """True if the root element is `svg`, after declaration, comments and document type. Linear in the text."""
    position = 0
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        if text.startswith("<?", position):
            end, width = text.find("?>", position), 2
        elif text.startswith("<!--", position):
            end, width = text.find("-->", position + 4), 3
        elif text[position : position + 9].upper() == "<!DOCTYPE":
            end, width = _doctype_end(text, position), 1
        else:
            break
        if end < 0:
            return False
        position = end + width
    if not text.startswith("<", position):
        return False
    name = text[position + 1 : position + 65]
    for index, character in enumerate(name):
        if character.isspace() or character in "/>":
            name = name[:index]
            break
    return name.rpartition(":")[2] == "svg"


def _doctype_end(text: str, position: int) -> int:
    """Index of the `>` that ends the document type, the one after `]` when it declares entities; -1 if none."""
    end, bracket = text.find(">", position), text.find("[", position)
    if 0 <= bracket < end:
        closing = text.find("]", bracket)
        return text.find(">", closing) if closing >= 0 else -1
    return end
