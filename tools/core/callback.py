"""One callback: when it is due, and what a fire or a bad moment makes of that. Waits for nothing."""

from __future__ import annotations

import time

FOR_EVER = -1


def now_s() -> float:
    """Of a clock that goes on while the machine sleeps and that nobody sets; means nothing in another process."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Callback:
    """A slot that is taken. `due_s` is on the clock of `now_s`."""

    __slots__ = ("delay_s", "due_s", "left", "message", "owner", "project", "slot")

    def __init__(
        self, owner: str, project: str, slot: int, message: str, delay_s: int, left: int, due_s: float
    ) -> None:
        self.owner = owner
        self.project = project
        """Path; whose servers may claim it when its own is dead."""
        self.slot = slot
        self.message = message
        self.delay_s = delay_s
        self.left = left
        """Fires to come; FOR_EVER."""
        self.due_s = due_s

    @property
    def over(self) -> bool:
        return self.left == 0

    def fire(self, at_s: float) -> float:
        """One fire, however many deadlines have passed meanwhile; returns by how many seconds it is late."""
        late_s = at_s - self.due_s
        if self.left != FOR_EVER:
            self.left -= 1
        self.due_s = at_s + self.delay_s
        return late_s

    def put_off(self, at_s: float) -> None:
        """The deadline passed at a bad moment: a full delay from now."""
        self.due_s = at_s + self.delay_s

    def due_unix_s(self, at_s: float) -> float:
        """The deadline as another process can read it."""
        return time.time() + self.due_s - at_s

    def due_from(self, due_unix_s: float, at_s: float) -> None:
        """The deadline as another process left it; never further away than a full delay, whoever set the clock."""
        self.due_s = at_s + min(due_unix_s - time.time(), self.delay_s)
