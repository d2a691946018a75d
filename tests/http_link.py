"""How tests reach a server over HTTP: lines of a `Wire` become requests, what comes back becomes lines.

Both eras, chosen for each line as a client of its era would send it: sessions and a stream to listen on, or headers
that repeat the body. h11 judges every byte of HTTP that the server sends. Shares no code with the program.
"""

from __future__ import annotations

import base64
import json
import re
import selectors
import signal
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h11

from tests.judge import META, MODERN
from tests.links import ChildProcess, executable_under_test

if TYPE_CHECKING:
    from tests.in_process_http import InProcessHttp

BOUND_S = 30.0
ACCEPT = "application/json, text/event-stream"
NAMED_BY = {
    "tools/call": "name", "prompts/get": "name", "resources/read": "uri",
    "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}  # fmt: skip
MODERN_META = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
LISTENING = re.compile(r"Serving MCP on http://[^/]*:(\d+)/mcp")
READ_BYTES = 1 << 16

Headers = dict[str, str]


class HttpResponse:
    """One request on a connection of its own, and what comes back, as far as it has."""

    def __init__(
        self,
        port: int,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        on_event: Callable[[bytes], None] | None = None,
    ) -> None:
        self.sent = body
        self.socket = socket.create_connection(("127.0.0.1", port), BOUND_S)
        weakref.finalize(self, self.socket.close)  # a test that has seen enough just forgets it
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
        self._on_event = on_event
        self.status = 0
        self.headers: Headers = {}
        self.body = b""
        self.whole = False
        """The server said all that it had to say."""
        self.ended = threading.Event()
        """Whole, or the connection is closed."""
        sent = {"Host": f"127.0.0.1:{port}", **({"Content-Length": str(len(body))} if body else {}), **headers}
        request = h11.Request(method=method, target=target, headers=list(sent.items()))
        data = self._h11.send(request)
        if body:
            data += self._h11.send(h11.Data(data=body)) or b""
        data += self._h11.send(h11.EndOfMessage()) or b""
        self.socket.sendall(data)

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]

    def read(self) -> bool:
        """What is there now; False once nothing more will come."""
        try:
            data = self.socket.recv(READ_BYTES)
        except OSError:
            data = b""
        self._h11.receive_data(data)
        while not self.ended.is_set():
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError:
                if data:
                    raise
                self.close()  # in the middle: `whole` stays False
                break
            if event is h11.NEED_DATA:
                return True
            self._take(event)
        return False

    def _take(self, event: object) -> None:
        if isinstance(event, h11.Response):
            self.status = event.status_code
            self.headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
        elif isinstance(event, h11.Data):
            self.body += bytes(event.data)
            if self.kind == "text/event-stream" and self._on_event is not None:
                *events, self.body = self.body.split(b"\n\n")
                for one in events:
                    self._on_event(one)
        elif isinstance(event, h11.EndOfMessage):
            self.whole = True
            self.close()
        elif isinstance(event, h11.ConnectionClosed):
            self.close()

    def wait(self) -> HttpResponse:
        """Until it has ended; for a caller that reads it alone."""
        self.socket.settimeout(BOUND_S)
        while self.read():
            pass
        return self

    def json(self) -> Any:
        return json.loads(self.body)

    def close(self) -> None:
        self.ended.set()
        self.socket.close()


def event_fields(event: bytes) -> dict[str, str]:
    """Of one event of a stream; a field that stands twice, or that nobody knows, is a fault."""
    fields: dict[str, str] = {}
    for line in event.decode().split("\n"):
        if line.startswith(":") or not line:
            continue
        name, _, value = line.partition(": ")
        assert name in ("id", "event", "data", "retry"), event
        assert name not in fields, event
        fields[name] = value
    return fields


