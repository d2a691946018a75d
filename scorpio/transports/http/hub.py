"""All connections of one HTTP server: how many, how slow, what they did; and the clock that looks after them.

Knows no path: `site` admits and serves.
"""

from __future__ import annotations

import _thread
import time
from email.utils import formatdate

from scorpio import limits
from scorpio.transports.http.access_log import AccessLog
from scorpio.transports.http.metrics import Metrics

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Protocol

    from scorpio.log import Log
    from scorpio.transports.http.connection import Connection
    from scorpio.transports.http.exchange import Exchange, Head

    class Serving(Protocol):
        """Who may come in, and what is answered."""

        def admit(self, head: Head) -> None:
            """Refuse what can be refused before the body is read."""

        def serve(self, exchange: Exchange) -> None: ...

        def look(self, now_s: float) -> bool:
            """Once a second; True while there is something to look after that has no connection."""


LOOK_EVERY_S = 1.0


class Bounds:
    """What one connection may cost; tests make it less patient."""

    __slots__ = (
        "body_bytes",
        "body_s",
        "connections",
        "head_bytes",
        "head_s",
        "idle_s",
        "linger_s",
        "pipelined",
        "stall_s",
    )

    def __init__(self) -> None:
        self.head_bytes = limits.HTTP_HEAD_BYTES_MAX
        self.body_bytes = limits.HTTP_BODY_BYTES_MAX
        self.head_s = limits.HTTP_HEAD_S_MAX
        self.body_s = limits.HTTP_BODY_S_MAX
        self.stall_s = limits.HTTP_STALL_S_MAX
        self.idle_s = limits.HTTP_IDLE_S_MAX
        self.linger_s = limits.HTTP_LINGER_S_MAX
        self.pipelined = limits.HTTP_PIPELINED_MAX
        self.connections = _connections_max()


def _connections_max() -> int:
    """HTTP_CONNECTIONS_MAX, or fewer where this process may have fewer descriptors."""
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except (ImportError, OSError):
        return limits.HTTP_CONNECTIONS_MAX
    if soft == resource.RLIM_INFINITY:
        return limits.HTTP_CONNECTIONS_MAX
    return max(1, min(limits.HTTP_CONNECTIONS_MAX, soft - limits.HTTP_DESCRIPTORS_KEPT))


class Hub:
    """One of them a server. All of it runs in the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, site: Serving, log: Log, bounds: Bounds | None = None) -> None:
        self.loop = loop
        self.site = site
        self.bounds = bounds or Bounds()
        self.log = AccessLog(loop, log)
        self.metrics = Metrics()
        self.buffer = bytearray(limits.READ_BYTES)
        """Every connection is read into this one: what is read is parsed before the next read."""
        self.view = memoryview(self.buffer)
        self.date = _date()
        self.stopping = False
        self.connections: set[Connection] = set()
        self._looking = False
        self._thread = _thread.get_ident()

    def in_loop(self, function: Callable[[bytes], None], line: bytes) -> None:
        """Now, or soon where this is another thread. Made in the thread of the loop."""
        if _thread.get_ident() == self._thread:
            function(line)
        else:
            self.loop.call_soon_threadsafe(function, line)

    def add(self, connection: Connection) -> bool:
        """False when there are too many."""
        self.metrics.connections += 1
        full = len(self.connections) >= self.bounds.connections
        self.connections.add(connection)
        self.watch()
        if self.stopping:
            self.loop.call_soon(connection.abort)
        return not full

    def watch(self) -> None:
        """Look once a second, as long as there is something to look at: nothing wakes an idle server."""
        if not self._looking:
            self._looking = True
            self.date = _date()
            self.loop.call_later(LOOK_EVERY_S, self._look)

    def remove(self, connection: Connection) -> None:
        self.connections.discard(connection)

    def finished(self, exchange: Exchange, *, gone: bool = False) -> None:
        self.metrics.count(exchange, gone=gone)
        if self.log.on:
            self.log.add(exchange, gone=gone)

    def stop(self) -> None:
        """Connections without a request are closed, the others once their reply is whole."""
        self.stopping = True
        for connection in tuple(self.connections):
            connection.stop()

    def abort(self) -> None:
        for connection in tuple(self.connections):
            connection.abort()

    def _look(self) -> None:
        self.date = _date()
        now_s = self.loop.time()
        for connection in tuple(self.connections):
            connection.look(now_s)
        self._looking = False
        if self.site.look(now_s) or self.connections:
            self.watch()


def _date() -> bytes:
    return formatdate(time.time(), usegmt=True).encode()
