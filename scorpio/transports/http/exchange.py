"""One request and its reply: what the client sent, and the two ways to answer, whole or as a stream of events.

Does not judge a request and knows no path.
"""

from __future__ import annotations

from http import HTTPStatus

from scorpio.limits import HTTP_HINTS_QUEUED_BYTES_MAX, HTTP_KEEP_ALIVE_S, HTTP_STREAM_QUEUED_BYTES_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scorpio.transports.http.access import Principal
    from scorpio.transports.http.connection import Connection
    from scorpio.transports.http.mirrored import Mirrored

JSON = b"application/json"
EVENTS = b"text/event-stream"

STATUS_LINES: Mapping[int, bytes] = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
OK_JSON = STATUS_LINES[200] + b"content-type: application/json\r\nx-content-type-options: nosniff\r\ndate: "

EVENTS_HEAD = (
    STATUS_LINES[200] + b"content-type: text/event-stream\r\ncache-control: no-cache, no-transform\r\n"
    b"x-accel-buffering: no\r\nx-content-type-options: nosniff\r\ndate: "
)
"""nginx and its like hold an answer back until it is whole, unless told."""

COMMENT = b": \n\n"
"""Keeps a stream from looking dead; clients skip it (HTML, server-sent events)."""

PATH_BYTES_SHOWN = 100

Refusal = tuple[int, bytes, bytes]
"""Status, body, headers."""


class Head:
    """The request line and headers. One object may serve many requests that begin with the same bytes."""

    __slots__ = (
        "accepts_events",
        "accepts_json",
        "bytes",
        "expects_continue",
        "extra",
        "headers",
        "keep_alive",
        "line",
        "method",
        "mirrored",
        "old",
        "path",
        "principal",
        "query",
        "refusal",
        "repeated",
        "target",
    )

    def __init__(self) -> None:
        self.method = b""
        self.target = b""
        self.path = b""
        self.query = b""
        self.headers: dict[bytes, bytes] = {}
        """By lower-case name, without white space around the value; of a header that comes twice, the first."""
        self.repeated: set[bytes] = set()
        self.bytes = 0
        self.keep_alive = False
        self.old = False
        """HTTP/1.0: knows no chunks."""
        self.expects_continue = False
        self.refusal: Refusal | None = None
        self.principal: Principal | None = None
        self.accepts_json = self.accepts_events = True
        self.extra = b""
        """Headers of every answer to this request."""
        self.mirrored: Mirrored | None = None
        """What the headers say of the body, once it was asked for."""
        self.line = ""
        """Method and path, for people."""

    def add(self, name: bytes, value: bytes) -> None:
        self.bytes += len(name) + len(value) + 4
        if name in self.headers:
            self.repeated.add(name)
            if name == b"accept":  # a list, which may stand in several lines
                self.headers[name] += b"," + value
        else:
            self.headers[name] = value.strip(b" \t")

    def complete(self, method: bytes, target: bytes, *, keep_alive: bool, version: str) -> None:
        self.method = method
        self.target = target
        self.bytes += len(method) + len(target)
        self.path, _, self.query = target.partition(b"?")
        self.line = f"{method.decode('latin-1')} {self.path[:PATH_BYTES_SHOWN].decode('latin-1')}"
        self.keep_alive = keep_alive
        self.old = version != "1.1"
        self.expects_continue = not self.old and self.headers.get(b"expect", b"").lower() == b"100-continue"

    def refuse(self, status: int, said: str, headers: bytes = b"") -> None:
        """The first reason counts."""
        if self.refusal is None:
            from scorpio.protocol.errors import INVALID_REQUEST, ProtocolError
            from scorpio.protocol.messages import encode_error

            self.refusal = (status, encode_error(None, ProtocolError(INVALID_REQUEST, said)), headers)

    @property
    def repeatable(self) -> bool:
        """True when the same bytes may be taken for the same request again without parsing them."""
        return (
            self.method == b"POST"
            and self.keep_alive
            and self.refusal is None
            and not self.repeated
            and not self.expects_continue
            and b"transfer-encoding" not in self.headers
        )


