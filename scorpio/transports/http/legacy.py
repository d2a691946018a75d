"""Streamable HTTP of 2025-03-26 to 2025-11-25: sessions, a stream to listen on, streams to come back to.

To go away is not to cancel here: a call goes on, and its stream can be resumed.
Source: MCP 2025-11-25, basic/transports, "Streamable HTTP".
"""

from __future__ import annotations

from scorpio.limits import HTTP_PRIME_AFTER_MS
from scorpio.protocol.errors import INTERNAL_ERROR, INVALID_REQUEST, NOT_INITIALIZED, PARSE_ERROR, ProtocolError
from scorpio.protocol.messages import Request, encode_error
from scorpio.server.peer import nowhere
from scorpio.transports.http.messages import event_id
from scorpio.transports.http.sessions import Sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping
    from typing import Any

    from scorpio.protocol.messages import Notification, Response
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.transports.http.exchange import Exchange
    from scorpio.transports.http.hub import Hub
    from scorpio.transports.http.sessions import HttpSession
    from scorpio.transports.http.streams import Stream

    Message = Request | Notification | Response | list[Any]

SESSION_ID = b"mcp-session-id"
LAST_EVENT_ID = b"last-event-id"

STATUS_OF: Mapping[int, int] = {PARSE_ERROR: 400, INVALID_REQUEST: 400}
"""Of an answer that is an error; any other is a JSON-RPC answer like another, with 200."""


class Legacy:
    """All sessions of one server, and what is done in them."""

    def __init__(self, server: Server, hub: Hub) -> None:
        self._server = server
        self._hub = hub
        self.sessions = Sessions(server, hub)

    def post(self, exchange: Exchange, message: Message) -> None:
        if SESSION_ID not in exchange.head.headers and type(message) is Request and message.method == "initialize":
            self._initialize(exchange, message)
            return
        session = self._session(exchange, message)
        if session is None:
            return
        if isinstance(message, Request):
            self._call(session, exchange, message)
        elif isinstance(message, list):
            self._batch(session, exchange, message)
        else:
            self._server.receive_message(message, session.peer)
            exchange.respond(202)
        if session.peer.ended:
            self.sessions.end(session)

    def get(self, exchange: Exchange) -> None:
        """The stream to listen on, or one to come back to."""
        session = self._session(exchange)
        if session is None:
            return
        stream, after = session.general, None
        last = exchange.head.headers.get(LAST_EVENT_ID)
        if last:
            named = event_id(last)
            found = session.streams.find(named[0]) if named is not None else None
            if named is None or found is None or named[1] > found.last:
                refuse(exchange, 400, "That event is not known any more. Open a stream without Last-Event-ID")
                return
            stream, after = found, named[1]
        assert session.peer.session is not None
        exchange.label = "stream" if last is None else "resume"
        stream.carry(exchange, after=after, primes=session.peer.session.revision.primes)

    def delete(self, exchange: Exchange) -> None:
        session = self._session(exchange)
        if session is not None:
            self.sessions.end(session)
            exchange.respond(204)

    def stop_streams(self) -> None:
        self.sessions.let_go()

    def end(self) -> None:
        self.sessions.end_all()

    def _session(self, exchange: Exchange, message: Message | None = None) -> HttpSession | None:
        """The session that the request names; None when it is refused."""
        head = exchange.head
        id_ = head.headers.get(SESSION_ID)
        assert head.principal is not None
        if id_ is None or SESSION_ID in head.repeated:
            _refuse_without_session(exchange, message)
            return None
        session = self.sessions.find(id_, head.principal)
        if session is None:
            refuse(exchange, 404, "No such session: it has ended, or never was. Send initialize without Mcp-Session-Id")
        return session

    def _initialize(self, exchange: Exchange, request: Request) -> None:
        principal = exchange.head.principal
        assert principal is not None
        session = self.sessions.new(principal)
        if session is None:
            refuse(exchange, 503, "Too many sessions are open", INTERNAL_ERROR, b"retry-after: 60\r\n")
            return
        line = self._server.receive_message(request, session.peer)
        if session.peer.session is None or line is None:
            session.streams.close()
            exchange.respond(200, line or b"")
            return
        self.sessions.keep(session)
        exchange.respond(200, line, headers=b"mcp-session-id: %b\r\n" % session.id)

    def _call(self, session: HttpSession, exchange: Exchange, request: Request) -> None:
        call = LegacyCall(self._hub, session, exchange)
        request.answer = call.answer_late
        try:
            line = self._server.answer(request, call.peer)
        except ProtocolError as fault:
            call.answered(encode_error(request.id, fault), STATUS_OF.get(fault.code, 200))
            return
        if line is None:
            call.wait()
            return
        if exchange.streaming or not exchange.head.accepts_json:
            call.answered(line, 200)
        else:
            exchange.answer(line)
        call.forget()
        if call.peer.ended:
            session.peer.ended = True

    def _batch(self, session: HttpSession, exchange: Exchange, values: list[Any]) -> None:
        """2025-03-26. Its answers come together, when the last one is there."""
        call = LegacyCall(self._hub, session, exchange)
        try:
            line = self._server.receive_batch(values, call.peer, exchange.body)
        except ProtocolError as fault:
            call.answered(encode_error(fault.request_id, fault), 400)
            return
        if line is not None:
            call.answered(line, 200)
        elif any(type(value) is dict and "method" in value and "id" in value for value in values):
            call.wait()
        else:
            exchange.respond(202)


