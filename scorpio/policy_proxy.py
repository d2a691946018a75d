"""An HTTP proxy on loopback for one browser tab at a time: everything the tab loads goes through its call's gate.

Each tab has a proxy with a port of its own, and so a policy of its own; without a gate nothing goes through. Does not
look into what CONNECT carries: of https only host and port are known.
"""

from __future__ import annotations

import asyncio

from scorpio.gate import Refused, Unreachable
from scorpio.limits import FETCH_HEADER_BYTES_MAX, PROXY_BYTES_MAX, PROXY_CONNECTIONS_MAX
from scorpio.web_address import BadUrl, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from scorpio.gate import Gate
    from scorpio.web_address import WebAddress

READ_BYTES = 64 * 1024
HOP_HEADERS = ("connection", "keep-alive", "proxy-connection", "proxy-authorization", "upgrade", "te", "trailer")
FAULT_HEADER = "X-Scorpio-Fault"
"""Marks an answer that is the proxy's own, and says refused or unreachable."""


class PolicyProxy:
    """Listens from `open` to `close`. Belongs to one event loop."""

    __slots__ = ("_server", "_tasks", "gate", "loaded_bytes", "port")

    def __init__(self) -> None:
        self.gate: Gate | None = None
        """Of the call that the tab works for."""
        self.loaded_bytes = 0
        self.port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Raises OSError."""
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0, limit=FETCH_HEADER_BYTES_MAX)
        self.port = self._server.sockets[0].getsockname()[1]

    def assign(self, gate: Gate) -> None:
        """From here everything belongs to this call."""
        self.gate = gate
        self.loaded_bytes = 0

    def close(self) -> None:
        """Stop listening, and end every connection now."""
        if self._server is not None:
            self._server.close()
        self.release()

    def release(self) -> None:
        """End every connection now; what comes before the next `assign` belongs to no call, and is refused."""
        if self.gate is not None:
            self.gate.closed = True
        for task in self._tasks:
            task.cancel()

    @property
    def exhausted(self) -> bool:
        return self.loaded_bytes > PROXY_BYTES_MAX

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) <= PROXY_CONNECTIONS_MAX and not self.exhausted:
                await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # one of the two has gone, or the call has ended: there is nobody to tell
        finally:
            self._tasks.discard(task)
            if task.cancelling():
                writer.transport.abort()
            else:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, rest = head.partition(b"\r\n")
        try:
            method, target, version = line.decode("ascii").split(" ")
            tunnel = method == "CONNECT"
            address = parse(f"https://{target}" if tunnel else target)
            if not version.startswith("HTTP/1."):
                raise ValueError(version)
        except ValueError as fault:
            said = str(fault) if isinstance(fault, BadUrl) else "This is a proxy for one browser."
            return await _answer(writer, 400, "malformed", said)
        if self.gate is None:
            return await _answer(writer, 403, "refused", "There is no call that this belongs to.")
        try:
            connected = await self.gate.connect(address.host, address.port)
        except Refused as refusal:
            return await _answer(writer, 403, "refused", str(refusal))
        except Unreachable as fault:
            return await _answer(writer, 502, "unreachable", str(fault))
        upstream_reader, upstream = await asyncio.open_connection(sock=connected, limit=FETCH_HEADER_BYTES_MAX)
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _until_either(self._copy(reader, upstream), self._copy(upstream_reader, writer))
            else:
                await self._request(method, address, rest, reader, upstream)
                await _until_either(_until_end(reader), self._response(upstream_reader, writer))
        finally:
            upstream.transport.abort()

    async def _request(
        self,
        method: str,
        address: WebAddress,
        header_lines: bytes,
        reader: asyncio.StreamReader,
        upstream: asyncio.StreamWriter,
    ) -> None:
        """One request a connection, so that none is read by a server that was not judged for it."""
        headers, body_bytes = [], 0
        for line in header_lines.rstrip(b"\r\n").split(b"\r\n"):
            name = _header_name(line)
            if name == "content-length":
                body_bytes = int(line.partition(b":")[2])
            if name == "transfer-encoding":
                raise asyncio.IncompleteReadError(b"", None)  # browsers know the length of what they send
            if name not in (*HOP_HEADERS, "host"):
                headers.append(line)
        first = f"{method} {address.target} HTTP/1.1\r\nHost: {address.authority}\r\nConnection: close\r\n".encode()
        upstream.write(first + b"".join(line + b"\r\n" for line in headers if line) + b"\r\n")
        while body_bytes > 0 and (chunk := await reader.read(min(body_bytes, READ_BYTES))):
            body_bytes -= len(chunk)
            upstream.write(chunk)
            await upstream.drain()

    async def _response(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The answer, marked as the last one of its connection."""
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            status, *lines = head[:-4].split(b"\r\n")
            kept = [line for line in lines if _header_name(line) not in (*HOP_HEADERS, FAULT_HEADER.lower())]
            if status.split(b" ")[1:2] not in ([b"100"], [b"102"], [b"103"]):
                break
        writer.write(b"\r\n".join([status, *kept, b"Connection: close", b"", b""]))
        await self._copy(reader, writer)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(READ_BYTES):
            self.loaded_bytes += len(chunk)
            if self.exhausted:
                return
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _until_either(up: Coroutine[Any, Any, None], down: Coroutine[Any, Any, None]) -> None:
    """Until the answer has ended, or either side is gone: browsers do not close half of a connection."""
    tasks = [asyncio.ensure_future(up), asyncio.ensure_future(down)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _header_name(line: bytes) -> str:
    return line.partition(b":")[0].strip().lower().decode("latin-1")


async def _until_end(reader: asyncio.StreamReader) -> None:
    while await reader.read(READ_BYTES):
        pass  # one request a connection: what follows it is for nobody


async def _answer(writer: asyncio.StreamWriter, status: int, kind: str, text: str) -> None:
    body = text.encode()
    head = f"HTTP/1.1 {status} {kind}\r\n{FAULT_HEADER}: {kind}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
