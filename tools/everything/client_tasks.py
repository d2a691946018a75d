"""A question that the client answers as a task of its own: asked, looked after, fetched.

Source: MCP 2025-11-25, basic/utilities/tasks, with the server as the requestor.
"""

from __future__ import annotations

import asyncio

from scorpio.tool import InputRequired, ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.everything.state import Everything

POLLS_MAX = 12
"""Looks at one task; then its result is waited for, which the client holds back until there is one."""

POLL_S_DEFAULT = 1.0
POLL_S_MAX = 15.0
"""Between two looks, whatever the client advises."""

ENDED = ("completed", "failed", "cancelled")


async def answered(
    call: Call[Everything], method: str, params: dict[str, Any], ttl_ms: int
) -> tuple[dict[str, Any], list[str]]:
    """(the answer, how it came about, a line each). Raises ToolFailure.

    Each question is a round of the handler, which runs again from its start: what was asked before is answered at once.
    """
    feature, _, action = method.partition("/")
    if not call.supports(f"tasks.requests.{feature}.{action}"):  # the modern era: its questions are answered any time
        return call.ask("question", method, params), ["Answered without a task"]
    begun = call.ask("question", method, {**params, "task": {"ttl": ttl_ms}})
    task = begun.get("task")
    if not isinstance(task, dict):
        return begun, ["Answered without a task"]
    task_id = task.get("taskId")
    if not isinstance(task_id, str):
        raise ToolFailure("The client made a task without a taskId, so there is nothing to look after.")
    lines = [f"Task created: {task_id}"]
    for number in range(1, POLLS_MAX + 1):
        try:
            task = call.ask(f"poll {number}", "tasks/get", {"taskId": task_id})
        except InputRequired:  # not asked yet
            await asyncio.sleep(_pause_s(task))
            raise
        status = str(task.get("status"))
        said = task.get("statusMessage")
        lines.append(f"Poll {number}: {status}" + (f" - {said}" if said else ""))
        if status in ("failed", "cancelled"):
            raise ToolFailure("\n".join([f"[{status.upper()}] The client's task gave no answer.", *lines]))
        if status in (*ENDED, "input_required"):
            break
    return call.ask("result", "tasks/result", {"taskId": task_id}), lines


def _pause_s(task: dict[str, Any]) -> float:
    advised = task.get("pollInterval")
    if isinstance(advised, bool) or not isinstance(advised, int | float):
        return POLL_S_DEFAULT
    return min(max(advised / 1000, 0.0), POLL_S_MAX)
