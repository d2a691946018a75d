"""Many clients of both eras at once: no error, bounded memory, and nobody hears what is for another.

A few seconds in the tests, a minute in `dev.py soak`.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.http_link import ACCEPT
from tests.http_requests import call, modern, modern_call, modern_headers, request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.http_link import HttpProcess
    from tests.http_requests import Headers, Message

CLIENTS = 200
"""Of each era."""
SECONDS = 60 if os.environ.get("SCORPIO_SOAK") else 3
MEMORY_MIB_MAX = 100
"""Peak of the server: it had 48 MiB after 550,000 calls of a minute, 33 after three seconds."""

pytestmark = [pytest.mark.builds("frozen"), pytest.mark.faults, pytest.mark.alone]


class Connection:
    """Requests one after the other, or one stream of events."""

    def __init__(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._port = port
        self._reader = reader
        self._writer = writer

    async def send(self, method: str, headers: Headers, body: bytes = b"") -> Headers:
        """The headers of the reply, its status under `status`."""
        lines = [f"{method} /mcp HTTP/1.1", f"Host: 127.0.0.1:{self._port}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = (line.split(": ", 1) for line in head[1:] if line)
        return {name.lower(): value for name, value in pairs} | {"status": head[0].split()[1]}

    async def ask(self, message: Message, headers: Headers) -> tuple[Headers, Any]:
        sent = {"Content-Type": "application/json", "Accept": ACCEPT, **headers}
        reply = await self.send("POST", sent, json.dumps(message).encode())
        body = await self._reader.readexactly(int(reply["content-length"]))
        assert reply["status"] in ("200", "202"), body
        return reply, json.loads(body) if body else None

    async def events(self) -> AsyncIterator[Message]:
        while line := await self._reader.readline():
            if line.startswith(b"data: {"):
                yield json.loads(line[6:])

    def close(self) -> None:
        self._writer.close()


class Client:
    """One of many: it calls, changes a resource of its own, and hears of that change and of nothing else."""

    def __init__(self, port: int, number: int) -> None:
        self._port = port
        self.uri = f"test://of-{type(self).__name__}-{number}"
        self.number = number
        self.calls = 0
        self.changes = 0
        self.heard = asyncio.Queue[str]()
        self.headers: Headers = {}

    async def open(self) -> Connection:
        return Connection(self._port, *await asyncio.open_connection("127.0.0.1", self._port))

    async def listen(self) -> Connection:
        raise NotImplementedError

    def message(self, name: str, arguments: Message) -> tuple[Message, Headers]:
        raise NotImplementedError

    async def call(self, connection: Connection, name: str, arguments: Message) -> str:
        message, headers = self.message(name, arguments)
        _, answer = await connection.ask(message, headers)
        assert answer["id"] == message["id"]
        said: str = answer["result"]["content"][0]["text"]
        return said

    async def run(self, ready: asyncio.Barrier, seconds: float) -> None:
        stream, connection = await self.listen(), await self.open()
        hearing = asyncio.create_task(self._hear(stream))
        try:
            await ready.wait()
            await self._work(connection, seconds)
        finally:
            hearing.cancel()
            stream.close()
            connection.close()

    async def _work(self, connection: Connection, seconds: float) -> None:
        ends_s = time.monotonic() + seconds
        while time.monotonic() < ends_s:
            a = self.calls * 1000 + self.number
            assert await self.call(connection, "sum", {"a": a, "b": 1}) == f"{a} + 1 = {a + 1}"
            self.calls += 1
            if self.calls % 5 == 0:
                await self.call(connection, "test_trigger_resource_change", {"uri": self.uri})
                assert await self.heard.get() == self.uri
                self.changes += 1
        assert self.heard.empty()

    async def _hear(self, stream: Connection) -> None:
        async for message in stream.events():
            if message["method"] == "notifications/resources/updated":
                self.heard.put_nowait(message["params"]["uri"])


class Legacy(Client):
    async def listen(self) -> Connection:
        connection = await self.open()
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}
        reply, _ = await connection.ask(request("initialize", hello), {})
        self.headers = {"Mcp-Session-Id": reply["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        await connection.ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, self.headers)
        await connection.ask(request("resources/subscribe", {"uri": self.uri}), self.headers)
        assert (await connection.send("GET", {"Accept": "text/event-stream", **self.headers}))["status"] == "200"
        return connection

    def message(self, name: str, arguments: Message) -> tuple[Message, Headers]:
        return call(name, arguments, self.calls), self.headers


class Modern(Client):
    async def listen(self) -> Connection:
        connection = await self.open()
        message = modern("subscriptions/listen", {"notifications": {"resourceSubscriptions": [self.uri]}}, "L")
        sent = {"Content-Type": "application/json", "Accept": ACCEPT, **modern_headers(message)}
        reply = await connection.send("POST", sent, json.dumps(message).encode())
        assert reply["content-type"] == "text/event-stream"
        return connection

    def message(self, name: str, arguments: Message) -> tuple[Message, Headers]:
        message = modern_call(name, arguments, self.calls)
        return message, modern_headers(message)


@pytest.mark.requirement("http:many-clients")
def test_many_clients_of_both_eras_are_served_at_once_and_apart(
    start_http: Callable[..., HttpProcess],
    environ: dict[str, str],
) -> None:
    server = start_http("conformance", "sum", environ={**environ, "LOG_LEVEL": "warning"})

    async def load() -> list[Client]:
        clients: list[Client] = [kind(server.port, n) for n in range(CLIENTS) for kind in (Legacy, Modern)]
        ready = asyncio.Barrier(len(clients))
        async with asyncio.TaskGroup() as tasks:
            for client in clients:
                tasks.create_task(client.run(ready, SECONDS))
        return clients

    clients = asyncio.run(load())
    assert min(client.calls for client in clients) >= SECONDS
    assert min(client.changes for client in clients) >= 1
    with open(f"/proc/{server.child.process.pid}/status") as file:
        peak_kib = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    assert peak_kib < MEMORY_MIB_MAX * 1024
    server.stop()
    assert server.wait(30) == 0
    assert len(server.stderr().splitlines()) == 2, server.stderr()
