"""What the tests of the process layer share: build the supervisor, start commands under it, look who still lives."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorpio import process

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "build" / "launcher" / "supervisor.c"

BARE = ["-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector"]
WITH_LIBC = ["-O2", "-static", "-DSUPERVISOR_LIBC"]
STRICT = ["-Wall", "-Wextra", "-Werror"]

EVENT_S_MAX = 20.0
"""For what must happen at once; this long only when it never will."""


def compile_supervisor(target: Path, flags: list[str]) -> Path:
    subprocess.run(["cc", *flags, *STRICT, "-o", target, SOURCE], check=True)
    return target


def living(argument: str) -> list[int]:
    """The processes that have `argument` as one of their arguments, zombies not counted."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and argument.encode() in read(f"/proc/{entry}/cmdline").split(b"\0"):
            state = read(f"/proc/{entry}/stat").rpartition(b") ")[2][:1]
            if state not in (b"Z", b"X", b""):
                found.append(int(entry))
    return found


def children(pid: int) -> dict[int, str]:
    """State letter of each child of a process, zombies too."""
    found = {}
    for entry in os.listdir("/proc"):
        fields = read(f"/proc/{entry}/stat").rpartition(b") ")[2].split() if entry.isdigit() else []
        if fields and int(fields[1]) == pid:
            found[int(entry)] = fields[0].decode()
    return found


def read(path: str | Path) -> bytes:
    """Empty when there is no such file."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def wait_until(condition: Callable[[], object]) -> bool:
    """True as soon as the condition holds; False when it still does not after EVENT_S_MAX."""
    end = time.monotonic() + EVENT_S_MAX
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())


async def until(condition: Callable[[], object]) -> bool:
    end = time.monotonic() + EVENT_S_MAX
    while time.monotonic() < end:
        if condition():
            return True
        await asyncio.sleep(0.01)
    return bool(condition())


def _no_supervisor_is_left() -> bool:
    process._live.supervisors.drop_spare()
    process._live.reap()
    return not children(os.getpid())


class Commands:
    """Starts commands with usual arguments and ends them all."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "log"
        self.status = directory / "status"
        self.started: list[process.Command] = []

    def run(self, body: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs a test's coroutine, then ends what it started and waits until the supervisors are reaped."""
        try:
            asyncio.run(self._run(body))
        finally:
            assert wait_until(_no_supervisor_is_left)

    async def _run(self, body: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            async with asyncio.timeout(60):
                await body()
        finally:
            for command in self.started:
                command.ask_to_terminate(0)
            assert await until(lambda: not process._live.commands)

    async def start(self, command: str, **changes: Any) -> process.Command:
        arguments: dict[str, Any] = {
            "cwd": str(self.directory),
            "env": process.command_environment(os.environ),
            "log_path": str(self.log),
            "output_bytes_max": 0,
            "status_path": str(self.status),
        }
        started = await process.spawn(command, **{**arguments, **changes})
        self.started.append(started)
        return started

    async def output(self, command: str, **changes: Any) -> str:
        """What a command printed, once its shell ended."""
        await (await self.start(command, **changes)).wait_shell()
        return self.log.read_text()
