"""The commands of this server that no sandbox confines and that still run: what plan mode must name when it begins.

Starts and ends nothing. Belongs to one event loop.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

    from scorpio.process import Command

PRUNE_ABOVE = 64

START_S_MAX = 2.0
"""For a command to start; it takes 2 ms. What takes longer is named as being started."""


class FreeCommand:
    """One of them, from the moment it is handed over."""

    __slots__ = ("_waiting", "command", "failed", "owner", "text")

    def __init__(self, owner: str, text: str) -> None:
        self.owner = owner
        self.text = text
        self.command: Command | None = None
        """None until its shell runs."""
        self.failed = False
        self._waiting: list[asyncio.Future[None]] = []

    def settle(self, command: Command | None) -> None:
        """It runs, or (None) could not be started."""
        self.command = command
        self.failed = command is None
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    @property
    def ended(self) -> bool:
        return self.failed or (self.command is not None and self.command.gone)

    async def settled(self) -> None:
        """Waits until it runs or could not be started, or START_S_MAX."""
        import asyncio

        if self.command is None and not self.failed:
            self._waiting.append(asyncio.get_running_loop().create_future())
            await asyncio.wait(self._waiting[-1:], timeout=START_S_MAX)


class FreeCommands:
    def __init__(self) -> None:
        self._commands: list[FreeCommand] = []

    def begin(self, owner: str, text: str) -> FreeCommand:
        """To be settled once it has started."""
        if len(self._commands) >= PRUNE_ABOVE:
            self._commands = [each for each in self._commands if not each.ended]
        self._commands.append(FreeCommand(owner, text))
        return self._commands[-1]

    def has(self, command: Command) -> bool:
        return any(each.command is command for each in self._commands)

    async def running(self, owner: str) -> list[FreeCommand]:
        """Those of `owner`; waits for what is just being started."""
        for each in tuple(self._commands):
            await each.settled()
        self._commands = [each for each in self._commands if not each.ended]
        return [each for each in self._commands if each.owner == owner]
