"""A task that the client makes of a question: looked at until it is over, then its result is fetched.

Source: MCP 2025-11-25, basic/utilities/tasks ("Task-Augmented Sampling Request"). The other direction is `task_call`.
"""

from __future__ import annotations

from scorpio.limits import (
    CLIENT_TASK_POLL_MS_DEFAULT,
    CLIENT_TASK_POLL_MS_MAX,
    CLIENT_TASK_POLL_MS_MIN,
    CLIENT_TASK_STEPS_MAX,
)
from scorpio.protocol.errors import INTERNAL_ERROR
from scorpio.protocol.messages import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.server.calls import RunningCall

COMPLETED = "completed"
ENDS = (COMPLETED, "failed", "cancelled")


async def followed(call: RunningCall, key: str, response: Response) -> Response | None:
    """The answer in the end; `response` itself where it is no task. None when the client is gone."""
    import asyncio

    task = response.result.get("task") if type(response.result) is dict else None
    if type(task) is not dict or type(id_ := task.get("taskId")) is not str:
        return response
    steps = call.client_tasks[key] = [task]
    while task.get("status") not in ENDS:
        await asyncio.sleep(_poll_s(task))
        looked, _ = await call.exchange("tasks/get", {"taskId": id_})
        if looked is None or type(looked.result) is not dict:
            return looked
        before, task = task, looked.result
        changed = any(before.get(name) != task.get(name) for name in ("status", "statusMessage"))
        if changed and len(steps) < CLIENT_TASK_STEPS_MAX:
            steps.append(task)
    if task["status"] != COMPLETED:
        said = f"its task {task['status']}: {task.get('statusMessage') or 'it did not say why'}"
        return Response(response.id, None, {"code": INTERNAL_ERROR, "message": said})
    return (await call.exchange("tasks/result", {"taskId": id_}))[0]


def _poll_s(task: dict[str, Any]) -> float:
    advised_ms: Any = task.get("pollInterval")
    if type(advised_ms) not in (int, float):
        advised_ms = CLIENT_TASK_POLL_MS_DEFAULT
    return float(min(max(advised_ms, CLIENT_TASK_POLL_MS_MIN), CLIENT_TASK_POLL_MS_MAX)) / 1000
