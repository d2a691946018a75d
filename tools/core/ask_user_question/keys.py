"""Keys out of the bytes of a terminal. Does not read."""

from __future__ import annotations

import codecs
import re

UP, DOWN, LEFT, ENTER, ESCAPE, BACKSPACE, CLEAR, QUIT = (
    "<up>",
    "<down>",
    "<left>",
    "<enter>",
    "<escape>",
    "<backspace>",
    "<clear>",
    "<quit>",
)
PAGE_UP, PAGE_DOWN = "<page up>", "<page down>"
PASTE = "<paste>"
"""A key that begins so brings the pasted text behind it."""

HELD_CHARS_MAX = 64 * 1024
"""A paste that goes on longer than this is cut."""

_SEQUENCES = {"[A": UP, "OA": UP, "[B": DOWN, "OB": DOWN, "[D": LEFT, "OD": LEFT, "[5~": PAGE_UP, "[6~": PAGE_DOWN}
_CONTROLS = {
    "\r": ENTER,
    "\n": ENTER,
    "\x7f": BACKSPACE,
    "\b": BACKSPACE,
    "\x15": CLEAR,
    "\x03": QUIT,
    "\x04": QUIT,
    "\x10": UP,
    "\x0e": DOWN,
}
_ESCAPED = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\[O\x1b])", re.DOTALL)
_PASTE_BEGIN, _PASTE_END = "\x1b[200~", "\x1b[201~"


class Keys:
    """Holds back what is incomplete: half a character, half a sequence, a paste that goes on."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    @property
    def pending(self) -> bool:
        """An escape character came and it is not clear of what: when nothing follows soon, `flush`."""
        return self._held.startswith("\x1b") and not self._held.startswith(_PASTE_BEGIN)

    def feed(self, data: bytes) -> list[str]:
        """The keys that are complete: names as above, or one character each."""
        self._held += self._decoder.decode(data)
        keys: list[str] = []
        while self._held:
            taken = self._one(keys)
            if not taken:
                break
            self._held = self._held[taken:]
        return keys

    def flush(self) -> list[str]:
        """Nothing followed: the escape key, when it stands alone."""
        held, self._held = self._held, ""
        return [ESCAPE] if held == "\x1b" else [ESCAPE, ESCAPE] if held == "\x1b\x1b" else []

    def _one(self, keys: list[str]) -> int:
        """Characters taken by the next key; 0 when it is not complete."""
        held = self._held
        if held.startswith(_PASTE_BEGIN):
            return self._paste(keys)
        if held[0] == "\x1b":
            return self._escaped(keys)
        key = _CONTROLS.get(held[0], held[0])
        if key in _CONTROLS.values() or key.isprintable():
            keys.append(key)
        return 1

    def _paste(self, keys: list[str]) -> int:
        end = self._held.find(_PASTE_END)
        if end < 0 and len(self._held) < HELD_CHARS_MAX:
            return 0
        text = self._held[len(_PASTE_BEGIN) : end if end >= 0 else HELD_CHARS_MAX]
        keys.append(PASTE + text)
        return end + len(_PASTE_END) if end >= 0 else len(self._held)

    def _escaped(self, keys: list[str]) -> int:
        held = self._held
        if held.startswith("\x1b\x1b") and len(held) > 2:  # the escape key, then a sequence
            keys.append(ESCAPE)
            return 1
        found = _ESCAPED.match(held)
        if found is None:
            return 0 if len(held) < 32 else len(held)
        key = _SEQUENCES.get(found[1])
        if key is not None:
            keys.append(key)
        return found.end()
