"""How many commands run at once: COMMANDS_RUNNING_MAX, whoever started them; calls beyond it queue, first come first.

Belongs to one event loop. Knows no processes.
"""

from __future__ import annotations

from collections import deque

from scorpio.limits import COMMANDS_RUNNING_MAX
from scorpio.tool import ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

FULL_OF_TASKS = (
    f"{COMMANDS_RUNNING_MAX} background tasks are running, as many commands as may run at once. "
    "End one with KillBgTask (ListBgTasks shows them), then run this again."
)


class CommandSlots:
    """Slots that are taken by a call and may pass to the background task that its command becomes."""

    __slots__ = ("_taken", "_tasks", "_waiting")

    def __init__(self) -> None:
        self._taken = 0
        self._tasks = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def full(self) -> bool:
        return self._taken >= COMMANDS_RUNNING_MAX

    async def take(self) -> None:
        """Wait for a slot. Raises ToolFailure when tasks hold them all: nothing says that one of them ends."""
        if not self.full:
            self._taken += 1
            return
        if self._tasks >= COMMANDS_RUNNING_MAX:
            raise ToolFailure(FULL_OF_TASKS)
        import asyncio

        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.free()  # the slot came in the same moment
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def take_for_task(self) -> None:
        """Raises ToolFailure when there is none: a task is started at once or not at all."""
        if self.full:
            raise ToolFailure(
                FULL_OF_TASKS
                if self._tasks >= COMMANDS_RUNNING_MAX
                else f"{COMMANDS_RUNNING_MAX} commands are running. Start this again when one has ended."
            )
        self._taken += 1
        self.becomes_task()

    def becomes_task(self) -> None:
        """A taken slot is a task's now."""
        self._tasks += 1
        if self._tasks >= COMMANDS_RUNNING_MAX:
            while self._waiting:
                turn = self._waiting.popleft()
                if not turn.done():
                    turn.set_exception(ToolFailure(FULL_OF_TASKS))

    def free_task(self) -> None:
        self._tasks -= 1
        self.free()

    def free(self) -> None:
        """Give a slot back; the longest waiting call gets it."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._taken -= 1
