"""What a server says of tasks, judged: 2025-11-25 by the official models, the extension by its schema, told again here.

Source: modelcontextprotocol/ext-tasks, schema of 2026-07-28. Shares no code with the program.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import mcp_types._v2025_11_25 as core
import mcp_types.methods as official
import pydantic
from pydantic.alias_generators import to_camel

CORE = "2025-11-25"
EXTENSION = "2026-07-28"
NAME = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
ENDS = ("completed", "failed", "cancelled")

Message = dict[str, Any]
Instant = Annotated[str, pydantic.Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]


class Shape(pydantic.BaseModel):
    """Strict: a member that another revision has is a fault."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class Task(Shape):
    meta: Annotated[dict[str, Any] | None, pydantic.Field(alias="_meta")] = None
    task_id: Annotated[str, pydantic.Field(min_length=20)]
    status_message: str | None = None
    created_at: Instant
    last_updated_at: Instant
    ttl_ms: Annotated[int, pydantic.Field(gt=0)]
    poll_interval_ms: Annotated[int, pydantic.Field(gt=0)]


class Error(Shape):
    code: int
    message: str
    data: Any = None


class Request(Shape):
    method: Literal["elicitation/create", "sampling/createMessage", "roots/list"]
    params: dict[str, Any]


class Created(Task):
    result_type: Literal["task"]
    status: Literal["working", "input_required", "completed", "failed", "cancelled"]


class Working(Task):
    status: Literal["working", "cancelled"]


class InputRequired(Task):
    status: Literal["input_required"]
    input_requests: Annotated[dict[str, Request], pydantic.Field(min_length=1)]


class Completed(Task):
    status: Literal["completed"]
    result: dict[str, Any]


class Failed(Task):
    status: Literal["failed"]
    error: Error


class Acknowledged(Shape):
    meta: Annotated[dict[str, Any] | None, pydantic.Field(alias="_meta")] = None
    result_type: Literal["complete"]


DETAILED: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(Working | InputRequired | Completed | Failed)
CORE_RESULTS: dict[str, type[pydantic.BaseModel]] = {
    "tools/call as a task": core.CreateTaskResult,
    "tasks/get": core.GetTaskResult,
    "tasks/list": core.ListTasksResult,
    "tasks/cancel": core.CancelTaskResult,
    "tasks/result": core.CallToolResult,
}


class TaskJudge:
    """One connection's: besides the shapes, that a task which is over stays what it is."""

    def __init__(self) -> None:
        self._ends: dict[str, tuple[str, str]] = {}
        """How each task ended, and when."""

    def result_fault(self, method: str, revision: str, result: Message) -> str | None:
        """What is wrong with a result; "" for nothing, None where it is none of a task."""
        try:
            if revision == CORE and method in CORE_RESULTS:
                CORE_RESULTS[method].model_validate(result)
                if method == "tasks/result":
                    return "" if RELATED in result.get("_meta", {}) else "tasks/result without the name of its task"
                shown = result["tasks"] if method == "tasks/list" else [result.get("task", result)]
                return "".join(map(self._status_fault, shown))
            if revision == EXTENSION and method == "tools/call" and result.get("resultType") == "task":
                Created.model_validate(result)
                return self._status_fault(result)
            if revision == EXTENSION and method == "tasks/get":
                bare = {key: value for key, value in result.items() if key != "resultType"}
                return self._detailed_fault(bare) if result["resultType"] == "complete" else "not a complete result"
            if revision == EXTENSION and method in ("tasks/update", "tasks/cancel"):
                Acknowledged.model_validate(result)
                return ""
        except pydantic.ValidationError as fault:
            return str(fault)
        return None

    def notification_fault(self, method: str, revision: str, params: Message) -> str | None:
        try:
            if (method, revision) == ("notifications/tasks/status", CORE):
                core.TaskStatusNotification.model_validate({"jsonrpc": "2.0", "method": method, "params": params})
                return self._status_fault(params)
            if (method, revision) == ("notifications/tasks", EXTENSION):
                return self._detailed_fault(params)
        except pydantic.ValidationError as fault:
            return str(fault)
        return None

    @staticmethod
    def question_fault(method: str, revision: str, params: Any) -> str | None:
        """What is wrong with a request of the server about a task of the client."""
        if revision != CORE or method not in ("tasks/get", "tasks/result"):
            return None
        return "" if isinstance(params, dict) and isinstance(params.get("taskId"), str) else "no taskId"

    def _detailed_fault(self, task: Message) -> str:
        DETAILED.validate_python(task)
        if task["status"] == "completed":
            official.validate_server_result("tools/call", EXTENSION, task["result"])
            if RELATED in task["result"].get("_meta", {}):
                return "the result of a task of the extension names it"
        return self._status_fault(task)

    def _status_fault(self, task: Message) -> str:
        """An answer may be older than a notification that overtook it, which its lastUpdatedAt shows."""
        status, updated_at = self._ends.get(task["taskId"], ("", ""))
        if status and task["status"] != status and task["lastUpdatedAt"] > updated_at:
            return f"{status} became {task['status']}"
        if task["status"] in ENDS:
            self._ends[task["taskId"]] = (task["status"], task["lastUpdatedAt"])
        return ""
