"""The table of MCP methods: who serves each, in which era, and whether before `initialize`.

A method belongs to one `*_methods` module, which lists its own rows; this module only joins them.
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
    task_methods,
    tool_methods,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.server.method import Method
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server

METHODS: Mapping[str, Method] = {
    **lifecycle.METHODS,
    **tool_methods.METHODS,
    **prompt_methods.METHODS,
    **resource_methods.METHODS,
    **completion_methods.METHODS,
    **log_methods.METHODS,
    **subscriptions.METHODS,
    **task_methods.METHODS,
}


def call_alias(server: Server, request: Request, meta: RequestMeta | None, peer: Peer) -> bytes | None:
    """A method that a toolset maps on one of its tools; served before `initialize` too, as the seed shows it.

    Raises ProtocolError -32601 for every other method.
    """
    tool = server.features.methods.get(request.method)
    if tool is None:
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {request.method[:200]}")
    return tool_methods.call_by_alias(server, request, meta, peer, tool)
