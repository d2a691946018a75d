"""prompts/list and prompts/get. Source: MCP server/prompts."""

from __future__ import annotations

from scorpio.protocol.content import shaped
from scorpio.protocol.errors import INVALID_PARAMS, ProtocolError
from scorpio.server import calls
from scorpio.server.lists import list_result
from scorpio.server.method import Method
from scorpio.server.server_call import ServerCall
from scorpio.tool import ToolFailure
from scorpio.toolset import made_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.protocol.revisions import Revision
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.tool import Call
    from scorpio.toolset import Entry

    Make = Callable[[Call[Any]], Awaitable[dict[str, Any]]]
    """What `get_prompt` of a state returns: it runs in the slow lane."""


def list_prompts(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    made = [prompt for t in server.features.dynamic("prompts") for prompt in server.state(t).prompts()]
    return list_result(server, request, meta, server.features.prompts.values(), "prompts", made)


def get_prompt(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes | None:
    name = request.params.get("name")
    entry = server.features.prompts.get(name) if type(name) is str else None
    if entry is None and type(name) is str:
        for toolset in server.features.dynamic("prompts"):
            make = server.state(toolset).get_prompt(name, _strings(name, request.params.get("arguments")))
            if make is not None:
                _start(server, request, meta, peer, made_entry(toolset, name), make)
                return None
    if entry is None:
        raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {str(name)[:200]}")
    arguments = _checked(entry, request.params.get("arguments"))
    if not entry.slow:
        try:
            return _result(server, entry.handle(arguments, ServerCall(server, peer, entry, meta)), meta.revision)
        except ToolFailure as failed:
            raise ProtocolError(INVALID_PARAMS, str(failed)) from None
    _start(server, request, meta, peer, entry, lambda call: entry.handle(arguments, call))
    return None


def _start(server: Server, request: Request, meta: RequestMeta, peer: Peer, entry: Entry, make: Make) -> None:
    async def work(call: Call[Any]) -> calls.Encode:
        try:
            given = await make(call)
        except ToolFailure as failed:
            raise ProtocolError(INVALID_PARAMS, str(failed)) from None
        return lambda: _result(server, given, meta.revision)

    calls.start(server, request, meta, peer, entry, work)


def _strings(name: str, arguments: Any) -> dict[str, str]:
    if arguments is None:
        return {}
    if type(arguments) is not dict:
        raise ProtocolError(INVALID_PARAMS, f"Prompt {name}: arguments must be an object of strings")
    for key, value in arguments.items():
        if type(value) is not str:
            raise ProtocolError(INVALID_PARAMS, f"Prompt {name}: argument {key} must be a string")
    return arguments


def _checked(entry: Entry, given: Any) -> dict[str, str]:
    from scorpio.protocol.strict_json import loads

    arguments = _strings(entry.name, given)
    for argument in loads(entry.descriptor).get("arguments", ()):
        if argument.get("required") and argument["name"] not in arguments:
            raise ProtocolError(INVALID_PARAMS, f"Prompt {entry.name}: argument {argument['name']} is required")
    return arguments


def _result(server: Server, given: dict[str, Any], revision: Revision) -> bytes:
    messages = [{**m, "content": shaped([m["content"]], revision)[0]} for m in given["messages"]]
    return server.encode_result({**given, "messages": messages}, revision)


METHODS = {"prompts/list": Method(list_prompts), "prompts/get": Method(get_prompt)}
