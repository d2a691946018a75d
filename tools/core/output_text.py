"""Bytes that a program printed, as text a model can read.

Decodes, takes out what only moves a cursor, shows what would be invisible, cuts at borders. Reads no file and knows
no tool. Never fails, whatever the bytes are; the result is always valid Unicode without control characters.
"""

from __future__ import annotations

import re

BLOCK_BYTES = 8 * 1024
"""Lines are cleaned in blocks of about this size: large enough for one pass of the regular expressions to pay."""

LINE_CHARS_LONG = 2000
"""A line longer than this may be cut inside; shorter ones are shown whole or not at all."""

CUT_CHARS_MIN = 64
"""Less room than this is not worth cutting a long line for."""

CHARS_PER_BYTE_MAX = 3
"""What cleaning makes of a byte at the most: U+00AD, two bytes, is shown as `\\u00ad`."""

SEQUENCE_BYTES_MAX = 4096
"""Longest terminal string sequence (OSC, DCS) that is awaited and dropped; a longer one is text by mistake."""

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters without a glyph that reorder, hide or smuggle text: bidi controls, zero-width, fillers, tags, selectors.

Source: Unicode 15, Default_Ignorable_Code_Point and Bidi_Control, plus interlinear annotation. U+FE0E and U+FE0F stay:
every second emoji carries one. A run of them is taken for smuggled bits.
"""

_SPECIAL = re.compile(f"[{_CONTROLS}{_INVISIBLE}]|[\ufe0e\ufe0f]{{2}}")
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]+")  # not \b and \r, which mean something
_HIDDEN = re.compile(f"[{_INVISIBLE}]|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]")
_FIRST_COLUMN = re.compile(r"(?:\x1b\[|\x9b)[01]?G")
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,256}+[ -/]{0,16}+[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\r\n\x07\x1b\x80-\x9f]{0,4096}+(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, APC…
    r"|\x1b[ -/]{1,16}+[0-~]"  # character sets
    r"|\x1b[0-~]"
)  # possessive, and no class takes the introducer of another: linear on any input
_OPEN_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]{0,256}[ -/]{0,16}|[\]PX^_][^\r\n\x07\x1b]{0,4096}\x1b?|[ -/]{0,16})?\Z")
_BACKSPACES = re.compile("(\b+)")


def clean(text: str) -> str:
    """Decoded output without terminal sequences and controls but newline and tab; invisible characters as escapes.

    A line that was overwritten by carriage returns shows its last state; backspaces erase; CR LF is a newline.
    """
    if _is_clean(text):
        return text
    if "\x1b" in text or not text.isascii():
        text = _SEQUENCE.sub("", _FIRST_COLUMN.sub("\r", text))
    text = _CONTROL.sub("", text)
    if "\r" in text:
        text = "\n".join([_last_state(line) if "\r" in line else line for line in text.split("\n")])
    if "\b" in text:
        text = "\n".join([_erased(line) if "\b" in line else line for line in text.split("\n")])
    return text if text.isascii() else _HIDDEN.sub(_escape, text)


def _is_clean(text: str) -> bool:
    if text.isascii():  # five times as fast as the search
        return text.replace("\n", "").replace("\t", "").isprintable()
    return _SPECIAL.search(text) is None


def clean_bytes(raw: bytes) -> str:
    """`raw` as UTF-8, what is not U+FFFD, cleaned."""
    return clean(raw.decode("utf-8", "replace"))


def _last_state(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]


def _erased(line: str) -> str:
    kept: list[str] = []
    for part in _BACKSPACES.split(line):
        if part[:1] != "\b":
            kept.extend(part)
        elif len(part) < len(kept):
            del kept[-len(part) :]
        else:
            kept.clear()
    return "".join(kept)


def _escape(found: re.Match[str]) -> str:
    number = ord(found.group())
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def one_line(text: str, chars_max: int) -> str:
    """`text` cleaned, on one line, cut with `…`: a command or a process name inside a sentence."""
    line = " ".join(clean(text[: 4 * chars_max]).split())
    return line if len(line) <= chars_max and len(text) <= 4 * chars_max else line[: chars_max - 1] + "…"


# -- borders


def whole_prefix(raw: bytes, *, more: bool = False) -> int:
    """How many bytes of `raw` can be shown before the rest has arrived, without breaking anything in two.

    Held back at the end: part of a UTF-8 character, part of a terminal sequence, a carriage return that may belong to
    CR LF. `more`: the rest is there already, so a line with carriage returns is held from its last state on.
    """
    start = max(0, len(raw) - SEQUENCE_BYTES_MAX - 8)
    opened = _OPEN_SEQUENCE.search(raw, start)
    end = opened.start() if opened else len(raw)
    end -= _open_character_bytes(raw, end)
    while end and raw[end - 1] == 0x0D:
        end -= 1
    if more:
        overwritten = raw.rfind(b"\r", raw.rfind(b"\n", 0, end) + 1, end)
        if overwritten > 0:
            return overwritten
        if not end:
            return len(raw)  # a window full of nothing else: go on all the same
    return end


def _open_character_bytes(raw: bytes, end: int) -> int:
    """Bytes of a UTF-8 character at the end of `raw[:end]` that lacks its last ones."""
    for back in range(1, min(3, end) + 1):
        byte = raw[end - back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if 0xC2 <= byte <= 0xF4 and back < length else 0
        if byte < 0x80:
            return 0
    return 0


def head(raw: bytes, chars_max: int) -> tuple[str, int]:
    """The first whole lines of `raw` that make at most `chars_max` characters, and how many bytes they took.

    A very long line is cut inside, at a character. `raw` ends at a border (`whole_prefix`), and `chars_max` is more
    than SEQUENCE_BYTES_MAX.
    """
    parts: list[str] = []
    left, at = chars_max, 0
    block_bytes = BLOCK_BYTES
    while at < len(raw) and left > 0:
        stop = _line_end(raw, at, block_bytes)
        text = clean_bytes(raw[at:stop])
        if len(text) <= left:
            parts.append(text)
            left -= len(text)
            at = stop
        elif block_bytes > 1:
            block_bytes = 1  # line by line from here
        else:
            if len(text) > min(LINE_CHARS_LONG, chars_max):
                text, used = _line_head(raw[at:stop], left)
                parts.append(text)
                at += used
            break
    return "".join(parts), at


def tail(raw: bytes, chars_max: int) -> tuple[str, int]:
    """The last whole lines of `raw` that make at most `chars_max` characters, and where in `raw` they begin."""
    parts: list[str] = []
    left, end = chars_max, len(raw)
    block_bytes = BLOCK_BYTES
    while end and left > 0:
        start = _line_start(raw, end, block_bytes)
        text = clean_bytes(raw[start:end])
        if len(text) <= left:
            parts.append(text)
            left -= len(text)
            end = start
        elif block_bytes > 1:
            block_bytes = 1
        else:
            if len(text) > min(LINE_CHARS_LONG, chars_max):
                text, begin = _line_tail(raw[start:end], left)
                parts.append(text)
                end = start + begin
            break
    return "".join(reversed(parts)), end


def _line_end(raw: bytes, at: int, block_bytes: int) -> int:
    """End of the last line that ends within `block_bytes` of `at`; else of the first line."""
    if len(raw) - at <= block_bytes:
        return len(raw)
    newline = raw.rfind(b"\n", at, at + block_bytes)
    if newline < 0:
        newline = raw.find(b"\n", at + block_bytes)
    return newline + 1 or len(raw)


def _line_start(raw: bytes, end: int, block_bytes: int) -> int:
    if end <= block_bytes:
        return 0
    newline = raw.find(b"\n", end - block_bytes, end - 1)
    if newline < 0:
        newline = raw.rfind(b"\n", 0, max(0, end - block_bytes))
    return newline + 1


def _line_head(line: bytes, chars_max: int) -> tuple[str, int]:
    """What fits of one long line from its start, and how many bytes that took."""
    parts: list[str] = []
    left, at = chars_max, _last_state_start(line)
    while at < len(line) and left >= CUT_CHARS_MIN:
        text, used = _piece(line[at : at + left], left)
        if not used:
            text, used = _piece(line[at : at + left // CHARS_PER_BYTE_MAX], left)
        if not used:  # one sequence that does not end in all of that: what is no sequence then is shown as text
            end = _border(line, min(len(line), at + left // CHARS_PER_BYTE_MAX))
            text, used = clean_bytes(line[at:end]), end - at
        if len(text) > left:
            break
        parts.append(text)
        left -= len(text)
        at += used
    return "".join(parts), at


def _line_tail(line: bytes, chars_max: int) -> tuple[str, int]:
    """What fits of one long line up to its end, and where in it that begins."""
    parts: list[str] = []
    first = _last_state_start(line)
    left, at = chars_max, len(line)
    while at > first and left >= CUT_CHARS_MIN:
        start = _border(line, max(first, at - left))
        text = clean_bytes(line[start:at])
        if len(text) > left:
            start = _border(line, max(first, at - left // CHARS_PER_BYTE_MAX))
            text = clean_bytes(line[start:at])
        if start >= at:
            break
        parts.append(text)
        left -= len(text)
        at = start
    return "".join(reversed(parts)), at


def _piece(raw: bytes, chars_max: int) -> tuple[str, int]:
    """`raw` up to its last border as text, and its bytes; ("", 0) when that is too long or there is no border."""
    used = whole_prefix(raw)
    text = clean_bytes(raw[:used])
    return (text, used) if len(text) <= chars_max else ("", 0)


def _last_state_start(line: bytes) -> int:
    """Where the state begins that `clean` shows of a line with carriage returns."""
    end = len(line)
    while (at := line.rfind(b"\r", 0, end)) >= 0:
        if clean_bytes(line[at + 1 : end]).rstrip("\n"):
            return at + 1
        end = at
    return 0


def _border(line: bytes, at: int) -> int:
    """The first place from `at` on that is inside no character and no terminal sequence."""
    for _ in range(3):
        if at < len(line) and 0x80 <= line[at] < 0xC0:
            at += 1
    escape = line.rfind(b"\x1b", max(0, at - CUT_CHARS_MIN), at)
    if escape >= 0:
        opened = _SEQUENCE.match(line[escape : at + CUT_CHARS_MIN].decode("latin-1"))
        if opened:
            at = max(at, escape + opened.end())
    return at
