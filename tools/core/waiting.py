"""Waiting for the next tiding of a project, in a process that is no server: what `scorpio wait` does.

Fires nothing: that is a server's. Creates nothing: where there is no state directory yet, it waits for one.
"""

from __future__ import annotations

import threading
import time

from scorpio.state.database import Database
from tools.core.callback_store import WaitingTidings
from tools.core.directory_watch import DirectoryWatch, nearest_existing
from tools.core.migrations import MIGRATIONS
from tools.core.server_presence import DIRECTORY
from tools.core.told_text import line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from scorpio.state.home import Home
    from tools.core.callback_store import Tiding

LOOK_S = 5.0
"""Between two looks where nothing tells of changes: no inotify, or its limits are used up."""

NOTHING_SCHEDULED = (
    "No callback is scheduled in this project now. Waiting for one, or for the end of a background task."
)


class Told:
    """What is to be printed now; nobody else will."""

    def __init__(self, tidings: WaitingTidings, tiding: Tiding) -> None:
        self.text = line(tiding, time.time())
        self._tidings = tidings
        self._tiding = tiding

    def give_back(self) -> None:
        """It was certainly not printed."""
        self._tidings.give_back(self._tiding)


def next_told(home: Home, project: str, timeout_s: float | None, hint: Callable[[str], None]) -> Told | None:
    """The oldest thing that waits to be told in `project`, as soon as there is one; None after `timeout_s`.

    `hint` gets a sentence where nothing suggests that it will come. Raises StateError.
    """
    end_s = None if timeout_s is None else time.monotonic() + timeout_s
    tidings = WaitingTidings(Database(home, MIGRATIONS), project)
    directory = home.path(DIRECTORY)
    changed = threading.Event()

    def wanted() -> dict[str, frozenset[str] | None]:
        existing, missing = nearest_existing(directory)
        return {existing: None if missing is None else frozenset((missing,))}

    watch = DirectoryWatch(wanted, changed.set)
    watch.start()
    hinted = False
    try:
        while True:
            changed.clear()  # before the look: what comes after it is looked for again
            tiding = tidings.next()
            if tiding is not None:
                return Told(tidings, tiding)
            if not hinted and not tidings.callbacks_count():
                hint(NOTHING_SCHEDULED)
            hinted = True
            left_s = LOOK_S if end_s is None else end_s - time.monotonic()
            if left_s <= 0:
                return None
            changed.wait(min(left_s, LOOK_S))
    finally:
        watch.close()
