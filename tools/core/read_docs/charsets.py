"""The characters of a document: byte order mark, header, declaration, and a guess where those say nothing or lie.

Runs in the worker process. Names are read as browsers read them (WHATWG Encoding): `latin1` means windows-1252.
"""

from __future__ import annotations

import codecs
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PRESCAN_BYTES = 4096
"""Where a declaration is looked for; browsers stop at 1024, and some generators write more before it."""

GUESS_BYTES = 64 * 1024
"""Looked at for a guess: it takes some 50 ms."""

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]{1,40})")
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)

_WIDER = {
    **dict.fromkeys(("ascii", "us-ascii", "latin1", "latin-1", "iso-8859-1", "iso8859-1", "iso_8859-1"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk", "gb_2312-80", "chinese", "x-gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "korean", "windows-949"), "cp949"),
    **dict.fromkeys(("big5", "big5-hkscs", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("iso-8859-9", "latin5"), "cp1254"),
    **dict.fromkeys(("tis-620", "iso-8859-11", "windows-874"), "cp874"),
    **dict.fromkeys(("x-user-defined", "unicode-1-1-utf-8", "utf8"), "utf-8"),
    "iso-8859-8-i": "iso-8859-8",
    "x-mac-cyrillic": "mac_cyrillic",
    "macintosh": "mac_roman",
    "utf-16": "utf-16-le",
    "unicode": "utf-16-le",
}
_OF_THE_WEB = frozenset(
    (
        *("utf-8", "utf-16-le", "utf-16-be", "gb18030", "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949", "cp866"),
        *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *(f"cp{page}" for page in (874, *range(1250, 1259))),
        *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"),
    )
)
"""What a document may declare, by Python's names. Python knows more: escapes and IDNA, which are no charsets and raise
whatever they are told about errors, and UTF-7, in which a page says to us what a browser would not show."""
_SINGLE_BYTE_DEFAULTS = ("cp1252",)
"""What servers say of everything unless they are told: believed only where the text is not UTF-8."""


def decoded(body: bytes, content_type: str) -> tuple[str, str]:
    """(text, the charset it was in, "" for UTF-8 or ASCII). Never fails: what is no character becomes U+FFFD."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace"), "" if name == "utf-8-sig" else name
    utf8 = _as(body, "utf-8")
    for name in _declared(body, content_type):
        if name == "utf-8" or (name in _SINGLE_BYTE_DEFAULTS and utf8 is not None):
            if utf8 is not None:
                return utf8, ""
            continue
        text = _as(body, name)
        if text is not None:
            return text, name
    if utf8 is not None:
        return utf8, ""
    name = _guessed(body)
    return body.decode(name, "replace"), "" if name == "utf-8" else name


def _declared(body: bytes, content_type: str) -> Iterator[str]:
    head = body[:PRESCAN_BYTES]
    header = _HEADER.search(content_type)
    if header:
        yield from _known(header[1])
    for pattern in (_XML, _META):
        found = pattern.search(head)
        if found:
            name = found[1].decode("ascii").lower()
            yield from _known("utf-8" if name.startswith("utf-16") else name)  # it was read as ASCII, so it is not


def _known(label: str) -> Iterator[str]:
    label = label.strip().lower()
    try:
        name = codecs.lookup(_WIDER.get(label, label)).name
    except (LookupError, ValueError):
        return
    if name in _OF_THE_WEB:
        yield name


def _as(body: bytes, name: str) -> str | None:
    """None when it is not in this charset. One wrong byte in a hundred thousand is a typing fault."""
    try:
        return body.decode(name)
    except UnicodeDecodeError:
        pass
    except (LookupError, UnicodeError):
        return None
    text = body.decode(name, "replace")
    return text if name == "cp1252" or text.count("\ufffd") * 100_000 <= len(text) else None


def _guessed(body: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(body[:GUESS_BYTES], enable_fallback=False).best()
    return best.encoding if best is not None else "utf-8"
