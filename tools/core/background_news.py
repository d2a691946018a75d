"""What is announced of background tasks: new resources, new output to who subscribed, and ends, to the model too.

Reads no output and ends nothing. Without a client nobody makes one of these.
"""

from __future__ import annotations

import os
import time

from tools.core.limits import TASK_OUTPUT_UPDATES_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import StateLink
    from tools.core.background_task import Task
    from tools.core.state import CoreState

URI = "scorpio://background/"


def uri_of(task: Task) -> str:
    return f"{URI}{task.id}"


class BackgroundNews:
    """One server's. `work` is called by the ticker's thread, all else by any."""

    def __init__(self, link: StateLink, state: CoreState) -> None:
        self._link = link
        self._state = state
        self._followed: dict[Task, int] = {}
        """Running tasks whose output somebody subscribed to, with the bytes of it that were announced."""
        self._follow_s = 0.0

    def started(self, task: Task) -> None:
        self._link.changed_list("resources")

    def ended(self, task: Task) -> None:
        self._link.changed_resource(uri_of(task), task.record.owner)
        if not task.end_told:
            self._state.delivery.task_ended(task)

    def adopted(self, task: Task, *, end_is_new: bool) -> None:
        """Taken over from a dead server. `end_is_new`: it ended with that, or after it, and nobody was told."""
        if task.end is None:
            self._wait_for(task)
        elif end_is_new and _project_of(task) == self._state.skills.project():
            self._state.delivery.task_ended(task)

    def _wait_for(self, task: Task) -> None:
        """A task that outlived its server has nobody else who waits for its end."""
        try:
            supervisor = os.pidfd_open(task.record.supervisor_pid)
        except (AttributeError, OSError):  # it has just ended, which the next look finds
            return
        self._state.ticker.watch(supervisor, lambda: self._state.background_tasks.look_after(task))

    # -- output

    def subscribed(self, uri: str, owner: str) -> None:
        """Somebody wants to hear of the output of one task."""
        task = next((one for one in self._state.background_tasks.visible(owner) if uri_of(one) == uri), None)
        if task is not None and task.end is None:
            self._followed.setdefault(task, task.output_bytes())
            self._state.ticker.wake()

    def work(self) -> float | None:
        """Announce what was printed since the last look; seconds until the next one."""
        if not self._followed:
            return None
        at_s = time.monotonic()
        if at_s >= self._follow_s:
            self._follow_s = at_s + TASK_OUTPUT_UPDATES_S
            for task, announced in tuple(self._followed.items()):
                size = task.output_bytes()
                if task.end is not None:
                    del self._followed[task]  # its end was announced when it came
                elif size != announced:
                    self._followed[task] = size
                    self._link.changed_resource(uri_of(task), task.record.owner)
        return self._follow_s - at_s


def _project_of(task: Task) -> str:
    from scorpio.settings import project_of

    return project_of(task.record.cwd)
