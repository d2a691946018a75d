"""HTTP+SSE of 2024-11-05: everything the server says travels on one stream, everything the client says is a POST.

The stream is the session: when it ends, its calls are cancelled.
Source: MCP 2024-11-05, basic/transports, "HTTP with SSE".
"""

from __future__ import annotations

import secrets
from urllib.parse import parse_qs

from scorpio.limits import HTTP_SESSIONS_MAX
from scorpio.protocol.errors import INTERNAL_ERROR, ProtocolError
from scorpio.protocol.messages import encode_error
from scorpio.server.peer import Peer
from scorpio.transports.http.legacy import refuse
from scorpio.transports.http.messages import event_of
from scorpio.transports.http.sessions import ID_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.server.server import Server
    from scorpio.transports.http.access import Principal
    from scorpio.transports.http.exchange import Exchange
    from scorpio.transports.http.hub import Hub
    from scorpio.transports.http.legacy import Message

ENDPOINT = b"event: endpoint\ndata: /messages?sessionId=%b\n\n"


class SseClient:
    """One stream, and the peer at its other end."""

    __slots__ = ("_exchange", "_hub", "peer", "principal")

    def __init__(self, hub: Hub, exchange: Exchange, principal: Principal) -> None:
        self._hub = hub
        self._exchange = exchange
        self.principal = principal
        self.peer = Peer(self.write, f"http-sse:{secrets.token_hex(8)}", self._offer)

    def write(self, line: bytes) -> None:
        """From any thread."""
        self._hub.in_loop(self._write, line)

    def end(self) -> None:
        self._exchange.on_gone = None
        self._exchange.end()

    def _offer(self, line: bytes) -> None:
        self._hub.in_loop(self._offered, line)

    def _write(self, line: bytes) -> None:
        if line:
            self._exchange.send(event_of(line))

    def _offered(self, line: bytes) -> None:
        if not self._exchange.done and not self._exchange.behind():
            self._write(line)


class Sse:
    """All of one server's."""

    def __init__(self, server: Server, hub: Hub) -> None:
        self._server = server
        self._hub = hub
        self._clients: dict[bytes, SseClient] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def stream(self, exchange: Exchange) -> None:
        """GET /sse: where to post, then messages for as long as the client stays."""
        principal = exchange.head.principal
        assert principal is not None
        if len(self._clients) >= HTTP_SESSIONS_MAX:
            refuse(exchange, 503, "Too many sessions are open", INTERNAL_ERROR, b"retry-after: 60\r\n")
            return
        id_ = secrets.token_urlsafe(ID_BYTES).encode()
        client = self._clients[id_] = SseClient(self._hub, exchange, principal)
        exchange.label = "stream"
        exchange.on_gone = lambda: self._end(id_)
        exchange.open_events()
        exchange.send(ENDPOINT % id_)
        self._server.open_peer(client.peer)

    def post(self, exchange: Exchange) -> None:
        """POST /messages?sessionId=…: taken with 202, answered on the stream."""
        head = exchange.head
        ids = parse_qs(head.query).get(b"sessionId", [])
        client = self._clients.get(ids[0]) if len(ids) == 1 else None
        if client is None or client.principal is not head.principal:
            refuse(exchange, 404, "No such session: its stream has ended, or never was. Open /sse again")
            return
        try:
            message = self._server.message(exchange.body)
        except ProtocolError as fault:
            line = encode_error(fault.request_id, fault)
            if fault.request_id is None:  # nobody waits for it on the stream
                exchange.respond(400, line)
                return
            client.write(line)
            exchange.respond(202)
            return
        exchange.respond(202)
        self._receive(client, ids[0], message)

    def end(self) -> None:
        for id_ in tuple(self._clients):
            self._end(id_)

    def _receive(self, client: SseClient, id_: bytes, message: Message) -> None:
        if isinstance(message, list):
            try:
                line = self._server.receive_batch(message, client.peer)
            except ProtocolError as fault:
                line = encode_error(fault.request_id, fault)
        else:
            line = self._server.receive_message(message, client.peer)
        if line is not None:
            client.write(line)
        if client.peer.ended:
            self._end(id_)

    def _end(self, id_: bytes) -> None:
        client = self._clients.pop(id_, None)
        if client is not None:
            self._server.close_peer(client.peer)
            self._server.forget(client.peer.owner)
            client.end()