class LegacyCall:
    """One POST that asks for an answer: answered in one piece, or as a stream once something must be sent before."""

    __slots__ = ("_exchange", "_hub", "_session", "_stream", "_timer", "peer")

    def __init__(self, hub: Hub, session: HttpSession, exchange: Exchange) -> None:
        self._hub = hub
        self._session = session
        self._exchange = exchange
        self._stream: Stream | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.peer: Peer = session.peer.for_request(self._write, self._offer, shared=True)
        self.peer.let_go = self._let_go

    def wait(self) -> None:
        """The answer comes later. Where a client can come back, it is given the means to before it must wait long."""
        exchange = self._exchange
        if exchange.done:
            return
        if not exchange.head.accepts_events or self._stream is not None:
            return
        exchange.on_quiet = self._open
        if self._primes:
            self._timer = self._hub.loop.call_later(HTTP_PRIME_AFTER_MS / 1000, self._open)

    def forget(self) -> None:
        """Nothing leaves this way any more. Call and peer hold each other: it spares the collector every small call."""
        self.peer.write = self.peer.offer = nowhere
        self.peer.let_go = None

    def answer_late(self, line: bytes | None) -> None:
        """From the slow lane; None: it was cancelled."""
        self._hub.in_loop(self._answered_late, line or b"")

    def answered(self, line: bytes, status: int) -> None:
        """The last line. Empty: there is none."""
        if self._timer is not None:
            self._timer.cancel()
        if self._stream is None and line and not self._exchange.head.accepts_json:
            self._open()
        if self._stream is not None:
            if line:
                self._stream.send(line)
            self._stream.end()
        elif line:
            self._exchange.respond(status, line)
        elif self._hub.stopping:
            refuse(self._exchange, 503, "The server ends", INTERNAL_ERROR)
        else:
            self._exchange.respond(202)

    @property
    def _primes(self) -> bool:
        session = self._session.peer.session
        return session is not None and session.revision.primes

    def _answered_late(self, line: bytes) -> None:
        self.answered(line, 200)

    def _write(self, line: bytes) -> None:
        """A line before the answer, or the answers of a batch; from any thread."""
        self._hub.in_loop(self._written, line)

    def _offer(self, line: bytes) -> None:
        self._hub.in_loop(self._offered, line)

    def _written(self, line: bytes) -> None:
        if not line or line.startswith(b"["):
            self._answered_late(line)
            return
        self._open()
        self._way().send(line)

    def _offered(self, line: bytes) -> None:
        self._open()
        self._way().offer(line)

    def _way(self) -> Stream:
        """What comes after the end of the call, such as a question that is withdrawn, is for the client at large."""
        stream = self._stream
        return self._session.general if stream is None or stream.ended else stream

    def _open(self) -> None:
        """Make the reply a stream, if it is still to be had."""
        if self._stream is None and not self._exchange.done and self._exchange.head.accepts_events:
            self._stream = self._session.streams.new()
            self._stream.carry(self._exchange, after=None, primes=self._primes)

    def _let_go(self) -> None:
        """Only where the client was told how to come back."""
        if self._primes:
            self._hub.in_loop(self._close_connection, b"")

    def _close_connection(self, line: bytes) -> None:
        self._open()
        if self._stream is not None:
            self._stream.let_go()


def _refuse_without_session(exchange: Exchange, message: Message | None) -> None:
    if isinstance(message, Request):  # as on stdio
        exchange.respond(400, encode_error(message.id, ProtocolError(NOT_INITIALIZED, "Server not initialized")))
    else:
        refuse(exchange, 400, "An Mcp-Session-Id header is needed. Send initialize without one to get it")


def refuse(exchange: Exchange, status: int, said: str, code: int = INVALID_REQUEST, headers: bytes = b"") -> None:
    exchange.respond(status, encode_error(None, ProtocolError(code, said)), headers=headers)
