"""tools/list, tools/call, and the JSON-RPC methods that a toolset maps on a tool.

Source: MCP server/tools. Arguments that fail the schema are a tool error, so that the model can mend them.
"""

from __future__ import annotations

import time

from scorpio.protocol.content import shaped
from scorpio.protocol.errors import INVALID_PARAMS, ProtocolError
from scorpio.protocol.revisions import V2024_11_05
from scorpio.server import calls
from scorpio.server.lists import list_result
from scorpio.server.method import Method
from scorpio.server.server_call import ServerCall
from scorpio.server.starved import said_of
from scorpio.tool import ToolFailure, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.protocol.revisions import Revision
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.tool import Call, ToolResult
    from scorpio.toolset import ToolEntry

    Shape = Callable[[Server, Peer, ToolEntry, ToolResult, Revision], bytes]

MAY_BE_TOLD = (ToolFailure, OSError, ImportError, RuntimeError)
"""ToolFailure always is; the others where the machine has run out of something."""


def list_tools(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    return list_result(server, request, meta, server.features.tools.values(), "tools")


def call_tool(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes | None:
    params = request.params
    name = params.get("name")
    entry = server.features.tools.get(name) if type(name) is str else None
    if entry is None and type(name) is str:
        entry = server.features.older_tools.get(name)
    if entry is None:
        said = f"Unknown tool: {name[:200]}" if type(name) is str else "tools/call needs a name that is a string"
        raise ProtocolError(INVALID_PARAMS, said)
    if entry.task or "task" in params:
        from scorpio.server import task_call

        if task_call.begun(server, request, meta, peer, entry):
            return None
    return _call(server, request, meta, peer, entry, params.get("arguments"), call_result, ("arguments",))


def call_by_alias(server: Server, request: Request, meta: RequestMeta | None, peer: Peer, tool: str) -> bytes | None:
    """A bare method: its params are the arguments, its result the structured content where the tool has a schema.

    A program calls it, not a model: params that fail the schema are -32602, as for any method.
    """
    entry = server.features.tools.get(tool)
    if entry is None:
        raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {tool}")
    if meta is None:
        meta = peer.session.request_meta(request.params) if peer.session is not None else _sessionless()
    arguments = {key: value for key, value in request.params.items() if key != "_meta"}
    return _call(server, request, meta, peer, entry, arguments, _alias_result, ())


def _sessionless() -> RequestMeta:
    from scorpio.protocol.meta import RequestMeta

    return RequestMeta(V2024_11_05, {}, None, None)


def _call(
    server: Server,
    request: Request,
    meta: RequestMeta,
    peer: Peer,
    entry: ToolEntry,
    given: Any,
    shape: Shape,
    place: tuple[str, ...],
) -> bytes | None:
    """`place`: where in its params the request has the arguments."""
    arguments, faults = entry.check(given)
    if faults and shape is _alias_result:
        raise ProtocolError(INVALID_PARAMS, "Invalid params: " + "; ".join(faults))
    if faults:
        return shape(server, peer, entry, refused(entry, faults), meta.revision)
    if entry.verbatim:
        from scorpio.server.verbatim import with_verbatim

        arguments = with_verbatim(request, entry, arguments, place)
    if entry.slow:
        _start(server, request, meta, peer, entry, arguments, shape)
        return None
    if "requestState" in request.params:
        calls.earlier_answers(server, request, meta, peer)
    try:
        result = entry.handle(arguments, ServerCall(server, peer, entry, meta))
    except MAY_BE_TOLD as fault:
        result = told(fault)
    return shape(server, peer, entry, result, meta.revision)


def _start(
    server: Server,
    request: Request,
    meta: RequestMeta,
    peer: Peer,
    entry: ToolEntry,
    arguments: dict[str, Any],
    shape: Shape,
) -> None:
    """Apart from `_call`: what a closure holds, an instant call would pay for."""

    async def work(call: Call[Any]) -> calls.Encode:
        result = await handled(entry, arguments, call)
        return lambda: shape(server, peer, entry, result, meta.revision)

    calls.start(server, request, meta, peer, entry, work)


async def handled(entry: ToolEntry, arguments: dict[str, Any], call: Call[Any]) -> ToolResult:
    """Of a slow tool, whether its call is a task or not."""
    try:
        result: ToolResult = await entry.handle(arguments, call)
    except MAY_BE_TOLD as fault:
        return told(fault)
    return result


def told(fault: Exception) -> ToolResult:
    """What the model is told where a handler failed; a fault that is none of its business is a bug, and goes on."""
    if isinstance(fault, ToolFailure):
        return text(str(fault), is_error=True)
    said = said_of(fault)
    if not said:
        raise fault
    return text(said, is_error=True)


def refused(entry: ToolEntry, faults: Sequence[str]) -> ToolResult:
    return text(f"Invalid arguments for {entry.name}: " + "\n".join(faults), is_error=True)


def call_result(
    server: Server, peer: Peer, entry: ToolEntry, result: ToolResult, revision: Revision, tell: bool = True
) -> bytes:
    """The encoded CallToolResult in the words of one revision; with `tell` what waits to be told to this client."""
    peer.client.last_call_s = time.monotonic()
    if tell:
        for toolset in server.features.telling:
            result.content += server.state(toolset).after_result(peer.owner)
    body: dict[str, Any] = {"content": shaped(result.content, revision), "isError": result.is_error}
    if result.structured is not None and revision.structured:
        body["structuredContent"] = result.structured
    if result.meta:
        body["_meta"] = result.meta
    return server.encode_result(body, revision)


def _alias_result(server: Server, peer: Peer, entry: ToolEntry, result: ToolResult, revision: Revision) -> bytes:
    """As the seed shows its answers: no `isError` where there is none."""
    if result.is_error:
        return call_result(server, peer, entry, result, revision)
    if result.structured is not None:
        return server.encode(result.structured)
    return server.encode_result({"content": shaped(result.content, revision)}, revision)


METHODS = {"tools/list": Method(list_tools), "tools/call": Method(call_tool)}
