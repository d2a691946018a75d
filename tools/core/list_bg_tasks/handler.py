"""ListBgTasks: the caller's background tasks, a line each."""

from __future__ import annotations

from scorpio.tool import text
from tools.core.output_log import duration_text, size_text
from tools.core.output_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import ListBgTasksArguments
    from tools.core.background_task import Task
    from tools.core.state import CoreState

COMMAND_CHARS_SHOWN = 100
FINISHED_SHOWN_MAX = 40
"""Finished tasks in one list, the newest; 200 lines of last week help nobody."""


def handle(arguments: ListBgTasksArguments, call: Call[CoreState]) -> ToolResult:
    tasks = call.state.background_tasks.visible(call.owner)
    if not tasks:
        return text("No background tasks.")
    finished = [task for task in tasks if task.end is not None]
    hidden = {task.id for task in finished[:-FINISHED_SHOWN_MAX]}
    lines = [f"Background tasks ({len(tasks)}):"]
    if hidden:
        lines.append(f"  {len(hidden)} older finished ones are not shown; ReadBgOutput still reads them")
    for task in finished[-FINISHED_SHOWN_MAX:]:
        call.state.end_shown(task)
    return text("\n".join(lines + [_line(task) for task in tasks if task.id not in hidden]))


def _line(task: Task) -> str:
    parts = (
        task.state_text(),
        duration_text(task.runtime_s),
        f"pid {task.record.pid}",
        f"{size_text(task.unread_bytes())} unread",
    )
    return f"  [{task.id}] {', '.join(parts)}: {one_line(task.record.command, COMMAND_CHARS_SHOWN)}"
