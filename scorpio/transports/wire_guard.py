"""Moves the wire off descriptors 0 and 1, so that nothing else can read or write on it.

After `claim`, fd 0 is /dev/null and fd 1 is stderr: a stray print, a library's banner or a child that inherits them
cannot tear a message. O_NONBLOCK is never set on an inherited description: it would change the client's end too.
"""

from __future__ import annotations

import os
import select
import stat
import sys

from scorpio.log import LINE_BYTES_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket

    from scorpio.log import Log

FIRST_FREE = 3

PIPE_BUF = 4096
"""What a pipe that polls writable takes without blocking. Source: pipe(7)."""


class Wire:
    """The private ends. `read` blocks; `write` takes what fits now and does not block."""

    __slots__ = ("_poll", "_socket", "read_fd", "write_fd")

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self._socket: socket | None = None
        self._poll: select.poll | None = None
        """Set where the description blocks and stays so: what polls writable takes PIPE_BUF at once, no more."""
        kind = os.fstat(write_fd).st_mode
        if stat.S_ISSOCK(kind):
            import _socket

            self._socket = _socket.socket(fileno=os.dup(write_fd))
        elif stat.S_ISFIFO(kind) or os.isatty(write_fd):
            self._reopen()
        elif not stat.S_ISREG(kind):
            self._poll_first()

    def read(self, size_bytes: int) -> bytes:
        """What is there, at least a byte; b"" at the end, also when a socket was reset or a terminal went away."""
        while True:
            try:
                return os.read(self.read_fd, size_bytes)
            except BlockingIOError:  # another process made the shared description non-blocking
                poll = select.poll()
                poll.register(self.read_fd, select.POLLIN)
                poll.poll()
            except OSError:
                return b""

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """How many bytes were taken. Raises BlockingIOError for none, another OSError when the client is gone."""
        if self._socket is not None:
            import _socket

            return int(self._socket.send(data, _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL))
        if self._poll is not None:
            if not self._poll.poll(0):
                raise BlockingIOError
            data = data[:PIPE_BUF]
        return os.write(self.write_fd, data)

    def _reopen(self) -> None:
        """A description of our own on the same pipe or terminal, so that only ours is non-blocking."""
        try:
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
            own = os.open(f"/proc/self/fd/{self.write_fd}", flags)
        except OSError:  # another user's, or no /proc
            self._poll_first()
            return
        os.close(self.write_fd)
        self.write_fd = own

    def _poll_first(self) -> None:
        self._poll = select.poll()
        self._poll.register(self.write_fd, select.POLLOUT)


class StrayText:
    """Stands for sys.stdout and sys.stderr: what something prints becomes log lines, which never block."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, log: Log) -> None:
        self._log = log
        self._held = ""

    def write(self, text: str) -> int:
        *lines, held = (self._held + text).split("\n")
        self._held = held[-LINE_BYTES_MAX:]
        for line in lines:
            if line.strip():
                self._log.info(line)
        return len(text)

    def flush(self) -> None:
        """Lines are whole or kept."""

    def isatty(self) -> bool:
        return False


def claim() -> Wire:
    """Take fd 0 and 1 for the wire. To be called once, before anything else opens a file."""
    fill_standard()
    read_fd, write_fd = _private(0), _private(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdin = None
    sys.stdout = sys.stderr
    return Wire(read_fd, write_fd)


def fill_standard() -> None:
    """Descriptors 0 to 2 are open, so that no file of ours lands there. Before anything else opens one."""
    for descriptor in (0, 1, 2):
        _fill(descriptor)


def _private(descriptor: int) -> int:
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)


def _fill(descriptor: int) -> None:
    """A descriptor that is closed at start becomes /dev/null, so that no file of ours lands there."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)
        os.set_inheritable(descriptor, True)
