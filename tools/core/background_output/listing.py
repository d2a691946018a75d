"""Background tasks as resources, one each, for `resources/list`."""

from __future__ import annotations

from tools.core.background_news import uri_of
from tools.core.output_log import duration_text, size_text
from tools.core.output_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tools.core.background_task import Task
    from tools.core.background_tasks import BackgroundTasks

COMMAND_CHARS_SHOWN = 100


def task_resources(tasks: BackgroundTasks, owner: str) -> list[dict[str, Any]]:
    """Wire objects of the owner's tasks, those taken over from dead servers among them. Instant."""
    return [_resource(task) for task in tasks.visible(owner)]


def _resource(task: Task) -> dict[str, Any]:
    command = one_line(task.record.command, COMMAND_CHARS_SHOWN)
    how = f"{task.state_text()}, {duration_text(task.runtime_s)}, {size_text(task.output_bytes())}"
    return {
        "uri": uri_of(task),
        "name": f"background-task-{task.id}",
        "title": command,
        "description": f"{how}: {command}",
        "mimeType": "text/plain",
    }
