"""An HTTP server from its sockets to its end. Returns when everything it began has ended."""

from __future__ import annotations

import _thread
import asyncio
import errno
import os
import signal
import socket
import sys
import time

from scorpio.limits import END_MS_MAX, FLUSH_MS_MAX, GRACE_END_MS, HTTP_STOP_MS_MAX
from scorpio.server.lanes import LoopLane
from scorpio.transports.http.access import Access, is_loopback
from scorpio.transports.http.connection import Connection
from scorpio.transports.http.hub import Hub
from scorpio.transports.http.site import Site
from scorpio.transports.wire_guard import StrayText, fill_standard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Any

    from scorpio.server.lanes import Lane
    from scorpio.server.server import Server
    from scorpio.transports.http.hub import Bounds
    from scorpio.transports.http.site import Page

SWITCH_INTERVAL_S = 0.0005
"""5 ms by default: what runs in a thread would keep every request waiting for as long."""

BACKLOG = 512
"""Connections that wait to be accepted; a burst of clients comes within a millisecond."""

POLL_MS = 10

TOKEN_CHARS_GOOD = 16
"""Of random letters and digits: 95 bits."""


class CannotServe(Exception):
    """A sentence for the person who started it."""

    def __init__(self, said: str, status: int = 1) -> None:
        super().__init__(said)
        self.status = status
        """Of the program's exit: 1, or 2 for a wrong call."""


class HttpOptions:
    """What the command line chose."""

    __slots__ = ("host", "hosts", "metrics", "origins", "port", "tokens")

    def __init__(
        self,
        host: str,
        port: int,
        *,
        tokens: Collection[str] = (),
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
        metrics: bool = False,
    ) -> None:
        self.host = host
        self.port = port
        self.tokens = tokens
        self.hosts = hosts
        self.origins = origins
        self.metrics = metrics


class HttpServer:
    """One of them a process, but for tests."""

    def __init__(
        self, server: Server, options: HttpOptions, pages: Mapping[bytes, Page], bounds: Bounds | None = None
    ) -> None:
        self._server = server
        self._options = options
        self._pages = pages
        self._bounds = bounds
        self._listening: list[asyncio.Server] = []
        self._sockets: list[socket.socket] = []
        self.port = 0

    async def start(self) -> None:
        """Listen. Raises CannotServe."""
        loop = asyncio.get_running_loop()
        options = self._options
        sockets = bound_sockets(options.host, options.port)
        addresses = [str(each.getsockname()[0]) for each in sockets]
        self.port = sockets[0].getsockname()[1]
        if not options.tokens and not all(map(is_loopback, addresses)):
            raise CannotServe(
                f"{options.host} can be reached from other machines, so a token is needed. "
                "Name a file that holds one with --token-file, or set SCORPIO_HTTP_TOKEN.",
                status=2,
            )
        access = Access(self.port, addresses, options.tokens, options.hosts, options.origins)
        self.site = Site(self._server, access, metrics=options.metrics)
        self.hub = Hub(loop, self.site, self._server.log, self._bounds)
        self.site.connect(self.hub, self._pages)
        self._sockets = sockets
        for each in sockets:
            self._listening.append(await loop.create_server(lambda: Connection(self.hub), sock=each, backlog=BACKLOG))

    async def stop(self) -> None:
        """Streams end, calls get HTTP_STOP_MS_MAX to finish, the rest is told that the server ends."""
        loop = asyncio.get_running_loop()
        for each in self._sockets:
            loop.remove_reader(each)
        self.hub.stop()
        await asyncio.sleep(POLL_MS / 1000)  # what was accepted just now: asyncio trips over it once it has closed
        for listening in self._listening:
            listening.close()
        self.site.stop_streams()
        await self._until(lambda: not self._busy(), HTTP_STOP_MS_MAX)
        self.site.end()
        await self._until(lambda: not self.hub.connections, FLUSH_MS_MAX)
        self.hub.abort()
        await self._until(lambda: not self.hub.connections, FLUSH_MS_MAX)
        self.hub.log.flush()

    def _busy(self) -> bool:
        return any(peer.busy() for peer in tuple(self._server.peers))

    @staticmethod
    async def _until(reached: Callable[[], bool], ms_max: int) -> None:
        """Looked at again and again: a few times in the life of a server."""
        for _ in range(ms_max // POLL_MS):
            if reached():
                return
            await asyncio.sleep(POLL_MS / 1000)


def bound_sockets(host: str, port: int) -> list[socket.socket]:
    """One for each address of `host`. Raises CannotServe."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as fault:
        raise CannotServe(f"--host {host}: {fault.strerror or fault}") from None
    sockets: list[socket.socket] = []
    for family, kind, number, _, address in dict.fromkeys(found):
        if port == 0 and sockets:
            address = (address[0], sockets[0].getsockname()[1], *address[2:])
        each = socket.socket(family, kind, number)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            each.bind(address)
        except OSError as fault:
            each.close()
            if sockets and fault.errno not in (errno.EACCES, errno.EADDRINUSE):  # without IPv6 there is the other
                continue
            for other in sockets:
                other.close()
            raise CannotServe(f"{host} port {port}: {(fault.strerror or str(fault)).lower()}.") from None
        each.setblocking(False)
        sockets.append(each)
    return sockets


async def _serve(server: Server, options: HttpOptions, pages: Mapping[bytes, Page]) -> None:
    """Until a signal says that it is enough."""
    loop = asyncio.get_running_loop()
    log = server.log
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup scorpio http &` is to stay
            loop.add_signal_handler(number, told.set)
    http = HttpServer(server, options, pages)
    await http.start()
    for warning in warnings(options):
        log.warning(warning)
    host = f"[{options.host}]" if ":" in options.host else options.host
    log.say(f"Serving MCP on http://{host}:{http.port}/mcp")
    await told.wait()  # a signal more changes nothing: process groups get two, and the end takes 2 s at the most
    _thread.start_new_thread(_exit_after, (END_MS_MAX / 1000,))
    await http.stop()


def warnings(options: HttpOptions) -> Iterator[str]:
    """What the person who starts this should know."""
    if not options.tokens:
        yield "No token is asked for: every user of this machine can connect and use these tools"
    elif min(map(len, options.tokens)) < TOKEN_CHARS_GOOD:
        yield f"The token is shorter than {TOKEN_CHARS_GOOD} characters: it can be guessed"


def _exit_after(seconds: float) -> None:
    """For an end that hangs, such as a state on a disk that went away."""
    time.sleep(seconds)
    os._exit(0)


def run(make_server: Callable[[Lane], Server], options: HttpOptions, pages: Mapping[bytes, Page]) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP, then exit with 0; does not return. Raises CannotServe."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    fill_standard()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    server = make_server(LoopLane(loop))
    sys.stdout = sys.stderr = StrayText(server.log)
    loop.set_exception_handler(lambda _, context: _tell(server, context))
    server.warm()
    try:
        loop.run_until_complete(_serve(server, options, pages))
    except CannotServe:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        raise
    process = sys.modules.get("scorpio.process")
    if process is not None:
        process.end_all(GRACE_END_MS)
    server.close()
    os._exit(0)


def _tell(server: Server, context: dict[str, Any]) -> None:
    """What asyncio would print."""
    bug = context.get("exception")
    if isinstance(bug, BaseException):
        server.internal_error(bug)
    else:
        server.log.error(str(context.get("message")))
