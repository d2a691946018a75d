"""What is served where: paths, methods, and what a request must look like to get there.

Answers nothing itself but what is not MCP: health, metrics, pages.
"""

from __future__ import annotations

from scorpio.protocol.errors import ProtocolError
from scorpio.protocol.messages import Notification, Request, Response, encode_error
from scorpio.protocol.meta import PROTOCOL_VERSION
from scorpio.protocol.revisions import LEGACY_NAMES
from scorpio.server.batch import NO_BATCHES
from scorpio.transports.http.exchange import EVENTS, JSON
from scorpio.transports.http.legacy import SESSION_ID, Legacy, refuse
from scorpio.transports.http.mirrored import VERSION
from scorpio.transports.http.modern import Modern
from scorpio.transports.http.sse import Sse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from scorpio.server.server import Server
    from scorpio.transports.http.access import Access
    from scorpio.transports.http.exchange import Exchange, Head
    from scorpio.transports.http.hub import Hub

    Handler = Callable[[Exchange], None]

LEGACY_VERSIONS = frozenset(name.encode() for name in LEGACY_NAMES)

GET, HEAD, POST, DELETE, OPTIONS = b"GET", b"HEAD", b"POST", b"DELETE", b"OPTIONS"


class Page:
    """A file that is served as it is, to everybody who may speak to this server at all."""

    __slots__ = ("body", "headers", "kind")

    def __init__(self, body: bytes, kind: bytes, headers: bytes = b"") -> None:
        self.body = body
        self.kind = kind
        self.headers = headers
        """Further lines, each with CR LF: its Content-Security-Policy."""


class Route:
    """One path. `posts`: takes JSON. `streams`: its GET is a stream of events. `public`: asks for no token."""

    __slots__ = ("handlers", "posts", "public", "streams")

    def __init__(
        self, handlers: Mapping[bytes, Handler], *, posts: bool = False, streams: bool = False, public: bool = False
    ) -> None:
        self.handlers = handlers
        self.posts = posts
        self.streams = streams
        self.public = public


class Site:
    """One server's."""

    def __init__(self, server: Server, access: Access, *, metrics: bool = False) -> None:
        self._server = server
        self.access = access
        self._tells_metrics = metrics
        self._routes: dict[bytes, Route] = {}

    def connect(self, hub: Hub, pages: Mapping[bytes, Page]) -> None:
        """`pages`: by path."""
        self._hub = hub
        self.legacy = Legacy(self._server, hub)
        self.modern = Modern(self._server, hub)
        self.sse = Sse(self._server, hub)
        mcp = {POST: self._post, GET: self.legacy.get, DELETE: self.legacy.delete}
        self._routes = {
            b"/mcp": Route(mcp, posts=True, streams=True),
            b"/sse": Route({GET: self.sse.stream}, streams=True),
            b"/messages": Route({POST: self.sse.post}, posts=True),
            b"/message": Route({POST: self.sse.post}, posts=True),
            b"/healthz": Route({GET: _healthy, HEAD: _healthy}, public=True),
        }
        if self._tells_metrics:
            self._routes[b"/metrics"] = Route({GET: self._metrics})
        for path, page in pages.items():
            show = _shows(page)
            self._routes[path] = Route({GET: show, HEAD: show}, public=True)

    def admit(self, head: Head) -> None:
        """Refuse what can be refused before the body is read."""
        route = self._routes.get(head.path)
        self.access.admit(head, open_to_all=route is not None and route.public)
        if head.refusal is not None:
            return
        if route is None:
            head.refuse(404, "There is nothing at this path")
            return
        method = head.method
        if method == OPTIONS and head.extra:  # a browser asks for an Origin that may come
            return
        if method not in route.handlers or (method != POST and _names_modern(head)):
            allowed = b", ".join(route.handlers) if method not in route.handlers else POST
            head.refuse(405, "This method is not for this path", b"allow: %b\r\n" % allowed)
        elif method == POST:
            _judge_post(head, self._hub.bounds.body_bytes)
        elif route.streams and not _judge_accept(head)[1]:
            head.refuse(406, "This path gives text/event-stream: Accept must allow it")

    def serve(self, exchange: Exchange) -> None:
        handler = self._routes[exchange.head.path].handlers.get(exchange.head.method)
        if handler is None:
            exchange.respond(204)
        else:
            handler(exchange)

    def look(self, now_s: float) -> bool:
        self.legacy.sessions.look(now_s)
        return len(self.legacy.sessions) > 0

    def stop_streams(self) -> None:
        """Streams that only listen end; what is being answered goes on."""
        self.modern.stop_streams()
        self.legacy.stop_streams()

    def end(self) -> None:
        """Whoever still waits is told that the server ends."""
        self.modern.end()
        self.sse.end()
        self.legacy.end()

    # -- /mcp

    def _post(self, exchange: Exchange) -> None:
        try:
            message = self._server.message(exchange.body)
        except ProtocolError as fault:
            exchange.respond(400, encode_error(fault.request_id, fault))
            return
        version = exchange.head.headers.get(VERSION)
        modern = version is not None and version not in LEGACY_VERSIONS
        if not isinstance(message, list | Response):
            exchange.label = message.method
        if isinstance(message, Request):
            meta = message.params.get("_meta")
            if modern or (type(meta) is dict and PROTOCOL_VERSION in meta):
                self.modern.serve(exchange, message)
                return
            if message.method in self._server.features.methods and SESSION_ID not in exchange.head.headers:
                self.modern.serve(exchange, message, bare=True)
                return
        elif modern:
            _take_modern(exchange, message)
            return
        self.legacy.post(exchange, message)

    # -- what is not MCP

    def _metrics(self, exchange: Exchange) -> None:
        sessions = self.legacy.sessions
        running = {id(call) for peer in tuple(self._server.peers) for call in tuple(peer.running.values())}
        gauges = {
            "scorpio_http_connections": ("Connections that are open.", len(self._hub.connections)),
            "scorpio_http_sessions": ("Legacy sessions.", len(sessions)),
            "scorpio_http_sse_clients": ("Clients of HTTP+SSE.", len(self.sse)),
            "scorpio_http_modern_waiting": ("Modern requests without their answer.", self.modern.waiting),
            "scorpio_http_events_kept_bytes": ("Events kept for clients that come back.", sessions.store.bytes),
            "scorpio_calls_running": ("Slow calls in progress.", len(running)),
        }
        text = self._hub.metrics.text(gauges)
        exchange.respond(200, text, b"text/plain; version=0.0.4; charset=utf-8")


