"""The table of MCP methods: who serves each, in which era, and whether before `initialize`.

A method belongs to one `*_methods` module, which lists its own rows; this module only joins them. Those of tasks and of
skills stand here, because their modules are imported with the first of them.
"""

from __future__ import annotations

from scorpio.protocol.errors import METHOD_NOT_FOUND, ProtocolError
from scorpio.server import (
    completion_methods,
    lifecycle,
    log_methods,
    prompt_methods,
    resource_methods,
    subscriptions,
    tool_methods,
)
from scorpio.server.method import Method

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.server.method import Handle
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server


def _of_tasks(name: str) -> Handle:
    """A function of `task_methods`, for whose import a start does not pay."""

    def handle(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes | None:
        from scorpio.server import task_methods

        answer: bytes | None = getattr(task_methods, name)(server, request, meta, peer)
        return answer

    return handle


def _of_skills(name: str) -> Handle:
    """The same of `skill_methods`."""

    def handle(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> None:
        from scorpio.server import skill_methods

        getattr(skill_methods, name)(server, request, meta, peer)

    return handle


METHODS: Mapping[str, Method] = {
    **lifecycle.METHODS,
    **tool_methods.METHODS,
    **prompt_methods.METHODS,
    **resource_methods.METHODS,
    **completion_methods.METHODS,
    **log_methods.METHODS,
    **subscriptions.METHODS,
    "tasks/get": Method(_of_tasks("get_task")),
    "tasks/list": Method(_of_tasks("list_tasks"), modern=False),
    "tasks/cancel": Method(_of_tasks("cancel_task")),
    "tasks/result": Method(_of_tasks("task_result"), modern=False),
    "tasks/update": Method(_of_tasks("update_task"), legacy=False),
    "skills/list": Method(_of_skills("list_skills")),
    "skills/get": Method(_of_skills("get_skill")),
    "resources/directory/read": Method(_of_skills("read_directory")),
}


def call_alias(server: Server, request: Request, meta: RequestMeta | None, peer: Peer) -> bytes | None:
    """A method that a toolset maps on one of its tools; served before `initialize` too, as the seed shows it.

    Raises ProtocolError -32601 for every other method.
    """
    tool = server.features.methods.get(request.method)
    if tool is None:
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {request.method[:200]}")
    return tool_methods.call_by_alias(server, request, meta, peer, tool)
