"""Bash: one command, waited for; its output first, then how it ended.

What still runs when the shell has ended becomes a background task. A call that is cancelled leaves no process.
"""

from __future__ import annotations

import asyncio
import os
import time

from scorpio.limits import (
    BASH_TIMEOUT_MS_DEFAULT,
    COMMANDS_RUNNING_MAX,
    GRACE_CANCEL_MS,
    GRACE_TIMEOUT_MS,
    OUTPUT_CHARS_MAX,
)
from scorpio.tool import ToolFailure, text
from tools.core.command_text import require_runnable
from tools.core.exit_text import exit_note
from tools.core.output_log import Rendered, last_lines, render_soon, size_text
from tools.core.output_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.process import Command
    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import BashArguments
    from tools.core.background_task import Log, Task
    from tools.core.state import CoreState

ACTIVITY_EVERY_S = 1.0
ACTIVITY_CHARS_MAX = 1000
"""Newest output in a progress message: some 10 lines."""

COMMAND_CHARS_SHOWN = 80
SURVIVORS_SHOWN_MAX = 10
LAST_LOOK_S = 0.02
"""After a SIGSTOP of this server the time is up before its loop has heard that the command ended long ago."""

DYING_S = 0.1
"""For what the shell left and /proc no longer shows."""


async def handle(arguments: BashArguments, call: Call[CoreState]) -> ToolResult:
    run = Run(arguments["command"], call, *_timeout(arguments.get("timeout"), call.settings.bash_max_timeout_ms))
    require_runnable(run.text, "Bash")
    slots = call.state.background_tasks.slots
    if slots.full:
        call.activity = f"waiting: {COMMANDS_RUNNING_MAX} commands are running"
    await slots.take()
    try:
        return await run.run(await call.working_directory())
    finally:
        if run.task is None:
            slots.free()


def _timeout(asked_ms: int | None, most_ms: int) -> tuple[int, str]:
    """(milliseconds, what to say of them). Raises ToolFailure."""
    if asked_ms is None:
        return min(BASH_TIMEOUT_MS_DEFAULT, most_ms), ""
    if asked_ms <= 0:
        raise ToolFailure(
            f"Invalid arguments for Bash: /timeout must be 1 or more milliseconds, at most {most_ms}, not {asked_ms}."
        )
    if asked_ms > most_ms:
        return (
            most_ms,
            f"[timeout {asked_ms} ms is above the maximum; {most_ms} ms were used. BackgroundBash has none.]",
        )
    return asked_ms, ""


