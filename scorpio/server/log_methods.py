"""logging/setLevel: how much a legacy session is told. Source: MCP server/utilities/logging."""

from __future__ import annotations

from scorpio.protocol.errors import INVALID_PARAMS, ProtocolError
from scorpio.protocol.meta import LOG_LEVELS
from scorpio.server.lifecycle import EMPTY_RESULT
from scorpio.server.method import Method

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server


def set_level(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    level = request.params.get("level")
    if level not in LOG_LEVELS:
        raise ProtocolError(INVALID_PARAMS, f"level must be one of {', '.join(LOG_LEVELS)}")
    assert peer.session is not None
    peer.session.set_log_level(level)
    return EMPTY_RESULT


METHODS = {"logging/setLevel": Method(set_level, modern=False)}