def _take_modern(exchange: Exchange, message: Notification | Response | list[Any]) -> None:
    """No modern client has a notification for a server over HTTP; one that is sent is taken and means nothing."""
    if isinstance(message, Notification):
        exchange.respond(202)
        return
    refuse(exchange, 400, NO_BATCHES if type(message) is list else "The body must be one request or notification")


def _names_modern(head: Head) -> bool:
    version = head.headers.get(VERSION)
    return version is not None and version not in LEGACY_VERSIONS and head.path == b"/mcp"


def _judge_post(head: Head, body_bytes_max: int) -> None:
    headers = head.headers
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    length = headers.get(b"content-length", b"0")
    if kind != JSON or b"content-type" in head.repeated:
        head.refuse(415, "The body must be application/json")
    elif headers.get(b"content-encoding", b"identity").lower() != b"identity":
        head.refuse(415, "The body must not be compressed")
    elif head.path == b"/mcp" and not any(_judge_accept(head)):
        head.refuse(406, "Accept must allow application/json or text/event-stream")
    elif len(length) > 18 or not length.isdigit() or int(length) > body_bytes_max:
        head.refuse(413, f"The body is longer than {body_bytes_max} bytes")


def _judge_accept(head: Head) -> tuple[bool, bool]:
    """What the client takes: JSON, events. No Accept header means anything (RFC 9110, section 12.5.1)."""
    value = head.headers.get(b"accept")
    if value:
        taken = [part.partition(b";") for part in value.lower().replace(b" ", b"").split(b",")]
        kinds = {kind for kind, _, rest in taken if not rest.startswith(b"q=0") or rest.strip(b"q=0.")}
        head.accepts_json = bool(kinds & {JSON, b"application/*", b"*/*"})
        head.accepts_events = bool(kinds & {EVENTS, b"text/*", b"*/*"})
    return head.accepts_json, head.accepts_events


def _healthy(exchange: Exchange) -> None:
    exchange.respond(200, b"ok\n", b"text/plain")


def _shows(page: Page) -> Handler:
    return lambda exchange: exchange.respond(200, page.body, page.kind, page.headers)