class Run:
    """One call, from the log's creation to the answer."""

    def __init__(self, command: str, call: Call[CoreState], timeout_ms: int, timeout_note: str) -> None:
        self.text = command
        self.task: Task | None = None
        """What is left of it. Its slot is the task's then."""
        self._call = call
        self._tasks = call.state.background_tasks
        self._timeout_ms = timeout_ms
        self._timeout_note = timeout_note
        self._shown = one_line(command, COMMAND_CHARS_SHOWN)

    async def run(self, cwd: str) -> ToolResult:
        """Raises ToolFailure."""
        log = self._tasks.open_log()
        keep = False
        try:
            self._call.activity = f"running: {self._shown}"
            started_unix_s = time.time()
            command = await self._tasks.spawn(self.text, cwd=cwd, owner=self._call.owner, log_path=log.path)
            try:
                timed_out = await self._wait(command, log)
                killed = await command.terminate(GRACE_TIMEOUT_MS) if timed_out else 0
                left = await self._leftover(command, log, cwd, started_unix_s)
                rendered = await _render(log, self.task)
            except asyncio.CancelledError:
                await _end_surely(command)
                raise
            except OSError as error:
                raise ToolFailure(
                    f"The command ran, but its log {log.path} cannot be read: {error.strerror}."
                ) from None
            keep = not rendered.complete
            full = _full_disk(log.path)
        finally:
            log.close(keep=keep or self.task is not None)
        if keep:
            self._tasks.clean_soon()
        notes, failed = self._notes(command, rendered, timed_out, killed)
        plans = self._call.state.plans
        planning = plans.note(self._call.owner, cwd, self.text, failed=failed)
        boxed = plans.sandboxing.note(cwd, failed=failed)
        lines = [rendered.text or "(no output)", *notes, *full, *left, self._timeout_note, planning, boxed]
        return text("\n".join(line for line in lines if line), is_error=failed)

    async def _wait(self, command: Command, log: Log) -> bool:
        """Until the shell ends, or the time is up: True."""
        started_s = time.monotonic()
        deadline_s = started_s + self._timeout_ms / 1000
        ended = asyncio.ensure_future(command.wait_shell())
        try:
            while True:
                now_s = time.monotonic()
                await asyncio.wait((ended,), timeout=max(0.0, min(ACTIVITY_EVERY_S, deadline_s - now_s)))
                if ended.done():
                    return False
                if time.monotonic() >= deadline_s:
                    await asyncio.wait((ended,), timeout=LAST_LOOK_S)
                    return command.exit is None
                self._call.activity = self._activity(time.monotonic() - started_s, log)
        finally:
            ended.cancel()

    def _activity(self, elapsed_s: float, log: Log) -> str:
        if self._call.settings.streaming:
            try:
                newest = last_lines(log.file, ACTIVITY_CHARS_MAX)
            except OSError:
                newest = ""
            if newest:
                return newest
        return f"running for {elapsed_s:.0f}s: {self._shown}"

    async def _leftover(self, command: Command, log: Log, cwd: str, started_unix_s: float) -> list[str]:
        """Make a task of what outlived the shell; the line that says so, or none."""
        if command.output_ended or await _is_gone(command):
            return []
        survivors = command.survivors()
        count = len(survivors) or 1
        processes = f"{count} background process{'es' if count != 1 else ''}"
        names = ", ".join(f"{pid} {one_line(name, 32)}" for pid, name in survivors[:SURVIVORS_SHOWN_MAX])
        names += f" and {count - SURVIVORS_SHOWN_MAX} more" if count > SURVIVORS_SHOWN_MAX else ""
        try:
            self.task = self._tasks.keep(
                command, log, text=self.text, cwd=cwd, owner=self._call.owner, started_unix_s=started_unix_s
            )
        except OSError as error:
            await command.terminate(GRACE_TIMEOUT_MS)
            return [f"[{processes} ended: they cannot be kept as a task: {error.strerror or error}: {names}]"]
        return [f"[{processes} still running as task {self.task.id}{': ' if names else ''}{names}]"]

    def _notes(self, command: Command, rendered: Rendered, timed_out: bool, killed: int) -> tuple[list[str], bool]:
        """(lines about the end, whether the call failed)."""
        if timed_out:
            processes = f"{killed} process{'es' if killed != 1 else ''} killed"
            more = f"give a larger timeout (at most {self._call.settings.bash_max_timeout_ms})"
            note = (
                f"[timed out after {self._timeout_ms} ms; {processes}. For longer work {more} or use BackgroundBash.]"
            )
            return [note], True
        if command.output_ended:
            bound = size_text(self._call.settings.bash_max_output_bytes)
            return [f"[killed: the output passed {bound} (BASH_MAX_OUTPUT_BYTES). Send less to stdout.]"], True
        notes = []
        failed = True
        if command.exit is not None:
            note, failed = exit_note(command.exit, self.text, rendered.text)
            notes.append(note)
        if os.path.basename(command.shell) != "bash":
            notes.append(f"[there is no bash in PATH; {command.shell} ran this]")
        return notes, failed


async def _is_gone(command: Command) -> bool:
    """Whether nothing is left; what /proc does not show any more gets a moment to be reaped."""
    if not command.gone and not command.survivors():
        try:
            await asyncio.wait_for(command.wait_gone(), DYING_S)
        except TimeoutError:
            pass
    return command.gone


async def _render(log: Log, task: Task | None) -> Rendered:
    """What the log holds now; that much of a task's output counts as read."""
    size = os.fstat(log.file).st_size
    if task is not None:
        task.read_up_to(size)
    return await render_soon(log.file, size, log.path, OUTPUT_CHARS_MAX)


def _full_disk(log_path: str) -> list[str]:
    """A command whose writes fail rarely says so, and what its output lacks cannot be seen."""
    try:
        disk = os.statvfs(os.path.dirname(log_path))
    except OSError:
        return []
    return [] if disk.f_bavail or not disk.f_blocks else [f"[the disk of {log_path} is full: output may be missing]"]


async def _end_surely(command: Command) -> None:
    """End everything before the call ends, however often it is cancelled."""
    ending = asyncio.ensure_future(command.terminate(GRACE_CANCEL_MS))
    while not ending.done():
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            continue
