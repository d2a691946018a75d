"""One TCP connection: bytes to requests, replies to bytes, HTTP/1.1. Bounds what a client sends and how slowly it may.

Knows no path and no MCP. A server of its own, on the parser that uvicorn uses: with uvicorn and an ASGI application
between, one small call cost 35 us of processor time, without them 15 (a C loop: 5), and the bounds need the
connection anyway.
"""

from __future__ import annotations

import asyncio
import math
import socket
import struct
from collections import deque

import httptools

from scorpio.transports.http.exchange import Exchange, Head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.transports.http.hub import Hub

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

CONTENT_LENGTH = b"content-length"

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a close that is a reset."""


class Connection(asyncio.BufferedProtocol):
    """One client's. Requests are answered in their order, one at a time; all of it runs in the event loop."""

    __slots__ = (
        "_body_bytes",
        "_closing",
        "_completed",
        "_current",
        "_deaf",
        "_in_head",
        "_incoming",
        "_known",
        "_lingering",
        "_parser",
        "_parts",
        "_stalled_s",
        "_taken_bytes",
        "_transport",
        "_url",
        "_waiting",
        "_wire_bytes",
        "address",
        "deadline_s",
        "head",
        "hub",
        "written_bytes",
    )

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self._parser = httptools.HttpRequestParser(self)
        self.address = ""
        self.deadline_s = math.inf
        """When it is closed, or its request refused, unless something comes before; on the loop's clock."""
        self.written_bytes = 0
        self.head: Head | None = None
        """Of the request that is being received."""
        self._known: tuple[bytes, bytes, Head] | None = None
        """The head of the last request, without the digits of its Content-Length, and what it says."""
        self._incoming: Exchange | None = None
        """Its head is whole, its body is not."""
        self._current: Exchange | None = None
        """The one that is being answered."""
        self._waiting: deque[Exchange] = deque()
        self._in_head = False
        self._url = b""
        self._parts: list[bytes] = []
        self._body_bytes = 0
        self._wire_bytes = 0
        """Received of the head, or of the body, that is not whole yet."""
        self._completed = 0
        self._closing = False
        """It is being closed, or what is received is only dropped."""
        self._deaf = False
        """The request that was to be the last one is whole."""
        self._lingering = False
        self._taken_bytes = 0
        self._stalled_s = 0.0

    # -- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        self.deadline_s = self.hub.loop.time() + self.hub.bounds.head_s
        if not self.hub.add(self):
            self._refuse_connection()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.hub.view

    def buffer_updated(self, nbytes: int) -> None:
        if self._closing or self._deaf:
            return
        if self._known is not None and not self._busy():
            exchange = self._as_before(self._known, nbytes)
            if exchange is not None:
                self._current = exchange
                self.hub.site.serve(exchange)
                return
        self._feed(self.hub.view[:nbytes])

    def _busy(self) -> bool:
        """True while any request is on its way in or its reply on its way out."""
        return self._current is not None or self._in_head or self._incoming is not None or bool(self._waiting)

    def eof_received(self) -> None:
        """The client sends no more; asyncio closes once what is written has left."""

    def connection_lost(self, exc: Exception | None) -> None:
        self.hub.remove(self)
        self._closing = True
        self.deadline_s = math.inf
        for exchange in (self._current, self._incoming, *self._waiting):
            if exchange is not None:
                exchange.lost()
        self._current = self._incoming = None
        self._waiting.clear()

    # -- receiving

    def _as_before(self, known: tuple[bytes, bytes, Head], nbytes: int) -> Exchange | None:
        """A whole request whose head is byte for byte the last one, its length aside: it says the same."""
        before, after, head = known
        buffer = self.hub.buffer
        if not buffer.startswith(before):
            return None
        digits_at = len(before)
        digits_end = buffer.find(b"\r", digits_at, digits_at + 8)
        if digits_end < 0 or not buffer.startswith(after, digits_end):
            return None
        body_at = digits_end + len(after)
        digits = bytes(buffer[digits_at:digits_end])
        if not digits.isdigit() or body_at + int(digits) != nbytes or nbytes - body_at > self.hub.bounds.body_bytes:
            return None
        return Exchange(self, head, bytes(self.hub.view[body_at:nbytes]), self.hub.loop.time())

    def _feed(self, data: memoryview) -> None:
        completed = self._completed
        begun_before = self._in_head or self._incoming is not None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._without_upgrade(data[upgrade.args[0] :])
            return
        except httptools.HttpParserError:
            if not self._deaf:
                self._refuse(400, "The request is not HTTP/1.1")
            return
        if self._closing:
            return
        if self._incoming is not None or self._in_head or self._completed == completed:
            self._bound_unfinished(len(data) if self._completed == completed else 0)
        elif self._completed == completed + 1 and not begun_before:
            self._remember(data)

    def _bound_unfinished(self, nbytes: int) -> None:
        """What is received is not whole yet: not too much of it, and not too slowly.

        `nbytes` are new, of one request only; 0 where the end of another one came with them.
        """
        bounds = self.hub.bounds
        if self._wire_bytes == 0 and self._incoming is None and self._current is None:
            self.deadline_s = self.hub.loop.time() + bounds.head_s
        self._wire_bytes += nbytes
        if self._incoming is None and self._wire_bytes > bounds.head_bytes:
            self._refuse(431, f"The headers are longer than {bounds.head_bytes} bytes")
        elif self._wire_bytes > 2 * bounds.body_bytes + bounds.head_bytes:  # chunks may double a body, not more
            self._refuse(413, f"The body is longer than {bounds.body_bytes} bytes")

    def _remember(self, data: memoryview) -> None:
        """The head of a request that came whole and alone: clients send the same one again and again."""
        head = self.head
        if head is None or not head.repeatable:
            return
        raw = bytes(data[: len(data) - self._body_bytes])
        at = raw.lower().find(b"\r\n" + CONTENT_LENGTH + b":")
        digits = head.headers.get(CONTENT_LENGTH, b"")
        if at < 0 or not raw.endswith(b"\r\n\r\n") or len(digits) > 7 or not digits.isdigit():
            return
        digits_at = raw.find(digits, at + len(CONTENT_LENGTH) + 3)
        digits_end = digits_at + len(digits)
        if int(digits) == self._body_bytes and raw.startswith(b"\r\n", digits_end):
            self._known = (raw[:digits_at], raw[digits_end:], head)

    def _without_upgrade(self, rest: memoryview) -> None:
        """Nothing is upgraded to, as HTTP allows; the parser stops at such a request, so a new one goes on."""
        self._parser = httptools.HttpRequestParser(self)
        if len(rest):
            self._feed(rest)

    # -- the parser's callbacks

    def on_message_begin(self) -> None:
        self._in_head = True
        self._url = b""
        self._parts = []
        self._body_bytes = 0
        self.head = Head()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head and self.head is not None:  # else a trailer: nothing reads those
            self.head.add(name.lower(), value)

    def on_headers_complete(self) -> None:
        head = self.head
        assert head is not None
        parser = self._parser
        head.complete(
            parser.get_method(), self._url, keep_alive=parser.should_keep_alive(), version=parser.get_http_version()
        )
        self._in_head = False
        self._wire_bytes = 0
        now_s = self.hub.loop.time()
        exchange = self._incoming = Exchange(self, head, b"", now_s)
        if self._closing:
            return
        if head.bytes > self.hub.bounds.head_bytes:
            head.refuse(431, f"The headers are longer than {self.hub.bounds.head_bytes} bytes")
        else:
            self.hub.site.admit(head)
        if self._current is not None:  # its turn comes
            return
        if head.refusal is not None:
            self._answer_refusal(exchange)
            return
        self.deadline_s = now_s + self.hub.bounds.body_s
        if head.expects_continue:
            self._transport.write(CONTINUE)

    def on_body(self, body: bytes) -> None:
        if self._incoming is None or self._closing:
            return
        self._body_bytes += len(body)
        if self._body_bytes > self.hub.bounds.body_bytes:
            self._parts.clear()
            self._refuse(413, f"The body is longer than {self.hub.bounds.body_bytes} bytes")
            return
        self._parts.append(body)

    def on_message_complete(self) -> None:
        exchange = self._incoming
        self._incoming = None
        self._wire_bytes = 0
        self._completed += 1
        if exchange is None or self._closing:
            return
        self._deaf = not exchange.head.keep_alive  # what follows the last request is for nobody
        exchange.body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts = []
        if self._current is not None:
            self._waiting.append(exchange)
            if len(self._waiting) >= self.hub.bounds.pipelined:
                self._transport.pause_reading()
            return
        self._serve(exchange)

    def _serve(self, exchange: Exchange) -> None:
        self._current = exchange
        self.deadline_s = math.inf
        if exchange.head.refusal is not None:
            self._answer_refusal(exchange)
        else:
            self.hub.site.serve(exchange)

    # -- replying

    def write(self, data: bytes) -> None:
        self.written_bytes += len(data)
        self._transport.write(data)

    def queued_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    def finished(self, exchange: Exchange) -> None:
        """The reply to the current request is written."""
        self.hub.finished(exchange)
        if self._current is not exchange:
            return
        self._current = None
        bounds = self.hub.bounds
        if self._lingering:
            self._linger()
        elif not exchange.head.keep_alive or self.hub.stopping:
            self.close()
        elif self._waiting:
            self.hub.loop.call_soon(self._next)
        elif self._incoming is not None:
            self.deadline_s = self.hub.loop.time() + bounds.body_s
        elif self._in_head:
            self.deadline_s = self.hub.loop.time() + bounds.head_s
        else:
            self.deadline_s = exchange.started_s + bounds.idle_s

    def _next(self) -> None:
        if self._current is None and self._waiting and not self._closing:
            self._transport.resume_reading()
            self._serve(self._waiting.popleft())

    def stop(self) -> None:
        """Close it, once the request that came is answered."""
        if self._current is None and self._incoming is None and not self._waiting:
            self.close()

    def close(self) -> None:
        """Once what is written has left."""
        self._closing = True
        self._transport.close()

    def abort(self) -> None:
        """At once, and without what the client has not taken yet: the system would keep that for it."""
        self._closing = True
        own = self._transport.get_extra_info("socket")
        if own is not None:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._transport.abort()

    # -- refusing

    def _refuse(self, status: int, said: str) -> None:
        """What is being received can not be read on: say why, and read nothing more."""
        if self._closing:
            return
        if self._current is not None:  # a reply is on its way: there is no place for another one before it
            self.abort()
            return
        exchange = self._incoming or Exchange(
            self, self.head if self._in_head and self.head else Head(), b"", self.hub.loop.time()
        )
        exchange.head.refuse(status, said)
        self._answer_refusal(exchange)

    def _answer_refusal(self, exchange: Exchange) -> None:
        """And linger: what the client still sends is dropped, else its system might drop the answer."""
        assert exchange.head.refusal is not None
        status, body, headers = exchange.head.refusal
        exchange.head.keep_alive = False
        self._closing = self._lingering = True
        self._incoming = None
        self._current = exchange
        exchange.respond(status, body, headers=headers)

    def _linger(self) -> None:
        self.deadline_s = self.hub.loop.time() + self.hub.bounds.linger_s
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()

    def _refuse_connection(self) -> None:
        """Without lingering: it is one too many."""
        head = Head()
        head.refuse(503, "Too many connections are open")
        self._answer_refusal(Exchange(self, head, b"", self.hub.loop.time()))
        self.close()

    # -- once a second

    def look(self, now_s: float) -> None:
        """Whoever is too slow is refused or let go."""
        if self._current is not None:
            self._current.look(now_s)
        queued = self._transport.get_write_buffer_size()
        taken = self.written_bytes - queued
        if not queued or taken != self._taken_bytes:
            self._taken_bytes, self._stalled_s = taken, now_s
        elif now_s - self._stalled_s >= self.hub.bounds.stall_s:
            self.abort()
            return
        if now_s >= self.deadline_s:
            self.deadline_s = math.inf
            if self._incoming is not None and not self._closing:
                self._refuse(408, f"The body did not arrive within {self.hub.bounds.body_s:.0f} s")
            elif self._lingering:
                self.abort()
            else:
                self.close()
