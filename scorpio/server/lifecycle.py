"""initialize, initialized, ping, shutdown, exit, server/discover, cancelled, and the client's roots.

Source: MCP basic/lifecycle of each revision; server/discover of 2026-07-28. `shutdown` and `exit` are the seed's.
"""

from __future__ import annotations

from scorpio.protocol.errors import INVALID_PARAMS, ProtocolError
from scorpio.protocol.meta import SKILLS, TASKS, has_capability
from scorpio.protocol.revisions import NAMES_NEWEST_FIRST, TASKS_CORE, TASKS_EXTENSION, negotiated
from scorpio.protocol.strict_json import dumps
from scorpio.server.method import Method
from scorpio.server.peer import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.messages import Notification, Request, Response
    from scorpio.protocol.meta import RequestMeta
    from scorpio.protocol.revisions import Revision
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server

DISCOVER_TTL_MS = 3_600_000
"""How long a client may keep the answer of server/discover: it changes only with the executable."""

EMPTY_RESULT = b"{}"

CHANNEL = "claude/channel"
"""Source: Claude Code, channels reference: its presence makes the client listen, where its user lets it."""


def initialize(server: Server, request: Request, meta: RequestMeta | None, peer: Peer) -> bytes:
    params = request.params
    requested = params.get("protocolVersion")
    if type(requested) is not str:
        raise ProtocolError(INVALID_PARAMS, "initialize: protocolVersion must be a string")
    capabilities = params.get("capabilities", {})
    if type(capabilities) is not dict:
        raise ProtocolError(INVALID_PARAMS, "initialize: capabilities must be an object")
    info = params.get("clientInfo", {})
    if type(info) is not dict:
        raise ProtocolError(INVALID_PARAMS, "initialize: clientInfo must be an object")
    revision = negotiated(requested)
    if peer.session is None:
        peer.session = Session(revision, capabilities, info)
    else:
        peer.session.agree(revision, capabilities, info)
    result: dict[str, Any] = {
        "protocolVersion": revision.name,
        "capabilities": server_capabilities(server, revision) | _experimental(server),
        "serverInfo": server.info if revision.titles else {k: v for k, v in server.info.items() if k != "title"},
    }
    if server.features.instructions:
        result["instructions"] = server.features.instructions
    return dumps(result).encode()


def server_capabilities(server: Server, revision: Revision) -> dict[str, Any]:
    """What this server can do, in the words of one revision."""
    capabilities: dict[str, Any] = {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "logging": {},
    }
    if revision.completions:
        capabilities["completions"] = {}
    if revision.tasks == TASKS_CORE:
        capabilities["tasks"] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    elif revision.tasks == TASKS_EXTENSION:
        capabilities["extensions"] = {TASKS: {}}
    if revision.extensions and server.features.skills:
        capabilities.setdefault("extensions", {})[SKILLS] = {"directoryRead": True}
    return capabilities


def _experimental(server: Server) -> dict[str, Any]:
    """Legacy era: what is not MCP's own. A client that reads it may take notifications as messages to its model."""
    return {"experimental": {CHANNEL: {}}} if server.settings.callback_channel else {}


def discover(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    result: dict[str, Any] = {
        "supportedVersions": list(NAMES_NEWEST_FIRST),
        "capabilities": server_capabilities(server, meta.revision),
        "ttlMs": DISCOVER_TTL_MS,
        "cacheScope": "private",
    }
    if server.features.instructions:
        result["instructions"] = server.features.instructions
    return server.encode_result(result, meta.revision)


def ping(server: Server, request: Request, meta: RequestMeta | None, peer: Peer) -> bytes:
    return EMPTY_RESULT


def shutdown(server: Server, request: Request, meta: RequestMeta | None, peer: Peer) -> bytes:
    """Answers null; the transport ends once that is written."""
    peer.ended = True
    return b"null"


METHODS = {
    "initialize": Method(initialize, modern=False, before_initialize=True),
    "ping": Method(ping, modern=False, before_initialize=True),
    "shutdown": Method(shutdown, modern=False),
    "server/discover": Method(discover, legacy=False),
}


def notified(server: Server, notification: Notification, peer: Peer) -> None:
    """What a notification changes; unknown ones change nothing and are never answered."""
    action = NOTIFICATIONS.get(notification.method)
    if action is not None:
        action(server, notification.params, peer)


def _initialized(server: Server, params: dict[str, Any], peer: Peer) -> None:
    session = peer.session
    if session is not None and has_capability(session.capabilities, "roots"):
        _ask_roots(server, peer, session)


def _ask_roots(server: Server, peer: Peer, session: Session) -> None:
    session.roots_pending = True

    def answered(response: Response | None) -> None:
        result = response.result if response is not None and response.error is None else None
        roots = result.get("roots") if type(result) is dict else None
        session.set_roots(_file_paths(roots if type(roots) is list else []))
        if len(server.peers) == 1:  # what one client has open is not for the lists of another
            for toolset in server.features.dynamic("roots"):
                server.state(toolset).set_root(next(iter(session.roots), None))

    peer.request("roots/list", b"{}", answered)


def _file_paths(roots: list[Any]) -> list[str]:
    paths = []
    for root in roots:
        uri = root.get("uri") if type(root) is dict else None
        if type(uri) is str and uri.startswith("file://"):
            from urllib.parse import unquote, urlsplit

            try:
                parts = urlsplit(uri)
            except ValueError:  # such as a host in half a pair of brackets
                continue
            path = unquote(parts.path)
            if parts.netloc in ("", "localhost") and "\0" not in path:
                paths.append(path)
    return paths


def _cancelled(server: Server, params: dict[str, Any], peer: Peer) -> None:
    """Whoever takes the call may answer it; here it is taken and nobody does."""
    id_ = params.get("requestId")
    if type(id_) is int or type(id_) is str:
        call = peer.take(id_)
        if call is not None:
            call.cancel()
        peer.listens.pop(id_, None)


def _exit(server: Server, params: dict[str, Any], peer: Peer) -> None:
    peer.ended = True


NOTIFICATIONS = {
    "notifications/initialized": _initialized,
    "notifications/roots/list_changed": _initialized,
    "notifications/cancelled": _cancelled,
    "exit": _exit,
}
