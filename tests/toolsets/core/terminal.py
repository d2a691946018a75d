"""A terminal of a test's own: a pty, what a screen would show of it, and a person who types.

Understands what a dialog writes and tmux draws, not all of ECMA-48: anything else fails the test.
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import re
import struct
import termios
import threading
import time
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.wire import Wire

BOUND_S = 60.0

UP, DOWN, LEFT, ESCAPE, ENTER = b"\x1b[A", b"\x1b[B", b"\x1b[D", b"\x1b", b"\r"

_PIECE = re.compile(
    r"\x1b\[([<=>?]?)([0-9;]*)([ -/]?)([@-~])|\x1b[()]([0-9A-Z])|\x1b([=>78M])|\x1b\][^\x07]*\x07|(.)", re.DOTALL
)
_HALF = re.compile(r"\x1b(\[[0-?]*[ -/]?|[()]|\][^\x07]*)?\Z")


class Screen:
    """Cells, cursor and modes. `unknown`: what was not understood."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self.row = self.column = 0
        self.cells: list[list[str]] = []
        self.modes: set[str] = {"25"}
        self.styled = False
        self.unknown: list[str] = []
        self.clear()

    def clear(self) -> None:
        self.cells = [[" "] * self.columns for _ in range(self.lines)]

    def resize(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self.clear()
        self.row = self.column = 0

    def rows(self) -> list[str]:
        """As a person reads them: the second cell of a wide character is empty text."""
        return ["".join(row).rstrip() for row in self.cells]

    def text(self) -> str:
        return "\n".join(self.rows()).rstrip()

    def write(self, text: str) -> None:
        for found in _PIECE.finditer(text):
            private, numbers, between, final, _, _, char = found.groups()
            if char is not None:
                self._char(char)
            elif final is not None:
                self._sequence(private, numbers, between, final)

    def _char(self, char: str) -> None:
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row = min(self.row + 1, self.lines - 1)
        elif char == "\b":
            self.column = max(0, self.column - 1)
        elif unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            if char not in "\x0e\x0f":
                self.unknown.append(repr(char))
        elif unicodedata.category(char) in ("Mn", "Me"):
            self.cells[self.row][max(0, self.column - 1)] += char
        else:
            width = 2 if unicodedata.east_asian_width(char) in "WF" else 1
            if self.column + width > self.columns:
                self.column, self.row = 0, min(self.row + 1, self.lines - 1)
            self.cells[self.row][self.column] = char
            if width == 2:
                self.cells[self.row][self.column + 1] = ""
            self.column = min(self.column + width, self.columns)

    def _sequence(self, private: str, numbers: str, between: str, final: str) -> None:
        values = [int(number or 0) for number in numbers.split(";")]
        first = max(1, values[0])
        if final in "hl" and private == "?":
            (self.modes.update if final == "h" else self.modes.difference_update)(map(str, values))
            if "1049" in map(str, values):
                self.clear()
        elif final == "H":
            self.row = min(first, self.lines) - 1
            self.column = min(max(1, values[1]) if len(values) > 1 else 1, self.columns) - 1
        elif final in "ABCDGd":
            self._move(final, first)
        elif final == "K":
            begin, end = [(self.column, self.columns), (0, self.column + 1), (0, self.columns)][values[0]]
            self.cells[self.row][begin:end] = [" "] * (end - begin)
        elif final == "X":
            end = min(self.columns, self.column + first)
            self.cells[self.row][self.column : end] = [" "] * (end - self.column)
        elif final == "J":
            if values[0] == 0:
                self.cells[self.row][self.column :] = [" "] * (self.columns - self.column)
            for row in range(self.row + 1 if values[0] == 0 else 0, self.lines):
                self.cells[row] = [" "] * self.columns
        elif final == "m":
            self.styled = self.styled or values != [0]
        elif final not in "rtcnqhlS":
            self.unknown.append(f"CSI {private}{numbers}{between}{final}")

    def _move(self, final: str, by: int) -> None:
        if final == "G":
            self.column = by - 1
        elif final == "d":
            self.row = by - 1
        elif final in "AB":
            self.row = max(0, min(self.lines - 1, self.row + (by if final == "B" else -by)))
        else:
            self.column = max(0, min(self.columns - 1, self.column + (by if final == "C" else -by)))


class Terminal:
    """A pty whose master is read at once into a Screen."""

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        self.master, self.slave = os.openpty()
        self.path = os.ttyname(self.slave)
        self.screen = Screen(columns, lines)
        self.seen = b""
        """All that was written to it."""
        self._changed = threading.Condition()
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._held = ""
        self._set_size(columns, lines)
        self.at_first = self.attributes()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def foreground(self) -> int:
        """The process group that has the keyboard."""
        return os.tcgetpgrp(self.master)

    def attributes(self) -> list[object]:
        return list(termios.tcgetattr(self.slave))

    def type(self, keys: bytes | str) -> None:
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def resize(self, columns: int, lines: int) -> None:
        with self._changed:
            self.screen.resize(columns, lines)
            self._set_size(columns, lines)

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def wait(self, look: Callable[[Screen], object], what: str = "") -> str:
        """The text on the screen once `look` is true."""
        end_s = time.monotonic() + BOUND_S
        with self._changed:
            while not look(self.screen):
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    raise AssertionError(f"not on the screen within {BOUND_S} s: {what}\n{self.screen.text()}")
                self._changed.wait(left_s)
            return self.screen.text()

    def shows(self, *texts: str) -> str:
        return self.wait(lambda screen: all(text in screen.text() for text in texts), " and ".join(texts))

    def is_put_back(self) -> bool:
        """No dialog, and every attribute as it was."""
        with self._changed:
            left = not self.screen.modes & {"1049", "2004"} and "25" in self.screen.modes
        return left and self.attributes() == self.at_first

    def wait_put_back(self) -> None:
        self.wait(lambda screen: "1049" not in screen.modes, "the screen that was there before")
        end_s = time.monotonic() + BOUND_S
        while not self.is_put_back():  # attributes change without a byte on the wire
            assert time.monotonic() < end_s, (self.attributes(), self.at_first, self.screen.modes)
            with self._changed:
                self._changed.wait(0.01)

    def close(self) -> None:
        os.close(self.slave)
        self._thread.join(BOUND_S)
        os.close(self.master)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:  # nobody has the other end any more
                return
            if not data:
                return
            with self._changed:
                self.seen += data
                text = self._held + self._decoder.decode(data)
                half = _HALF.search(text)
                self._held = text[half.start() :] if half else ""
                self.screen.write(text[: half.start()] if half else text)
                self._changed.notify_all()


CLIENT_ON_TERMINAL = """
import os, signal, subprocess, sys
path, group, *command = sys.argv[1:]
os.setsid()
terminal = os.open(path, os.O_RDWR)  # the first terminal a session's leader opens is its own
if group == "third":
    other = subprocess.Popen(["sleep", "600"], process_group=0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(terminal, other.pid)
server = subprocess.Popen(command, process_group=None if group == "same" else 0)
status = server.wait()
if group == "third":
    other.kill()
os._exit(status & 0xFF)
"""
"""A client that has a terminal and starts a server on it: `python -c CLIENT_ON_TERMINAL PATH GROUP COMMAND…`.

GROUP: same, own (the client's is in the foreground), or third (that of another program is).
"""


def start_asking(wire: Wire, *questions: Any) -> int | str:
    arguments = {"questions_json": json.dumps({"questions": questions})}
    return wire.start("tools/call", {"name": "AskUserQuestion", "arguments": arguments})


def said(wire: Wire, id_: int | str) -> Any:
    result = wire.answer(id_)["result"]
    text = result["content"][0]["text"]
    return text if result["isError"] else json.loads(text)
