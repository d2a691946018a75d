"""Web servers of a test, on loopback, that say what they were asked; and the `open_site` fixture that makes them.

Raw sockets: a test may answer with anything at all, or with nothing.
"""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    Answer = bytes | Callable[["Request"], None]

CONNECTION_BOUND_S = 60.0
"""No connection of a test lives longer."""

SEEN_EVERY_S = 0.02
"""How soon a server of `socketserver` sees that it is to end: its own half second cost the tests a minute."""


class Request:
    """One request, and the connection to answer it on."""

    def __init__(self, connection: socket.socket, head: bytes, rest: bytes, site: Site) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ", 2)
        self.headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
        }
        self.connection = connection
        self.rest = rest
        """What came with the head."""
        self.site = site

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)


def answer(
    body: bytes | str,
    *,
    status: int = 200,
    kind: str = "text/html; charset=utf-8",
    headers: dict[str, str] | None = None,
) -> bytes:
    """A whole answer."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Some", f"Content-Length: {len(data)}", "Connection: close"]
    if kind:
        lines.append(f"Content-Type: {kind}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + data


def redirect(target: str, status: int = 302) -> bytes:
    return answer("moved", status=status, headers={"Location": target})


class Site:
    """A server with some pages: `site.pages["/"] = answer("<h1>Hello</h1>")`. Unknown paths are 404."""

    def __init__(self, host: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((host, 0))
        self._listener.listen(64)
        self._context = context
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.host = host
        self.port: int = self._listener.getsockname()[1]
        self.pages: dict[str, Answer] = {}
        self.requests: list[Request] = []
        self.connections = 0
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def url(self, target: str = "/", host: str = "") -> str:
        name = host or (f"[{self.host}]" if ":" in self.host else self.host)
        return f"{'https' if self._context else 'http'}://{name}:{self.port}{target}"

    def asked(self) -> list[str]:
        """The targets that were asked for, in order; what a browser asks for by itself is left out."""
        return [request.target for request in self.requests if request.target != "/favicon.ico"]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.add(connection)
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(CONNECTION_BOUND_S)
        served = connection
        try:
            if self._context is not None:
                served = self._context.wrap_socket(connection, server_side=True)
                with self._lock:
                    self._open.add(served)
            head = b""
            while b"\r\n\r\n" not in head:
                chunk = served.recv(65536)
                if not chunk:
                    return
                head += chunk
            head, _, rest = head.partition(b"\r\n\r\n")
            request = Request(served, head, rest, self)
            self.requests.append(request)
            found = self.pages.get(request.target) or self.pages.get(request.target.partition("?")[0])
            if callable(found):
                found(request)
            else:
                served.sendall(found if found is not None else answer("no such page", status=404))
        except OSError:
            pass  # whoever asked has gone
        finally:
            served.close()
            connection.close()

    def close(self) -> None:
        """Idempotent."""
        if self._listener.fileno() < 0:
            return
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._thread.join(CONNECTION_BOUND_S)
        for thread in self._threads:
            thread.join(CONNECTION_BOUND_S)


@pytest.fixture
def open_site() -> Iterator[Callable[..., Site]]:
    """Makes servers: `open_site("::1")`; closed at the end."""
    opened: list[Site] = []

    def open_one(host: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> Site:
        opened.append(Site(host, context))
        return opened[-1]

    yield open_one
    for site in opened:
        site.close()


@pytest.fixture
def site(open_site: Callable[..., Site]) -> Site:
    return open_site()
