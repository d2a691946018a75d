"""resources/list, resources/templates/list, resources/read, resources/subscribe and unsubscribe.

Source: MCP server/resources. A URI is a name looked up in a table, never a path of the file system.
"""

from __future__ import annotations

from scorpio.limits import SUBSCRIPTIONS_MAX
from scorpio.protocol.errors import INVALID_PARAMS, ProtocolError
from scorpio.protocol.meta import SKILL_SCHEME
from scorpio.protocol.revisions import MODERN
from scorpio.protocol.uri_template import match
from scorpio.server import calls
from scorpio.server.lifecycle import EMPTY_RESULT
from scorpio.server.lists import list_result
from scorpio.server.method import Method
from scorpio.server.server_call import ServerCall
from scorpio.tool import ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.protocol.revisions import Revision
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.tool import Call
    from scorpio.toolset import Entry

READ_TTL_MS = 0
"""A modern client asks again each time: contents change without notice unless it listens."""


def list_resources(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes | None:
    made = [item for t in server.features.dynamic("resources") for item in server.state(t).resources(peer.owner)]
    if server.features.skills:
        from scorpio.server import skill_methods

        return skill_methods.list_resources(server, request, meta, peer, made)
    return list_result(server, request, meta, server.features.resources.values(), "resources", made)


def list_templates(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    return list_result(server, request, meta, server.features.templates.values(), "resourceTemplates")


def read_resource(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes | None:
    uri = _uri(request)
    entry, argument = _find(server, uri)
    if entry is None:
        for toolset in server.features.dynamic("resources"):
            contents = server.state(toolset).read(uri, peer.owner)
            if contents is not None:
                return _result(server, contents, meta.revision)
        if uri.startswith(SKILL_SCHEME) and server.features.skills:
            from scorpio.server import skill_methods

            skill_methods.read_file(server, request, meta, peer, uri)
            return None
        raise not_found(uri, meta.revision)
    if not entry.slow:
        try:
            contents = entry.handle(argument, ServerCall(server, peer, entry, meta))
        except ToolFailure as failed:
            raise not_found(uri, meta.revision, str(failed)) from None
        return _result(server, contents, meta.revision)

    async def work(call: Call[Any]) -> calls.Encode:
        try:
            contents = await entry.handle(argument, call)
        except ToolFailure as failed:
            raise not_found(uri, meta.revision, str(failed)) from None
        return lambda: _result(server, contents, meta.revision)

    calls.start(server, request, meta, peer, entry, work)
    return None


def not_found(uri: str, revision: Revision, why: str = "") -> ProtocolError:
    return ProtocolError(revision.resource_not_found, why or f"Resource not found: {uri[:200]}", {"uri": uri[:2000]})


def _find(server: Server, uri: str) -> tuple[Entry | None, Any]:
    """The entry that serves `uri` and what its handler gets: the URI, or a template's variables."""
    entry = server.features.resources.get(uri)
    if entry is not None:
        return entry, uri
    for template, entry in server.features.templates.items():
        variables = match(template, uri)
        if variables is not None:
            return entry, {**variables, "uri": uri}
    return None, None


def _result(server: Server, contents: list[dict[str, Any]], revision: Revision) -> bytes:
    result: dict[str, Any] = {"contents": contents}
    if revision.era == MODERN:
        result |= {"ttlMs": READ_TTL_MS, "cacheScope": "private"}
    return server.encode_result(result, revision)


def subscribe(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    uri = _uri(request)
    assert peer.session is not None
    subscriptions = peer.session.subscriptions
    if len(subscriptions) >= SUBSCRIPTIONS_MAX and uri not in subscriptions:
        raise ProtocolError(INVALID_PARAMS, f"More than {SUBSCRIPTIONS_MAX} subscriptions. Unsubscribe some first.")
    subscriptions.add(uri)
    server.subscribed([uri], peer.owner)
    return EMPTY_RESULT


def unsubscribe(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    assert peer.session is not None
    peer.session.subscriptions.discard(_uri(request))
    return EMPTY_RESULT


def _uri(request: Request) -> str:
    uri = request.params.get("uri")
    if type(uri) is not str:
        raise ProtocolError(INVALID_PARAMS, f"{request.method} needs a uri that is a string")
    return uri


METHODS = {
    "resources/list": Method(list_resources),
    "resources/templates/list": Method(list_templates),
    "resources/read": Method(read_resource),
    "resources/subscribe": Method(subscribe, modern=False),
    "resources/unsubscribe": Method(unsubscribe, modern=False),
}
