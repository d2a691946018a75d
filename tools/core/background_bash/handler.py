"""BackgroundBash: start a command that outlasts the call, and say at once when it did not."""

from __future__ import annotations

import os

from scorpio.limits import OUTPUT_CHARS_MAX
from scorpio.tool import text
from tools.core.command_text import require_runnable
from tools.core.output_log import duration_text, open_log, render_soon
from tools.core.output_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import BackgroundBashArguments
    from tools.core.background_task import Task
    from tools.core.state import CoreState

COMMAND_CHARS_SHOWN = 200


async def handle(arguments: BackgroundBashArguments, call: Call[CoreState]) -> ToolResult:
    command = arguments["command"]
    require_runnable(command, "BackgroundBash")
    cwd = await call.working_directory()
    task = await call.state.background_tasks.start(command, cwd=cwd, owner=call.owner)
    shown = one_line(command, COMMAND_CHARS_SHOWN)
    if task.end is not None:
        plans, failed = call.state.plans, task.end.code != 0
        notes = (plans.note(call.owner, cwd, command, failed=failed), plans.sandboxing.note(cwd, failed=failed))
        return await _ended(task, shown, "\n".join(filter(None, notes)))
    return text(
        f"Started background task {task.id} (pid {task.record.pid}): {shown}\n"
        f"Log: {task.log_path}\n"
        f"ReadBgOutput with task_id {task.id} returns new output; KillBgTask ends it; it ends with this server"
        f"{' only if you kill it' if task.record.survive else ''}."
    )


async def _ended(task: Task, shown: str, note: str) -> ToolResult:
    assert task.end is not None
    how = task.state_text("exit code: {code}")
    lines = [
        f"Background task {task.id} ended after {duration_text(task.runtime_s)}: {shown}",
        await _output(task),
        f"[{how}]",
        note,
    ]
    return text("\n".join(filter(None, lines)), is_error=task.end.code != 0)


async def _output(task: Task) -> str:
    """All of it; from now on it counts as read."""
    try:
        file = open_log(task.log_path)
    except OSError as error:
        return f"[the log {task.log_path} cannot be read: {error.strerror}]"
    try:
        size = os.fstat(file).st_size
        task.read_up_to(size)
        return (await render_soon(file, size, task.log_path, OUTPUT_CHARS_MAX)).text or "(no output)"
    finally:
        os.close(file)
