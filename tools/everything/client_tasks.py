"""A question that the client answers as a task of its own: the server follows it, and tells how it went by."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.everything.state import Everything

QUESTION = "question"


def answered(
    call: Call[Everything], method: str, params: dict[str, Any], ttl_ms: int
) -> tuple[dict[str, Any], list[str]]:
    """(the answer, how it came about, a line each). Raises ToolFailure."""
    steps_of = getattr(call, "client_task", None)  # None: this server knows no tasks, and asks without one
    result = call.ask(QUESTION, method, {**params, "task": {"ttl": ttl_ms}} if steps_of else params)
    steps: list[dict[str, Any]] = steps_of(QUESTION) if steps_of else []
    if not steps:
        return result, ["Answered without a task"]
    said = [
        f"{step.get('status')}" + (f" - {step['statusMessage']}" if step.get("statusMessage") else "") for step in steps
    ]
    return result, [f"Task created: {steps[0].get('taskId')}", *said]
