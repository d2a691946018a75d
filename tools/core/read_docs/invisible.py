"""Characters without a glyph, shown as escapes: tags, bidi controls, zero-width ones, and other ways to hide text.

Where a script needs one to be written at all, it stays: joiners between Arabic or Indic letters and in emoji,
direction marks beside right-to-left text. Soft hyphens say only where a word may break, and are left out.
"""

from __future__ import annotations

import re

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_INVISIBLE = (
    "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Source: Unicode 15, Default_Ignorable_Code_Point and Bidi_Control. U+FE0E and U+FE0F stay alone, not in a run."""

_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_JOINED = "\u0600-\u109f\u1780-\u18af\ua840-\uabff\ufb50-\ufdff\ufe70-\ufefc"
"""Arabic, Syriac, the scripts of India and its neighbours: letters change their form beside a joiner."""

_EMOJI = "\u2190-\u2bff\u3030\u303d\ufe0f\U0001f000-\U0001faff"
_NEEDED = f"(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])|(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])"
_MARK = "(?<![\u200b-\u200f\u061c])[\u200e\u200f\u061c](?![\u200b-\u200f\u061c])"
_REST = f"[{_CONTROLS}{_INVISIBLE}]|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]"
_SPECIAL = re.compile(f"(?P<needed>{_NEEDED})|{_REST}")
_SPECIAL_RIGHT_TO_LEFT = re.compile(f"(?P<needed>{_NEEDED}|{_MARK})|{_REST}")
_HAS_MARK = re.compile("[\u200e\u200f\u061c]")
_IS_RIGHT_TO_LEFT = re.compile(f"[{_RIGHT_TO_LEFT}]")


def escaped(text: str) -> str:
    """`text` with `\\u200b` and the like in place of what cannot be seen. Carriage returns and soft hyphens go."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u00ad", "").replace("\f", "\n")
    if _HAS_MARK.search(text):
        return "\n".join(map(_escaped_line, text.split("\n")))
    return _SPECIAL.sub(_shown, text)


def _escaped_line(line: str) -> str:
    pattern = _SPECIAL_RIGHT_TO_LEFT if _IS_RIGHT_TO_LEFT.search(line) else _SPECIAL
    return pattern.sub(_shown, line)


def _shown(found: re.Match[str]) -> str:
    if found["needed"]:
        return found[0]
    number = ord(found[0])
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def one_line(text: str, chars_max: int) -> str:
    line = " ".join(escaped(text[: 4 * chars_max]).split())
    return line if len(line) <= chars_max else line[: chars_max - 1] + "…"
