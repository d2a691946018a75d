"""A command's log file as the text of one answer: whole, or head and tail, or named when it is not text.

Reads a bounded part of the file however large it is, except for counting what is left out, which streams. Writes
nothing; whether the file is kept is the caller's business.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat

from tools.core.output_text import clean, head, tail, whole_prefix

WHOLE_BYTES_MAX = 256 * 1024
"""Logs up to this size are cleaned as a whole before anything is left out: progress bars shrink to a line."""

HEAD_BYTES_MAX = 96 * 1024
TAIL_BYTES_MAX = 160 * 1024
"""Read of a larger log: 40 % and 60 % of an answer fit, at 4 bytes a character and as much again of sequences."""

HEAD_SHARE_PERCENT = 40
SAMPLE_BYTES = 8 * 1024
"""Looked at to tell text from binary output, as git and grep do with the first 8 KB."""

UNREADABLE_SHARE_MAX = 0.4
"""Above it output is binary: random bytes make 0.57 as UTF-8, text with a few stray bytes far less."""

UNREADABLE_SHARE_MAX_KNOWN = 0.02
"""The same when the first bytes are those of a known format."""

COUNT_BYTES = 256 * 1024
"""One step of counting: 0.1 to 0.5 ms that other threads wait for the interpreter."""

MAGIC = (
    (0, b"\x7fELF", "ELF executable"),
    (0, b"\x89PNG", "PNG image"),
    (0, b"\xff\xd8\xff", "JPEG image"),
    (0, b"GIF8", "GIF image"),
    (0, b"BM", "BMP image"),
    (0, b"II*\0", "TIFF image"),
    (0, b"MM\0*", "TIFF image"),
    (8, b"WEBP", "WebP image"),
    (8, b"WAVE", "WAV audio"),
    (0, b"OggS", "Ogg audio or video"),
    (0, b"fLaC", "FLAC audio"),
    (0, b"ID3", "MP3 audio"),
    (4, b"ftyp", "MP4 video"),
    (0, b"\x1aE\xdf\xa3", "Matroska video"),
    (0, b"%PDF", "PDF document"),
    (0, b"\x1f\x8b", "gzip data"),
    (0, b"PK\x03\x04", "zip archive"),
    (0, b"BZh", "bzip2 data"),
    (0, b"\xfd7zXZ", "xz data"),
    (0, b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (0, b"7z\xbc\xaf", "7-zip archive"),
    (257, b"ustar", "tar archive"),
    (0, b"SQLite format 3", "SQLite database"),
    (0, b"\0asm", "WebAssembly module"),
    (0, b"\xca\xfe\xba\xbe", "Java class or Mach-O file"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O file"),
    (0, b"MZ", "Windows executable"),
    (0, b"\xff\xfe", "UTF-16 text"),
    (0, b"\xfe\xff", "UTF-16 text"),
)

_UNREADABLE = dict.fromkeys((*(n for n in range(32) if n not in b"\a\b\t\n\f\r\x1b"), 0x7F, 0xFFFD))


class Rendered:
    """What an answer shows of a log."""

    __slots__ = ("complete", "text")

    def __init__(self, text: str, *, complete: bool) -> None:
        self.text = text
        """Without newlines at the end; "" when nothing was printed."""
        self.complete = complete
        """False when the text names the log's path: it has to stay."""


