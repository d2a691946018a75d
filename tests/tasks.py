"""What a client of either kind of tasks does with them. Knows no tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.wire import MODERN, POLL_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.wire import Message, Wire

CORE = "2025-11-25"
NAME = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
DECLARED: Message = {"extensions": {NAME: {}}}
"""Capabilities of a client with tasks; the core ones need none."""


def begun(wire: Wire, name: str, arguments: Message | None = None, task: object = None, **options: object) -> Message:
    """The task that a call begins with. `task`: what a core client asks for, {} if nothing else is said."""
    params: Message = {"name": name, "arguments": arguments or {}}
    if wire.revision == MODERN:
        result = wire.result("tools/call", params, **options)
        assert result["resultType"] == "task", result
        return result
    result = wire.result("tools/call", params | {"task": {} if task is None else task}, **options)
    made: Message = result["task"]
    return made


def state(wire: Wire, task: Message) -> Message:
    return wire.result("tasks/get", {"taskId": task["taskId"]})


def until(wire: Wire, task: Message, accept: Callable[[Message], bool] | str) -> Message:
    """The task once its status is `accept`, or once that is true of it; each look is a round trip."""
    while True:
        shown = state(wire, task)
        if shown["status"] == accept or (callable(accept) and accept(shown)):
            return shown
        wire.pause(POLL_S)


def outcome(wire: Wire, task: Message) -> Message:
    """The CallToolResult of a task, its questions answered from `wire.answers`. Raises ErrorAnswer."""
    if wire.revision == MODERN:
        return wire.followed(task["taskId"])
    return wire.result("tasks/result", {"taskId": task["taskId"]})


def said(result: Message) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
