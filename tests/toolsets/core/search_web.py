"""The engines' side of a search: a web server on loopback that stands for all of them, and keeps what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from scorpio.settings import SEARCH_ENGINES
from tests.toolsets.core.search_pages import PAGES
from tests.web_site import SEEN_EVERY_S

EVENT_S_MAX = 30.0
"""For what happens in milliseconds; this long only when it never will."""

JSON_ENGINES = ("mwmbl", "wikipedia", "stackexchange", "hackernews", "searxng")


class Asked:
    """One request of an engine's. A role answers it by `answer`, or holds it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        parts = urlsplit(handler.path)
        self.engine = parts.path.strip("/").partition("/")[0]
        self.path = parts.path
        self.method = handler.command
        self.fields = {name: values[0] for name, values in parse_qs(parts.query + "&" + body.decode()).items()}
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self._handler = handler

    def answer(self, body: str | bytes, status: int = 200, **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        kind = "application/json" if self.engine in JSON_ENGINES else "text/html; charset=utf-8"
        self.begin(status, **{"content_type": kind, "content_length": str(len(data)), **headers})
        self._handler.wfile.write(data)

    def begin(self, status: int = 200, **headers: str) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()

    def write(self, data: bytes) -> None:
        """Raises OSError once the client has gone."""
        self._handler.wfile.write(data)
        self._handler.wfile.flush()

    def wait_until_closed(self) -> None:
        """Until the client has gone."""
        self._handler.connection.settimeout(EVENT_S_MAX)
        while self._handler.connection.recv(1):
            pass


Role = Callable[[Asked], None]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # eleven arrive at once; beyond the usual five each waits a second for its next attempt


class SearchWeb:
    """`roles[engine]` answers that engine's requests; without one it answers with its three results."""

    def __init__(self) -> None:
        self.roles: dict[str, Role] = {}
        self.asked: list[Asked] = []
        self.gone = threading.Event()
        """A request that `hold` held was ended by the client."""
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(SEEN_EVERY_S,), daemon=True)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def _handler(web) -> type[BaseHTTPRequestHandler]:  # noqa: N805 the other self is the handler's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                asked = Asked(self, self.rfile.read(length))
                web.asked.append(asked)
                self.close_connection = True
                try:
                    web.roles.get(asked.engine, answer_with_results)(asked)
                except OSError:  # the client has gone
                    pass

            do_POST = do_GET  # noqa: N815 its names are the base class's

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def environment(self) -> dict[str, str]:
        """Every engine's address here."""
        return {f"WEBSEARCH_ENDPOINT_{name.upper()}": f"{self.address}/{name}" for name in SEARCH_ENGINES}

    def settings(self) -> dict[str, Any]:
        """The same, as attributes of Settings."""
        return {name.lower(): value for name, value in self.environment().items()}

    def all_answer(self, role: Role) -> None:
        for name in (*SEARCH_ENGINES, "searxng"):
            self.roles[name] = role

    def hold(self, asked: Asked) -> None:
        """A role: says nothing until the client gives up."""
        asked.wait_until_closed()
        self.gone.set()

    def of(self, engine: str) -> Asked:
        """The first request of an engine."""
        return next(asked for asked in self.asked if asked.engine == engine)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(EVENT_S_MAX)


def answer_with_results(asked: Asked) -> None:
    asked.answer(PAGES[asked.engine].results())


def answer_empty(asked: Asked) -> None:
    asked.answer(PAGES[asked.engine].empty)


def answer_blocked(asked: Asked) -> None:
    asked.answer(PAGES[asked.engine].blocked)


def answer_changed(asked: Asked) -> None:
    asked.answer(PAGES[asked.engine].changed)
