"""The callbacks of one server: kept in memory by the clock, and in the database for the server after it.

Says nothing to a model but in ToolFailure, and does not know when anybody is idle. Every change waits for the disk.
"""

from __future__ import annotations

import threading
import time

from scorpio.tool import ToolFailure
from tools.core.callback import Callback, now_s
from tools.core.callback_store import CALLBACK, Tiding
from tools.core.limits import CALLBACK_SLOTS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.core.callback_store import CallbackStore
    from tools.core.server_presence import Presence

    Check = Callable[[], None]

ALL_FULL = f"Error: all callback slots full (max {CALLBACK_SLOTS_MAX})"


class Callbacks:
    """Raises StateError where the database cannot be written, and then nothing has changed. From any thread."""

    def __init__(self, store: CallbackStore, presence: Presence) -> None:
        self._store = store
        self._presence = presence
        self._lock = threading.Lock()
        """Held through a whole change: memory and database say the same to whoever gets it."""
        self._of: dict[str, dict[int, Callback]] = {}

    def set(self, owner: str, project: str, message: str, delay_s: int, fires: int, check: Check) -> Callback:
        """Take the lowest free slot. Raises ToolFailure when there is none, and what `check` raises."""
        with self._lock:
            free = self._free(owner)
            if not free:
                raise ToolFailure(ALL_FULL)
            callback = Callback(owner, project, free[0], message, delay_s, fires, now_s() + delay_s)
            self._presence.show()
            self._store.keep(callback, callback.due_unix_s(now_s()), check)
            self._of.setdefault(owner, {})[callback.slot] = callback
        return callback

    def active(self, owner: str) -> list[Callback]:
        """By slot."""
        return [callback for _, callback in sorted(self._of.get(owner, {}).items())]

    def cancel(self, owner: str, slot: int | None, check: Check) -> list[Callback]:
        """Those that were cancelled, by slot: that of one slot, or all."""
        with self._lock:
            found = [callback for callback in self.active(owner) if slot is None or callback.slot == slot]
            if found:
                self._store.drop(owner, [callback.slot for callback in found], check)
            for callback in found:
                del self._of[owner][callback.slot]
        return found

    def next_due_s(self) -> float | None:
        """The nearest deadline, on the clock of `now_s`."""
        return min((callback.due_s for callback in self._every()), default=None)

    def due(self, at_s: float) -> list[Callback]:
        """The longest overdue first."""
        return sorted((one for one in self._every() if one.due_s <= at_s), key=lambda callback: callback.due_s)

    def fire(self, callback: Callback, at_s: float, *, told: bool) -> Tiding | None:
        """Once, and what is to be told of it; None where it was cancelled meanwhile. `told`: it is about to be."""
        with self._lock:
            if self._of.get(callback.owner, {}).get(callback.slot) is not callback:
                return None
            before = callback.left, callback.due_s
            late_s = callback.fire(at_s)
            tiding = Tiding(CALLBACK, callback.slot, callback.message, late_s=late_s, made_unix_s=time.time())
            try:
                self._presence.show()
                tiding.id = self._store.fire(callback, callback.due_unix_s(at_s), tiding, told=told)
            except BaseException:
                callback.left, callback.due_s = before
                raise
            if callback.over:
                del self._of[callback.owner][callback.slot]
        return tiding

    def put_off(self, callback: Callback, at_s: float) -> None:
        """Its deadline passed at a bad moment; in memory also where the database cannot be written."""
        with self._lock:
            callback.put_off(at_s)
            if self._of.get(callback.owner, {}).get(callback.slot) is callback:
                self._store.keep(callback, callback.due_unix_s(at_s))

    def claim(self, owner: str, project: str) -> int:
        """Take over what dead servers left to `owner` in `project`; how much waits to be told. Quick where none did."""
        dead, _ = self._presence.others()
        if not dead:
            return 0
        with self._lock:
            self._presence.show()
            claimed = self._store.claim(dead, owner, project, self._free(owner))
            at_s = now_s()
            for callback, due_unix_s in claimed.callbacks:
                callback.due_from(due_unix_s, at_s)
                self._of.setdefault(owner, {})[callback.slot] = callback
        for server in claimed.empty:
            self._presence.forget(server)
        return claimed.tidings_count

    def _free(self, owner: str) -> list[int]:
        taken = self._of.get(owner, {})
        return [slot for slot in range(CALLBACK_SLOTS_MAX) if slot not in taken]

    def _every(self) -> list[Callback]:
        return [callback for slots in tuple(self._of.values()) for callback in tuple(slots.values())]