class HttpLink:
    """Streamable HTTP, for `Wire`. Messages are posted in the order in which they are sent."""

    def __init__(self, server: InProcessHttp | HttpProcess) -> None:
        self._server = server
        self._lock = threading.RLock()
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._open: dict[str, HttpResponse] = {}
        """Requests without their answer, by id."""
        self._new: list[HttpResponse] = []
        self._session: Headers = {}
        self._modern: Headers = {}
        """What a message says of its revision that does not say it itself, once this client has spoken modern."""
        self._declared: dict[str, dict[str, str]] = {}
        """Of each tool, the arguments that go into headers too, and which; once it was needed."""
        self._starting: HttpResponse | None = None
        """The `initialize` that is not answered yet."""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._closing = False

    # -- Link

    def start(self, on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_line, self._on_end = on_line, on_end
        self._thread.start()

    def send(self, data: bytes) -> None:
        for line in data.splitlines():
            if line.strip():
                self._post(line)

    def close_input(self) -> None:
        """No client ends a server over HTTP: this is what its person does."""
        self._closing = True
        self._wake_up()
        self._server.stop()

    def wait(self, bound_s: float) -> int:
        self._thread.join(bound_s)
        assert not self._thread.is_alive(), "connections stay open"
        return self._server.wait(bound_s)

    def stderr(self) -> str:
        return self._server.stderr()

    # -- sending

    def _post(self, line: bytes) -> None:
        starting = self._starting
        if starting is not None and threading.current_thread() is not self._thread:
            starting.ended.wait(BOUND_S)
        message = _message(line)
        method, id_ = message.get("method"), message.get("id")
        if method == "notifications/cancelled" and self._hang_up(message):
            return
        headers = {"Content-Type": "application/json", "Accept": ACCEPT, **self._headers(message)}
        try:
            response = HttpResponse(self._server.port, "POST", "/mcp", headers, line, self._event)
        except OSError:
            if self._closing:  # an answer of the reading thread comes late
                return
            raise
        with self._lock:
            if isinstance(method, str) and "id" in message:
                self._open[json.dumps(id_)] = response
            if method == "initialize":
                self._starting = response
            self._new.append(response)
        self._wake_up()
        if (
            (message or not line.startswith(b"["))
            and "id" not in message
            and threading.current_thread() is not self._thread
        ):
            response.ended.wait(BOUND_S)
        if method == "notifications/initialized":
            self._listen()

    def _headers(self, message: dict[str, Any]) -> Headers:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = meta.get(META + "protocolVersion") if isinstance(meta, dict) else None
        if not isinstance(version, str) or "\n" in version:
            return self._session or ({} if message else self._modern)
        self._modern = {"MCP-Protocol-Version": version}
        method = message.get("method")
        headers = {"MCP-Protocol-Version": version, "Mcp-Method": method if isinstance(method, str) else ""}
        name = params.get(NAMED_BY.get(headers["Mcp-Method"], ""))
        if isinstance(name, str):
            headers["Mcp-Name"] = header_value(name)
            arguments = params.get("arguments")
            for argument, header in self._declared.get(name, {}).items():
                if isinstance(arguments, dict) and argument in arguments:
                    headers[f"Mcp-Param-{header}"] = header_value(str(arguments[argument]))
        return headers

    def _hang_up(self, message: dict[str, Any]) -> bool:
        """How a modern client cancels: True when the request was one."""
        params = message.get("params")
        key = json.dumps(params.get("requestId")) if isinstance(params, dict) else ""
        with self._lock:
            response = self._open.get(key)
            if response is None or self._session:
                return response is None and not self._session
            del self._open[key]
        try:
            response.socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # its answer came at this moment
            pass
        return True

    def _listen(self) -> None:
        with self._lock:
            headers = {"Accept": "text/event-stream", **self._session}
            self._new.append(HttpResponse(self._server.port, "GET", "/mcp", headers, b"", self._event))
        self._wake_up()

    def _wake_up(self) -> None:
        try:
            self._wake.send(b"x")
        except OSError:  # the thread has ended
            pass

    # -- receiving

    def _read(self) -> None:
        try:
            while not self._closing or self._server.running or len(self._selector.get_map()) > 1 or self._new:
                ready = self._selector.select(0.1 if self._closing else None)
                for key, _ in ready:
                    if key.data is None:
                        self._take_new()
                    elif not key.data.read():
                        self._selector.unregister(key.fileobj)
                        self._finish(key.data)
                if not ready and not self._server.running:
                    break
        finally:
            for key in tuple(self._selector.get_map().values()):
                if key.data is not None:  # came when nobody took connections any more
                    key.data.close()
            self._selector.close()
            self._woken.close()
            self._wake.close()
            self._on_end()

    def _take_new(self) -> None:
        self._woken.recv(READ_BYTES)
        with self._lock:
            new, self._new = self._new, []
        for response in new:
            self._selector.register(response.socket, selectors.EVENT_READ, response)

    def _finish(self, response: HttpResponse) -> None:
        with self._lock:
            for key, open_ in tuple(self._open.items()):
                if open_ is response:
                    del self._open[key]
        if response is self._starting:
            if "mcp-session-id" in response.headers:
                version = response.json()["result"]["protocolVersion"]
                self._session = {
                    "Mcp-Session-Id": response.headers["mcp-session-id"],
                    "MCP-Protocol-Version": version,
                }
            self._starting = None
        if response.status == 400 and b"mcp-param-" in response.body and not self._declared:
            self._learn()
            self._post(response.sent)
        elif response.whole and response.kind == "application/json":
            self._on_line(response.body)

    def _learn(self) -> None:
        """Which arguments of which tool go into headers, as a client does that is told that they did not."""
        request = {"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {"_meta": MODERN_META}}
        headers = {"Content-Type": "application/json", **self._headers(request)}
        body = json.dumps(request).encode()
        listed = HttpResponse(self._server.port, "POST", "/mcp", headers, body).wait().json()
        for tool in listed["result"]["tools"]:
            properties = tool["inputSchema"].get("properties", {})
            self._declared[tool["name"]] = {
                name: schema["x-mcp-header"] for name, schema in properties.items() if "x-mcp-header" in schema
            }

    def _event(self, event: bytes) -> None:
        fields = event_fields(event)
        if fields.get("data"):
            assert fields.get("event") == "message", event
            self._on_line(fields["data"].encode() + b"\n")


class HttpProcess:
    """`scorpio http` in a process of its own, on a port that was free."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], stderr_path: Path, cwd: Path) -> None:
        self.child = ChildProcess(command, environ, stderr_path, cwd)
        self.port = self._port()

    def _port(self) -> int:
        end_s = time.monotonic() + BOUND_S
        while time.monotonic() < end_s and self.child.process.poll() is None:
            found = LISTENING.search(self.child.stderr())
            if found:
                return int(found[1])
            time.sleep(0.005)  # a file of its own log is all it tells of itself
        raise AssertionError(f"no server: {self.child.stderr()}")

    @property
    def running(self) -> bool:
        return self.child.process.poll() is None

    def stop(self) -> None:
        if self.running:
            self.child.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """After the test, whatever became of it."""
        if self.running:
            self.child.process.kill()
        self.wait(BOUND_S)

    def wait(self, bound_s: float) -> int:
        status = self.child.wait(bound_s)
        for stream in (self.child.process.stdin, self.child.process.stdout):
            if stream is not None:
                stream.close()
        return status

    def stderr(self) -> str:
        return self.child.stderr()


def http_command(toolsets: Sequence[str], *options: str) -> list[str]:
    """The frozen executable's."""
    return [executable_under_test(), "http", "--port", "0", "--toolsets", ",".join(toolsets), *options]


def header_value(text: str) -> str:
    """As a client must write it. Source: MCP 2026-07-28, basic/transports/streamable-http, "Value Encoding"."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode()}?="


def _message(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
