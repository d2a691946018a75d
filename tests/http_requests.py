"""What tests say over HTTP: one request and its whole reply, or bytes of the test's own on a socket.

Knows the headers that each era wants. Shares no code with the program.
"""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

from tests.http_link import ACCEPT, NAMED_BY, HttpResponse, event_fields, header_value
from tests.judge import META, MODERN

if TYPE_CHECKING:
    from collections.abc import Callable

Message = dict[str, Any]
Headers = dict[str, str]

BOUND_S = 30.0
JSON = {"Content-Type": "application/json", "Accept": ACCEPT}


def send(
    port: int,
    method: str,
    target: str,
    headers: Headers | None = None,
    body: bytes = b"",
    on_event: Callable[[bytes], None] | None = None,
) -> HttpResponse:
    """The request is on its way; `wait` gives the whole reply, `on_event` hears of events as they come."""
    return HttpResponse(port, method, target, headers or {}, body, on_event)


def get(port: int, target: str, headers: Headers | None = None) -> HttpResponse:
    return send(port, "GET", target, headers).wait()


def post(port: int, message: object, headers: Headers | None = None, target: str = "/mcp") -> HttpResponse:
    """The whole reply. `message`: bytes as they are, else as JSON. A header that is "" is left out."""
    return start(port, message, headers, target).wait()


def start(port: int, message: object, headers: Headers | None = None, target: str = "/mcp") -> HttpResponse:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    given = {name: value for name, value in {**JSON, **(headers or {})}.items() if value}
    return send(port, "POST", target, given, body)


def request(method: str, params: Message | None = None, id_: int | str = 1) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}


def call(name: str, arguments: Message | None = None, id_: int | str = 1, **meta: Any) -> Message:
    """A legacy tools/call; `meta`: members of its `_meta`."""
    params: Message = {"name": name, "arguments": arguments or {}} | ({"_meta": meta} if meta else {})
    return request("tools/call", params, id_)


# -- modern


def modern(method: str, params: Any = None, id_: int | str = 1, **meta: Any) -> Message:
    own = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}, **meta}
    return request(method, {**(params or {}), "_meta": own}, id_)


def modern_call(name: str, arguments: Any = None, id_: int | str = 1, **meta: Any) -> Message:
    return modern("tools/call", {"name": name, "arguments": arguments or {}}, id_, **meta)


def modern_headers(message: Message) -> Headers:
    """What a modern client sends with a message."""
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
    name = message["params"].get(NAMED_BY.get(message["method"], ""))
    return headers | ({"Mcp-Name": header_value(name)} if isinstance(name, str) else {})


def ask(port: int, message: Message, headers: Headers | None = None) -> HttpResponse:
    """A modern request with all its headers; `headers` are further ones, or others."""
    return post(port, message, {**modern_headers(message), **(headers or {})})


def ask_soon(port: int, message: Message, headers: Headers | None = None) -> HttpResponse:
    """The same, on its way."""
    return start(port, message, {**modern_headers(message), **(headers or {})})


# -- legacy


def open_session(
    port: int, revision: str = "2025-11-25", capabilities: Message | None = None, headers: Headers | None = None
) -> Headers:
    """The headers of a new session; `headers` are in them too."""
    params = {
        "protocolVersion": revision,
        "capabilities": capabilities or {},
        "clientInfo": {"name": "tests", "version": "1"},
    }
    answer = post(port, request("initialize", params), headers)
    assert answer.status == 200, answer.body
    session = {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": revision, **(headers or {})}
    assert post(port, {"jsonrpc": "2.0", "method": "notifications/initialized"}, session).status == 202
    return session


class Events:
    """A stream of events, read one by one."""

    def __init__(self, port: int, target: str, headers: Headers, body: bytes = b"", method: str = "GET") -> None:
        self._held: list[bytes] = []
        accept = {"Accept": "text/event-stream"} if method == "GET" else JSON
        self.response = send(port, method, target, {**accept, **headers}, body, self._held.append)
        self.response.socket.settimeout(BOUND_S)

    def next(self) -> Headers:
        """The fields of the next event that is one; comments are skipped."""
        while True:
            self._wait()
            fields = event_fields(self._held.pop(0))
            if fields:
                return fields

    def _wait(self) -> None:
        while not self._held:
            more = self.response.read()
            assert more or self._held, "the stream has ended"

    def comment(self) -> bytes:
        """The next thing on the stream, which must be a comment."""
        self._wait()
        event = self._held.pop(0)
        assert event.startswith(b":"), event
        return event

    def message(self) -> Message:
        """The next message, and the id of its event under `event`."""
        fields = self.next()
        while not fields.get("data"):
            fields = self.next()
        message: Message = json.loads(fields["data"])
        return message | ({"event": fields["id"]} if "id" in fields else {})

    def rest(self) -> list[Message]:
        """The messages until the end of the stream."""
        while self.response.read():
            pass
        return [json.loads(fields["data"]) for event in self._held if (fields := event_fields(event)).get("data")]

    def close(self) -> None:
        self.response.close()


# -- bytes


def raw(port: int, data: bytes, *, shut: bool = False) -> bytes:
    """All that comes back for some bytes, until the server closes; `shut`: nothing more is sent."""
    with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:
        try:
            connection.sendall(data)
            if shut:
                connection.shutdown(socket.SHUT_WR)
        except OSError:  # the server has said why and closed
            pass
        return until_closed(connection)


def until_closed(connection: socket.socket) -> bytes:
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def status_of(reply: bytes) -> int:
    """Of the first of them; 0 for none."""
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.1 ") else 0
