"""What goes on after a call was answered, for one client each: simulated log messages and resource updates."""

from __future__ import annotations

import _thread
import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from scorpio.tool import StateLink

    Key = tuple[str, str]
    """(owner, kind)"""

PACE_S = 5.0
"""Between two of a kind, from the reference server: often enough to be seen, rare enough to read."""

LOGGING = "logging"
UPDATES = "updates"

MESSAGES = (
    ("debug", "Debug-level message"),
    ("info", "Info-level message"),
    ("notice", "Notice-level message"),
    ("warning", "Warning-level message"),
    ("error", "Error-level message"),
    ("critical", "Critical-level message"),
    ("alert", "Alert-level message"),
    ("emergency", "Emergency-level message"),
)


def random_message() -> tuple[str, str]:
    """(level, text)"""
    import random

    return random.choice(MESSAGES)


class Simulations:
    """Each is a task of the slow lane, and ends with its client. `toggle` is called there, `stop` from any thread."""

    def __init__(self, link: StateLink, pace_s: float = PACE_S) -> None:
        self._link = link
        self._pace_s = pace_s
        self._lock = _thread.allocate_lock()
        self._running: dict[Key, tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = {}

    def toggle(self, owner: str, kind: str, beat: Callable[[], None]) -> bool:
        """Start one that calls `beat` now and again and again; True when it was started, False when it was stopped."""
        if self.stop(owner, kind):
            return False
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._run(owner, beat))
        with self._lock:
            self._running[owner, kind] = (loop, task)
        task.add_done_callback(lambda done: self._forget((owner, kind), task))
        return True

    def running(self, owner: str) -> list[str]:
        """The kinds that go on for `owner`."""
        with self._lock:
            return [kind for of, kind in self._running if of == owner]

    def stop(self, owner: str, kind: str) -> bool:
        """False when there was none."""
        with self._lock:
            found = self._running.pop((owner, kind), None)
        if found is None:
            return False
        loop, task = found
        try:
            loop.call_soon_threadsafe(task.cancel)
        except RuntimeError:  # the lane has ended, and its tasks with it
            pass
        return True

    def stop_all(self, owner: str | None = None) -> None:
        with self._lock:
            keys = [key for key in self._running if owner in (None, key[0])]
        for key in keys:
            self.stop(*key)

    async def _run(self, owner: str, beat: Callable[[], None]) -> None:
        while self._link.present(owner):  # a client may go while its call is on its way here
            beat()
            await asyncio.sleep(self._pace_s)

    def _forget(self, key: Key, task: asyncio.Task[None]) -> None:
        with self._lock:
            if key in self._running and self._running[key][1] is task:
                del self._running[key]
