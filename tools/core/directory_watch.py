"""Tells when something changes in certain directories: inotify in a thread that does nothing but wait.

Where there is no inotify (not Linux, or its limits are used up) it tells nothing: whoever needs to know looks by
himself. Reads no files.
"""

from __future__ import annotations

import _thread
import os
import select
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable, Iterator

    Wanted = dict[str, frozenset[str] | None]

START_AFTER_MS = 200
"""The answer that made somebody interested goes out first: importing ctypes takes 3 ms."""

QUIET_MS = 30
QUIET_MS_MAX = 300
"""An editor writes a file in several steps: told once nothing has come for QUIET_MS, at the latest after the other."""

PAUSE_MS = 200
"""Between two tellings, so that a program that never stops writing costs little."""

SETTLE_ROUNDS_MAX = 5
"""What appears while the rest is being watched is watched too; who makes directories for ever is not waited for."""

EVENT = struct.Struct("iIII")
EVENTS_BYTES = 16 * 1024

IN_ATTRIB, IN_CLOSE_WRITE, IN_MOVED_FROM, IN_MOVED_TO = 0x4, 0x8, 0x40, 0x80
IN_CREATE, IN_DELETE, IN_DELETE_SELF, IN_MOVE_SELF = 0x100, 0x200, 0x400, 0x800
IN_UNMOUNT, IN_Q_OVERFLOW, IN_IGNORED = 0x2000, 0x4000, 0x8000
IN_ONLYDIR = 0x1000000
WATCHED = (
    IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
)
GONE = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED
NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC


class DirectoryWatch:
    """`changed` is called in the thread of the watch, after each change in what `wanted` names."""

    def __init__(self, wanted: Callable[[], Wanted], changed: Callable[[], None]) -> None:
        self._wanted = wanted
        self._changed = changed
        self._lock = _thread.allocate_lock()
        self._wake = -1
        self._closing = False

    def start(self) -> None:
        """Returns at once."""
        try:
            self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        except (AttributeError, OSError):
            return
        _thread.start_new_thread(self._run, ())

    def wake(self) -> None:
        """What is wanted has changed. From any thread."""
        with self._lock:
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """The thread ends by itself."""
        self._closing = True
        self.wake()

    def _run(self) -> None:
        watches = None
        try:
            self._pause(START_AFTER_MS)
            if not self._closing and (watches := _opened()) is not None:
                self._serve(watches)
        finally:
            if watches is not None:
                os.close(watches.file)
            with self._lock:
                wake, self._wake = self._wake, -1
            os.close(wake)

    def _serve(self, watches: Watches) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        poll.register(watches.file, select.POLLIN)
        while not self._closing:
            self._settle(watches)
            self._pause(PAUSE_MS)
            while not self._closing:
                ready = [file for file, _ in poll.poll()]
                if self._wake in ready:
                    os.eventfd_read(self._wake)
                    break
                if watches.drain():
                    watches.wait_quiet()
                    break

    def _settle(self, watches: Watches) -> None:
        """Watch what is wanted, then tell: what changed before the watch began is seen by whoever looks now."""
        for _ in range(SETTLE_ROUNDS_MAX):
            wanted = self._wanted()
            watches.become(wanted)
            self._changed()
            if self._wanted() == wanted:
                return

    def _pause(self, pause_ms: int) -> None:
        if not self._closing:
            poll = select.poll()
            poll.register(self._wake, select.POLLIN)
            poll.poll(pause_ms)


class Watches:
    """One inotify descriptor and what it watches."""

    def __init__(self, file: int, libc: ctypes.CDLL) -> None:
        self.file = file
        self._libc = libc
        self._numbers: dict[str, int] = {}
        """path -> watch. Two paths of one directory share a watch."""
        self._names: dict[int, frozenset[str] | None] = {}

    def become(self, wanted: Wanted) -> None:
        """Watch exactly `wanted`, as far as it exists and the system's limits allow."""
        for path in [path for path in self._numbers if path not in wanted]:
            number = self._numbers.pop(path)
            if number not in self._numbers.values():
                self._libc.inotify_rm_watch(self.file, number)
        self._names.clear()
        for path, names in wanted.items():
            number = self._numbers.get(path, -1)
            if number < 0:
                number = self._libc.inotify_add_watch(self.file, os.fsencode(path), WATCHED | IN_ONLYDIR)
            if number >= 0:
                self._numbers[path] = number
                others = self._names.get(number, frozenset())
                self._names[number] = None if names is None or others is None else names | others

    def drain(self) -> bool:
        """Take all events that are there; whether one of them matters."""
        matters = False
        for number, mask, name in self._events():
            if number not in self._names and not mask & IN_Q_OVERFLOW:
                continue  # the last words of a watch that was given up
            if mask & GONE:
                for path in [path for path, known in self._numbers.items() if known == number]:
                    del self._numbers[path]
                if mask & IN_MOVE_SELF:
                    self._libc.inotify_rm_watch(self.file, number)
            names = self._names.get(number, frozenset())
            matters = matters or bool(mask & (GONE | IN_Q_OVERFLOW)) or names is None or name in names
        return matters

    def wait_quiet(self) -> None:
        poll = select.poll()
        poll.register(self.file, select.POLLIN)
        for _ in range(QUIET_MS_MAX // QUIET_MS):
            if not poll.poll(QUIET_MS):
                return
            self.drain()

    def _events(self) -> Iterator[tuple[int, int, str]]:
        while True:
            try:
                data = os.read(self.file, EVENTS_BYTES)
            except OSError:  # none are left
                return
            at = 0
            while at < len(data):
                number, mask, _, size = EVENT.unpack_from(data, at)
                at += EVENT.size
                yield number, mask, os.fsdecode(data[at : at + size].rstrip(b"\0"))
                at += size


def _opened() -> Watches | None:
    import ctypes

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        file = libc.inotify_init1(NONBLOCK_CLOEXEC)
    except (AttributeError, OSError):
        return None
    return Watches(file, libc) if file >= 0 else None


def nearest_existing(path: str) -> tuple[str, str | None]:
    """`path` and None; or its nearest directory that exists, and the name below it that would lead on to `path`."""
    missing = None
    while not os.path.isdir(path) and os.path.dirname(path) != path:
        path, missing = os.path.split(path)
    return path, missing
