"""Runs the commands that stand in a skill's text, and puts their output in their place. Only where SKILL_EXEC is on.

One after the other, as Bash would run them, in the working directory; bounded in number, time and output. Leaves no
process behind: a skill is a text, not a way to start servers.
"""

from __future__ import annotations

import asyncio
import os
import time

from scorpio.limits import GRACE_CANCEL_MS
from scorpio.tool import ToolFailure
from tools.core.exit_text import exit_note
from tools.core.limits import SKILL_COMMAND_CHARS_MAX, SKILL_COMMANDS_MAX, SKILL_COMMANDS_MS_MAX
from tools.core.output_log import render_soon
from tools.core.output_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorpio import process
    from scorpio.tool import Call
    from tools.core.invoke_skill.substitution import Command
    from tools.core.state import CoreState

COMMAND_CHARS_SHOWN = 80


async def run_commands(parts: Sequence[str | Command], call: Call[CoreState]) -> str:
    """The text with the output of every command. What a command did not do is said in its place."""
    cwd = await call.working_directory()
    end_s = time.monotonic() + SKILL_COMMANDS_MS_MAX / 1000
    texts = []
    count = 0
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        count += 1
        if count > SKILL_COMMANDS_MAX:
            texts.append(f"[not run: a skill runs at most {SKILL_COMMANDS_MAX} commands]")
            continue
        call.activity = f"running: {one_line(part.source, COMMAND_CHARS_SHOWN)}"
        try:
            texts.append(await _run(part, cwd, call, end_s))
        except ToolFailure as failure:
            texts.append(f"[not run: {failure}]")
    return "".join(texts)


async def _run(command: Command, cwd: str, call: Call[CoreState], end_s: float) -> str:
    tasks = call.state.background_tasks
    if time.monotonic() >= end_s:
        raise ToolFailure(f"the {SKILL_COMMANDS_MS_MAX // 1000} s that a skill's commands have are over")
    await tasks.slots.take()
    try:
        log = tasks.open_log()
        keep = False
        try:
            running = await tasks.spawn(
                command.source, cwd=cwd, owner=call.owner, log_path=log.path, variables=command.variables
            )
            try:
                in_time = await _ended(running, end_s)
            finally:
                await _end_surely(running)
            shown = await render_soon(log.file, os.fstat(log.file).st_size, log.path, SKILL_COMMAND_CHARS_MAX)
            keep = not shown.complete
        finally:
            log.close(keep=keep)
    finally:
        tasks.slots.free()
    if not in_time:
        note = f"[killed: a skill's commands have {SKILL_COMMANDS_MS_MAX // 1000} s together]"
    else:
        note = exit_note(running.exit, command.source, shown.text)[0] if running.exit is not None else ""
    return "\n".join(filter(None, (shown.text, note)))


async def _ended(running: process.Command, end_s: float) -> bool:
    """Wait for the shell; False when the time is up first."""
    try:
        await asyncio.wait_for(running.wait_shell(), end_s - time.monotonic())
    except TimeoutError:
        return running.exit is not None
    return True


async def _end_surely(running: process.Command) -> None:
    """End what is left, however often the call is cancelled."""
    ending = asyncio.ensure_future(running.terminate(GRACE_CANCEL_MS))
    cancelled = False
    while not ending.done():
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
