"""Lines on stderr: `[Server] …`, one an event, never blocking, never two lines.

Does not use `logging` (8 ms of a cold start) and keeps nothing: what a full pipe does not take is dropped and counted.
"""

from __future__ import annotations

import _thread
import os
import select
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

LINE_BYTES_MAX: Final = 4096
"""PIPE_BUF: a pipe that polls writable takes this much without blocking."""

JOINED_CHARS_MAX: Final = LINE_BYTES_MAX // 4
"""Characters of lines that leave in one write: UTF-8 has at most four bytes for each."""

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


class Log:
    """One sink on stderr. Thread-safe: a line is one write of at most PIPE_BUF bytes."""

    __slots__ = ("_descriptor", "_dropped", "_least", "_lock", "_poll")

    def __init__(self, level: str = "info", descriptor: int = 2) -> None:
        self._descriptor = descriptor
        self._least = LEVELS.index(level)
        self._dropped = 0
        self._lock = _thread.allocate_lock()
        self._poll: select.poll | None = None

    def say(self, text: str) -> None:
        """What the person who started the server waits for: told at every level."""
        self._event(len(LEVELS), text)

    def debug(self, text: str) -> None:
        self._event(0, text)

    def info(self, text: str) -> None:
        self._event(1, text)

    @property
    def tells_info(self) -> bool:
        return self._least <= LEVELS.index("info")

    def infos(self, texts: list[str]) -> None:
        """As `info` of each, in as few writes as PIPE_BUF allows."""
        if not self.tells_info:
            return
        joined, count = "", 0
        for text in texts:
            line = text if text.isprintable() else text.translate(_CONTROL)
            if joined and len(joined) + len(line) > JOINED_CHARS_MAX:
                self._joined_event(joined, count)
                joined, count = "", 0
            joined, count = (f"{joined}\n[Server] {line}" if joined else line), count + 1
        self._joined_event(joined, count)

    def warning(self, text: str) -> None:
        self._event(3, text)

    def error(self, text: str) -> None:
        self._event(4, text)

    def block(self, text: str) -> None:
        """Several lines that belong together, such as a traceback."""
        for line in text.splitlines():
            self._event(4, line)

    def _event(self, level: int, text: str) -> None:
        if level >= self._least:
            self._joined_event(text.translate(_CONTROL), 1)

    def _joined_event(self, text: str, count: int) -> None:
        """`count` lines without a control character but the newlines between them."""
        with self._lock:
            if self._dropped and self._write(f"({self._dropped} lines dropped: nobody read stderr)"):
                self._dropped = 0
            if not self._write(text):
                self._dropped += count

    def _write(self, text: str) -> bool:
        line = f"[Server] {text}".encode("utf-8", "backslashreplace")
        try:
            if self._poll is None:
                self._poll = self._opened()
            if not self._poll.poll(0):
                return False
            if len(line) >= LINE_BYTES_MAX:
                line = line[: LINE_BYTES_MAX - 1].decode("utf-8", "ignore").encode()  # no half of a character
            os.write(self._descriptor, line + b"\n")
        except BlockingIOError:
            return False
        except OSError:  # stderr is closed: there is nobody to tell
            return True
        return True

    def _opened(self) -> select.poll:
        """A pipe gets a description of our own that never blocks: others write to it too, between poll and write."""
        if stat.S_ISFIFO(os.fstat(self._descriptor).st_mode):
            try:
                flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
                self._descriptor = os.open(f"/proc/self/fd/{self._descriptor}", flags)
            except OSError:  # another user's pipe, or no /proc
                pass
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        return poll
