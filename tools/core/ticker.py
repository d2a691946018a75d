"""One thread for all that a server waits for beside its calls: moments, the ends of processes, a word from others.

Started when it is first woken, and idle for as long as nobody asks for a moment. Knows nothing of what it calls.
"""

from __future__ import annotations

import _thread
import math
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Part = Callable[[], float | None]
    """Does what is due; returns in how many seconds it wants to be called again, at the latest. None: when woken."""


class Ticker:
    """From any thread; `parts` are called by its own, one after the other."""

    def __init__(self, *parts: Part) -> None:
        self._parts = parts
        self._lock = _thread.allocate_lock()
        self._running = False
        self._closing = False
        self._wake = -1
        self._files: dict[int, Callable[[], None]] = {}

    def wake(self, after_s: float = 0.0) -> None:
        """Call every part now; where the thread does not run yet, in `after_s` seconds."""
        with self._lock:
            if self._running:
                os.eventfd_write(self._wake, 1)
            elif not self._closing:
                try:
                    if self._wake < 0:
                        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
                    _thread.start_new_thread(self._run, (after_s,))
                except (OSError, RuntimeError):  # no descriptors or threads are left: whoever wakes next tries again
                    return
                self._running = True

    def watch(self, file: int, ready: Callable[[], None]) -> None:
        """Call `ready` once `file` can be read, and close it; it is the ticker's from now on."""
        self._files[file] = ready
        self.wake()

    def close(self) -> None:
        """The thread ends by itself."""
        with self._lock:
            self._closing = True
            if self._running:
                os.eventfd_write(self._wake, 1)
            else:
                self._let_go()

    def _run(self, after_s: float) -> None:
        try:
            self._wait(after_s)
            while not self._closing:
                wanted = [seconds for part in self._parts if (seconds := part()) is not None]
                self._wait(min(wanted, default=None))
        finally:
            with self._lock:
                self._running = False  # after a bug: whoever wakes it next gets a new thread
                if self._closing:
                    self._let_go()

    def _wait(self, seconds: float | None) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        for file in tuple(self._files):
            poll.register(file, select.POLLIN)
        for file, _ in poll.poll(None if seconds is None else max(0, math.ceil(seconds * 1000))):
            if file == self._wake:
                os.eventfd_read(self._wake)
            else:
                ready = self._files.pop(file)
                os.close(file)
                ready()

    def _let_go(self) -> None:
        for file in (self._wake, *self._files):
            if file >= 0:
                os.close(file)
        self._wake = -1
        self._files.clear()
