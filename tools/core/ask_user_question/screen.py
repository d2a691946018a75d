"""The controlling terminal: its state taken and put back, raw in between; frames out, bytes in.

Never blocks: a terminal that does not take a frame loses it. Knows no question.
"""

from __future__ import annotations

import os
import select
import termios
import tty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tools.core.ask_user_question.dialog import Frame, Row

DEVICE = "/dev/tty"
ENTER = "\x1b[?1049h\x1b[?2004h\x1b[?25l"
"""Alternate screen, bracketed paste, no cursor."""
LEAVE = "\x1b[0m\x1b[?25h\x1b[?2004l\x1b[?1049l"
SIZE_UNKNOWN = (80, 24)
WRITE_WAIT_S = 0.2
READ_BYTES = 4096


def open_terminal() -> int:
    """A descriptor of our own, so that O_NONBLOCK is nobody else's. Raises OSError where there is no terminal."""
    return os.open(DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)


class Saved:
    """What a terminal was before a dialog: its attributes and its foreground process group."""

    __slots__ = ("attributes", "group")

    def __init__(self, descriptor: int) -> None:
        """Raises OSError."""
        try:
            self.attributes: list[Any] = termios.tcgetattr(descriptor)
        except termios.error as error:
            raise OSError(*error.args) from None
        self.group = os.tcgetpgrp(descriptor)

    @property
    def cooked(self) -> bool:
        """Line by line with echo: a program with a screen of its own has switched that off."""
        wanted = termios.ICANON | termios.ECHO
        return bool(self.attributes[3] & wanted == wanted)

    def put_back(self, descriptor: int) -> None:
        """Whatever can be. The caller has SIGTTOU ignored or blocked."""
        _write(descriptor, LEAVE)
        try:
            termios.tcsetattr(descriptor, termios.TCSANOW, self.attributes)
        except termios.error:  # the terminal is gone
            return
        try:
            if os.tcgetpgrp(descriptor) != self.group:
                import signal

                os.tcsetpgrp(descriptor, self.group)
                os.killpg(self.group, signal.SIGCONT)  # a read while it was in the background has stopped it
        except OSError:  # that group has ended
            pass


class Screen:
    """The terminal between `enter` and `leave`."""

    def __init__(self, *, colour: bool) -> None:
        """Raises OSError."""
        self.descriptor = open_terminal()
        self._colour = colour
        self._shown = ""
        self._saved: Saved | None = None

    def enter(self) -> None:
        """Raises OSError. What was typed before is thrown away: it was not meant for this."""
        self._saved = Saved(self.descriptor)
        if self._saved.group != os.getpgrp():
            os.tcsetpgrp(self.descriptor, os.getpgrp())
        try:
            tty.setraw(self.descriptor, termios.TCSANOW)  # the others wait for output that a terminal may never take
            termios.tcflush(self.descriptor, termios.TCIFLUSH)
        except termios.error as error:
            raise OSError(*error.args) from None
        _write(self.descriptor, ENTER)

    def leave(self) -> None:
        """Put back what `enter` took, also where it failed half-way."""
        saved, self._saved = self._saved, None
        if saved is not None:
            saved.put_back(self.descriptor)

    def size(self) -> tuple[int, int]:
        """(columns, lines)."""
        try:
            columns, lines = os.get_terminal_size(self.descriptor)
        except OSError:
            return SIZE_UNKNOWN
        return (columns, lines) if columns and lines else SIZE_UNKNOWN

    def show(self, frame: Frame) -> None:
        rows = [self._row(row) + "\x1b[K" for row in frame.rows]
        text = "\x1b[?25l\x1b[H" + "\r\n".join(rows) + "\x1b[J"
        if frame.cursor is not None:
            text += f"\x1b[{frame.cursor[0] + 1};{frame.cursor[1] + 1}H\x1b[?25h"
        if text != self._shown:
            self._shown = text if _write(self.descriptor, text) else ""

    def forget(self) -> None:
        """The terminal has another size, and what stands on it is anybody's guess."""
        self._shown = ""

    def read(self) -> bytes:
        """What was typed; empty when the terminal is gone."""
        try:
            return os.read(self.descriptor, READ_BYTES)
        except OSError:
            return b""

    def _row(self, row: Row) -> str:
        return f"\x1b[{row.style}m{row.text}\x1b[0m" if row.style and self._colour else row.text


def _write(descriptor: int, text: str) -> bool:
    """False when the terminal took only a part within WRITE_WAIT_S."""
    left = text.encode("utf-8", "replace")
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            if not select.select((), (descriptor,), (), WRITE_WAIT_S)[1]:
                return False
        except OSError:
            return False
    return True
