"""Moves the wire off descriptors 0 and 1, so that nothing else can read or write on it.

After `claim`, fd 0 is /dev/null and fd 1 is stderr: a stray print, a library's banner or a child that inherits them
cannot tear a message. O_NONBLOCK is never set on an inherited description: it would change the client's end too.
"""

from __future__ import annotations

import os
import stat
import sys

FIRST_FREE = 3


class Wire:
    """The private ends: `read_fd` blocks; `write` takes what fits now, if the kind of descriptor allows it."""

    __slots__ = ("_socket", "blocking", "read_fd", "write_fd")

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.blocking = False
        """True: `write` may block (a file, a terminal, a pipe that cannot be opened again)."""
        self._socket = None
        kind = os.fstat(write_fd).st_mode
        if stat.S_ISFIFO(kind):
            self._reopen()
        elif stat.S_ISSOCK(kind):
            import _socket

            self._socket = _socket.socket(fileno=os.dup(write_fd))
        else:
            self.blocking = True

    def write(self, data: bytes | memoryview) -> int:
        """How many bytes were taken. Raises BlockingIOError for none, BrokenPipeError when the client closed."""
        if self._socket is not None:
            import _socket

            return int(self._socket.send(data, _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL))
        return os.write(self.write_fd, data)

    def _reopen(self) -> None:
        """A description of our own on the same pipe, so that only ours is non-blocking."""
        try:
            own = os.open(f"/proc/self/fd/{self.write_fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:  # another user's pipe, or no /proc
            self.blocking = True
            return
        os.close(self.write_fd)
        self.write_fd = own


def claim() -> Wire:
    """Take fd 0 and 1 for the wire. To be called once, before anything else opens a file."""
    for descriptor in (0, 1, 2):
        _fill(descriptor)
    read_fd, write_fd = _private(0), _private(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdin = None
    sys.stdout = sys.stderr
    return Wire(read_fd, write_fd)


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
