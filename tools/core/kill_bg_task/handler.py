"""KillBgTask: end one background task and all that it started. Idempotent."""

from __future__ import annotations

import time

from scorpio.limits import GRACE_TIMEOUT_MS
from scorpio.tool import ToolFailure, text
from tools.core.output_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import KillBgTaskArguments
    from tools.core.state import CoreState

COMMAND_CHARS_SHOWN = 100


async def handle(arguments: KillBgTaskArguments, call: Call[CoreState]) -> ToolResult:
    tasks = call.state.background_tasks
    task = tasks.find(arguments["task_id"], call.owner)
    if task.end is not None:
        return text(f"Task {task.id} already finished ({task.state_text('exit code {code}')}).")
    call.activity = f"ending task {task.id}"
    started_s = time.monotonic()
    task.end_told = True
    gone = False
    try:
        count, gone = await tasks.kill(task)
    finally:
        if not gone:  # or cancelled, and it ends later: nobody hears this answer
            tasks.tell_end(task)
    elapsed_s = time.monotonic() - started_s
    processes = f"{count} process{'es' if count != 1 else ''}"
    if not gone:
        raise ToolFailure(
            f"Task {task.id} still runs: {processes} got SIGTERM and SIGKILL, and not all ended. What is left belongs "
            "to another user or hangs in the kernel; it is tried again until it ends."
        )
    signals = "SIGTERM" if elapsed_s * 1000 < GRACE_TIMEOUT_MS else "SIGTERM, then SIGKILL"
    shown = one_line(task.record.command, COMMAND_CHARS_SHOWN)
    return text(f"Killed task {task.id} ({signals}, {processes}, {elapsed_s:.1f}s): {shown}")
