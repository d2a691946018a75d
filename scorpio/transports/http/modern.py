"""Streamable HTTP of 2026-07-28: every POST stands for itself; to go away is to cancel.

Source: MCP 2026-07-28, basic/transports/streamable-http.
"""

from __future__ import annotations

from scorpio.protocol.errors import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    ProtocolError,
)
from scorpio.protocol.messages import encode_error
from scorpio.server.peer import Peer, nowhere
from scorpio.server.subscriptions import end_listens
from scorpio.transports.http import mirrored
from scorpio.transports.http.messages import error_code, event_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from scorpio.protocol.messages import Request
    from scorpio.server.server import Server
    from scorpio.transports.http.access import Principal
    from scorpio.transports.http.exchange import Exchange
    from scorpio.transports.http.hub import Hub

STATUS_OF: Mapping[int, int] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
"""What the specification gives a status of its own; any other error is a JSON-RPC answer like another, with 200."""

LISTEN = "subscriptions/listen"


class Modern:
    """All modern requests of one server."""

    def __init__(self, server: Server, hub: Hub) -> None:
        self._server = server
        self._hub = hub
        self._params = mirrored.ParamHeaders(server.features)
        self._clients: dict[str, Peer] = {}
        """Of each principal, what outlives a request: when its last call ended."""
        self._waiting: set[ModernCall] = set()

    @property
    def waiting(self) -> int:
        """Requests without their answer, streams included."""
        return len(self._waiting)

    def serve(self, exchange: Exchange, request: Request, *, bare: bool = False) -> None:
        """`bare`: a method of a toolset, which needs no session and has no `_meta`."""
        principal = exchange.head.principal
        assert principal is not None
        call = ModernCall(self._server, self._hub, self._waiting, exchange, request)
        call.peer = self._client_of(principal).for_request(call.write, call.offer, shared=False)
        try:
            if not bare:
                self._judge(exchange, request)
            line = self._server.answer(request, call.peer)
        except ProtocolError as fault:
            call.answered(encode_error(request.id, fault))
            return
        if line is None:
            call.wait()
        elif exchange.streaming or not exchange.head.accepts_json:
            call.answered(line)
        else:
            exchange.answer(line)
            call.forget()

    def _judge(self, exchange: Exchange, request: Request) -> None:
        mirrored.judge(exchange.head, request)
        if request.method == "tools/call":
            self._params.judge(exchange.head, request.params)
        elif request.method == LISTEN and not exchange.head.accepts_events:
            raise ProtocolError(INVALID_REQUEST, f"{LISTEN} is answered with events: Accept must allow them")

    def stop_streams(self) -> None:
        """Streams that listen get their result. Calls in progress are left alone."""
        for call in tuple(self._waiting):
            call.stop_listening()

    def end(self) -> None:
        for call in tuple(self._waiting):
            call.end()

    def _client_of(self, principal: Principal) -> Peer:
        client = self._clients.get(principal.name)
        if client is None:
            client = self._clients[principal.name] = Peer(nowhere, principal.name)
        return client


class ModernCall:
    """One request, from its arrival to the last line of its answer."""

    __slots__ = ("_exchange", "_hub", "_request", "_server", "_waiting", "peer")

    def __init__(
        self, server: Server, hub: Hub, waiting: set[ModernCall], exchange: Exchange, request: Request
    ) -> None:
        self._server = server
        self._hub = hub
        self._waiting = waiting
        self._exchange = exchange
        self._request = request
        self.peer: Peer
        request.answer = self._answer_late

    def write(self, line: bytes) -> None:
        """A line before the answer, from any thread."""
        self._hub.in_loop(self._write, line)

    def offer(self, line: bytes) -> None:
        """As `write`, for what may be lost."""
        self._hub.in_loop(self._offer, line)

    def wait(self) -> None:
        """The answer comes later: meanwhile the client may go, and others may have something to tell it."""
        exchange = self._exchange
        if exchange.done:
            self._server.close_peer(self.peer)
            return
        exchange.on_gone = self._gone
        if exchange.head.accepts_events:
            exchange.on_quiet = exchange.open_events
        self._waiting.add(self)
        self._server.open_peer(self.peer)

    def forget(self) -> None:
        """Nothing leaves this way any more. Call and peer hold each other: it spares the collector every small call."""
        self.peer.write = self.peer.offer = nowhere

    def answered(self, line: bytes) -> None:
        """The last line, in the event loop."""
        exchange = self._exchange
        exchange.on_gone = None
        code = error_code(line, self._request.id)
        if not exchange.streaming and not code and not exchange.head.accepts_json:
            exchange.open_events()
        if exchange.streaming:
            exchange.send(event_of(line))
            exchange.end()
        else:
            exchange.respond(STATUS_OF.get(code, 200), line)
        self._over()

    def stop_listening(self) -> None:
        if self.peer.listens:
            end_listens(self._server, self.peer)
            self._exchange.on_gone = None
            self._exchange.end()
            self._over()

    def end(self) -> None:
        """The call is cancelled, and whoever waits is told why."""
        self._gone()
        exchange = self._exchange
        exchange.on_gone = None
        ending = encode_error(self._request.id, ProtocolError(INTERNAL_ERROR, "The server ends"))
        if exchange.streaming:
            exchange.send(event_of(ending))
            exchange.end()
        else:
            exchange.respond(503, ending)

    def _answer_late(self, line: bytes | None) -> None:
        if line is not None:  # else it was cancelled, which here means that nobody is left
            self._hub.in_loop(self.answered, line)

    def _write(self, line: bytes) -> None:
        exchange = self._exchange
        if not exchange.done and exchange.head.accepts_events:
            exchange.open_events()
            exchange.send(event_of(line))

    def _offer(self, line: bytes) -> None:
        if not self._exchange.behind():
            self._write(line)

    def _gone(self) -> None:
        """To close the stream is to cancel. Source: "Cancellation"."""
        self._over()
        self._server.close_peer(self.peer)

    def _over(self) -> None:
        self._waiting.discard(self)
        self._server.peers.discard(self.peer)