def open_log(path: str) -> int:
    """A log opened for reading; never waits, whatever a command has put in its place. Raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a regular file any more", path)
    return file


def render_log(file: int, size: int, path: str, chars_max: int) -> Rendered:
    """The first `size` bytes of an open log in at most `chars_max` characters.

    More is cut at line borders to 40 % head and 60 % tail around a sentence with `path` and the number of characters
    between them: those of the log itself, sequences included, so that it agrees with the file. Raises OSError.
    """
    first = _read(file, 0, min(size, WHOLE_BYTES_MAX))
    kind = binary_kind(first[:SAMPLE_BYTES])
    if kind:
        return Rendered(f"[binary output: {kind}, {size_text(size)}, not shown; saved: {path}]", complete=False)
    if size <= WHOLE_BYTES_MAX:
        text = clean(_separated(first).decode("utf-8", "replace")).rstrip("\n")
        if len(text) <= chars_max:
            return Rendered(text, complete=True)
    room = chars_max - len(omitted_text(size, path)) - 2
    head_room = room * HEAD_SHARE_PERCENT // 100
    window = first[:HEAD_BYTES_MAX] if size > WHOLE_BYTES_MAX else first
    head_text, head_end = head(window[: whole_prefix(window, more=True)], head_room)
    tail_base = max(head_end, size - TAIL_BYTES_MAX)
    window = _read(file, tail_base, size - tail_base)
    if tail_base > head_end:
        aligned = _first_border(window)
        window, tail_base = window[aligned:], tail_base + aligned
    tail_text, tail_start = tail(window, room - head_room)
    tail_start += tail_base
    count = count_characters(file, head_end, tail_start)
    lines = [head_text.removesuffix("\n"), omitted_text(count, path), tail_text.rstrip("\n")]
    return Rendered("\n".join(line for line in lines if line), complete=False)


async def render_soon(file: int, size: int, path: str, chars_max: int) -> Rendered:
    """As `render_log`, without keeping the event loop from anything else. Raises OSError."""
    if size <= WHOLE_BYTES_MAX:
        return render_log(file, size, path, chars_max)
    import asyncio

    return await asyncio.to_thread(render_log, file, size, path, chars_max)


def omitted_text(count: int, path: str) -> str:
    return f"[… {count:,} characters omitted; full output: {path} …]"


def _first_border(window: bytes) -> int:
    """Where to begin in a piece from the middle of a log: at a line that begins early in it, else at a character."""
    newline = window.find(b"\n", 0, len(window) // 4)
    if newline >= 0:
        return newline + 1
    return next((at for at in range(min(3, len(window))) if not 0x80 <= window[at] < 0xC0), 0)


def _separated(raw: bytes) -> bytes:
    """Lists that end each item with NUL (`find -print0`, /proc/*/environ) as lines."""
    return raw.replace(b"\0", b"\n") if raw.endswith(b"\0") else raw


def _read(file: int, start: int, count: int) -> bytes:
    parts = []
    while count > 0 and (part := os.pread(file, count, start)):
        parts.append(part)
        start += len(part)
        count -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def count_characters(file: int, start: int, end: int) -> int:
    """Characters of the log between two byte offsets, invalid bytes as U+FFFD. 1 GiB: about 0.3 s of ASCII, 2 s of CJK.

    Raises OSError.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    count, pending = 0, False
    while start < end:
        part = os.pread(file, min(COUNT_BYTES, end - start), start)
        if not part:
            break
        start += len(part)
        if not pending and part.isascii():
            count += len(part)
        else:
            count += len(decoder.decode(part, final=start >= end))
            pending = bool(decoder.getstate()[0])
    return count


def binary_kind(sample: bytes) -> str:
    """What the beginning of some output is when it is not text: `PNG image`, `binary data`; "" for text."""
    if not sample or (sample.isascii() and b"\0" not in sample):
        return ""
    text = sample[: whole_prefix(sample) or len(sample)].decode("utf-8", "replace")
    share = 1 - len(text.translate(_UNREADABLE)) / len(text)
    known = next(((len(magic), kind) for at, magic, kind in MAGIC if sample.startswith(magic, at)), (0, "binary data"))
    bound = UNREADABLE_SHARE_MAX_KNOWN if known[0] >= 4 else UNREADABLE_SHARE_MAX
    return known[1] if share > bound else ""


def last_lines(file: int, chars_max: int) -> str:
    """The newest output in an open log, at most `chars_max` characters, for a progress message. Raises OSError."""
    size = os.fstat(file).st_size
    start = max(0, size - 4 * chars_max)
    raw = _read(file, start, size - start)
    if start:
        raw = raw[_first_border(raw) :]
    raw = raw[: whole_prefix(raw)].rstrip(b"\r\n")
    if binary_kind(raw):
        return ""
    text, _ = tail(raw, chars_max)
    return text.strip("\n")


def size_text(count: int) -> str:
    """Bytes for a person: `999 B`, `4.1 KB`, `1.2 GB`; 1 KB is 1024."""
    if count < 1024:
        return f"{count} B"
    amount = float(count)
    for unit in ("KB", "MB", "GB", "TB"):
        amount /= 1024
        if amount < 999.95 or unit == "TB":
            return f"{amount:.1f} {unit}"
    raise AssertionError("unreachable")


def duration_text(seconds: float) -> str:
    """`12s`, `4m32s`, `2h05m`, `3d04h`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"
