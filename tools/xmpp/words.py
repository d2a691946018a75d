"""Text of strangers, made fit to show: bounded, without controls, nothing invisible in it."""

from __future__ import annotations

import re

QUOTED_CHARS_MAX = 200
"""Of what a peer says in an error: a sentence or two."""

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Controls but newline and tab, and what has no glyph but reorders, hides or smuggles text (Unicode 15)."""

_UNSPEAKABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (section 2.2, Char) cannot carry, not even escaped."""


def shown(text: str, chars_max: int) -> str:
    """`text` with what would be invisible as escapes, cut after `chars_max` characters with a word about the rest."""
    rest = len(text) - chars_max
    visible = _HIDDEN.sub(_escape, text[:chars_max])
    return visible if rest <= 0 else f"{visible}… ({rest} more characters)"


def quoted(text: str) -> str:
    """One line of a peer's words for a sentence of ours."""
    return shown(" ".join(text.split()), QUOTED_CHARS_MAX).rstrip(".")


def unspeakable(text: str) -> str:
    """The first character of `text` that XMPP cannot carry, as U+XXXX; "" where it can carry all."""
    found = _UNSPEAKABLE.search(text)
    return f"U+{ord(found[0]):04X}" if found else ""


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