class Exchange:
    """A request, and exactly one reply to it. Methods are called in the event loop."""

    __slots__ = (
        "_connection",
        "_last_s",
        "_streaming",
        "body",
        "done",
        "head",
        "label",
        "on_gone",
        "on_quiet",
        "sent_bytes",
        "started_s",
        "status",
    )

    def __init__(self, connection: Connection, head: Head, body: bytes, started_s: float) -> None:
        self._connection = connection
        self.head = head
        self.body = body
        self.started_s = started_s
        """On the loop's clock."""
        self.label = ""
        """For the access log: the method of the message."""
        self.status = 0
        self.sent_bytes = 0
        self.done = False
        """The reply is whole, or there is nobody left to read it."""
        self._streaming = False
        self._last_s = started_s
        self.on_gone: Callable[[], None] | None = None
        """Called once when the client goes before the reply is whole."""
        self.on_quiet: Callable[[], None] | None = None
        """Called when nothing was sent for HTTP_KEEP_ALIVE_S and the reply has not begun."""

    @property
    def address(self) -> str:
        return self._connection.address

    @property
    def streaming(self) -> bool:
        return self._streaming

    def answer(self, line: bytes) -> None:
        """200 with one JSON message: what nearly every request gets."""
        if self.done or self._streaming:
            return
        head = self.head
        if head.extra or not head.keep_alive:
            self.respond(200, line)
            return
        self.status = 200
        self.sent_bytes = len(line)
        self.done = True
        connection = self._connection
        connection.write(b"%b%b\r\ncontent-length: %d\r\n\r\n%b" % (OK_JSON, connection.hub.date, len(line), line))
        connection.finished(self)

    def respond(self, status: int, body: bytes = b"", kind: bytes = JSON, headers: bytes = b"") -> None:
        """A whole reply. `headers`: further lines, each with CR LF."""
        if self.done or self._streaming:
            return
        self.status = status
        self.sent_bytes = len(body)
        self.done = True
        parts = [
            STATUS_LINES[status],
            b"content-type: %b\r\nx-content-type-options: nosniff\r\n" % kind if body else b"",
            b"date: %b\r\n" % self._connection.hub.date,
            b"" if status == HTTPStatus.NO_CONTENT else b"content-length: %d\r\n" % len(body),
            b"" if self.head.keep_alive else b"connection: close\r\n",
            headers,
            self.head.extra,
            b"\r\n",
            b"" if self.head.method == b"HEAD" else body,
        ]
        self._connection.write(b"".join(parts))
        self._connection.finished(self)

    def open_events(self) -> None:
        """Begin a stream of events; `send` and `end` follow."""
        if self.done or self._streaming:
            return
        self._streaming = True
        self.status = 200
        if self.head.old:
            self.head.keep_alive = False  # the end of the connection is the end of the stream
        coding = b"connection: close\r\n" if self.head.old else b"transfer-encoding: chunked\r\n"
        self._connection.write(EVENTS_HEAD + self._connection.hub.date + b"\r\n" + coding + self.head.extra + b"\r\n")

    def send(self, event: bytes) -> bool:
        """One event, as it is framed; False when the client is gone, or was let go because it does not read."""
        if self.done:
            return False
        if self._connection.queued_bytes() > HTTP_STREAM_QUEUED_BYTES_MAX:
            self._connection.abort()
            self.lost()
            return False
        self._last_s = self._connection.hub.loop.time()
        self.sent_bytes += len(event)
        self._connection.write(event if self.head.old else b"%x\r\n%b\r\n" % (len(event), event))
        return True

    def behind(self) -> bool:
        """True when what may be lost should be: the client does not read what is written already."""
        return self._connection.queued_bytes() > HTTP_HINTS_QUEUED_BYTES_MAX

    def end(self) -> None:
        """The stream is whole."""
        if self.done:
            return
        self.done = True
        if not self.head.old:
            self._connection.write(b"0\r\n\r\n")
        self._connection.finished(self)

    def lost(self) -> None:
        """The client went away before the reply was whole."""
        if self.done:
            return
        self.done = True
        self._connection.hub.finished(self, gone=True)
        on_gone, self.on_gone = self.on_gone, None
        if on_gone is not None:
            on_gone()

    def look(self, now_s: float) -> None:
        """Once a second while the reply is not whole."""
        if now_s - self._last_s < HTTP_KEEP_ALIVE_S:
            return
        self._last_s = now_s
        if self._streaming:
            self.send(COMMENT)
        elif self.on_quiet is not None:
            self.on_quiet()
