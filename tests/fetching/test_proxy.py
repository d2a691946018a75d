"""The proxy that stands between a tab and the network."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from scorpio.address_policy import ALLOW, DIRECT, Policy
from scorpio.gate import Gate
from scorpio.policy_proxy import PolicyProxy
from tests.web_site import Request, answer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from tests.web_site import Site

EVENT_S_MAX = 30.0


class Client:
    """A browser's end of one proxy whose gate belongs to `named`."""

    def __init__(self, named: Site | None, mode: str = DIRECT) -> None:
        self.proxy = PolicyProxy()
        if named is not None:
            self.proxy.gate = Gate(Policy(mode, named.host, named.port))

    async def ask(self, *parts: bytes, until_end: bool = True) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy.port)
        try:
            for part in parts:
                writer.write(part)
            return await reader.read() if until_end else await reader.readuntil(b"\r\n\r\n")
        finally:
            writer.close()


def run(client: Client, body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        await client.proxy.open()
        try:
            async with asyncio.timeout(EVENT_S_MAX):
                await body()
        finally:
            client.proxy.close()

    asyncio.run(whole())


def request(site: Site, target: str = "/", *, method: str = "GET", extra: str = "") -> bytes:
    return f"{method} {site.url(target)} HTTP/1.1\r\nHost: {site.host}:{site.port}\r\n{extra}\r\n".encode()


def test_a_request_is_passed_on_as_a_server_expects_it(site: Site) -> None:
    site.pages["/a?b"] = answer(
        "hello", headers={"Keep-Alive": "timeout=5", "X-Scorpio-Fault": "forged", "X-Kept": "1"}
    )
    client = Client(site)

    async def body() -> None:
        said = await client.ask(request(site, "/a?b", extra="Proxy-Connection: keep-alive\r\nX-Own: 1\r\n"))
        assert said.startswith(b"HTTP/1.1 200 ")
        assert said.endswith(b"Connection: close\r\n\r\nhello")
        assert b"X-Kept: 1" in said
        assert b"Keep-Alive" not in said
        assert b"forged" not in said

    run(client, body)
    assert site.requests[0].target == "/a?b"
    assert site.requests[0].headers == {"host": f"127.0.0.1:{site.port}", "connection": "close", "x-own": "1"}


def test_the_body_of_a_request_is_passed_on_and_what_follows_it_is_not(site: Site) -> None:
    seen: list[bytes] = []

    def echo(asked: Request) -> None:
        missing = 3 - len(asked.rest)
        seen.append(asked.rest + (asked.connection.recv(missing, socket.MSG_WAITALL) if missing else b""))
        asked.send(answer("ok"))

    site.pages["/"] = echo
    client = Client(site)

    async def body() -> None:
        second = request(site, "/second")
        await client.ask(request(site, method="POST", extra="Content-Length: 3\r\n"), b"abc", second)

    run(client, body)
    assert seen == [b"abc"]
    assert site.asked() == ["/"]


@pytest.mark.requirement("fetch:direct")
def test_what_the_gate_refuses_is_never_connected_to(open_site: Callable[..., Site]) -> None:
    named, other = open_site(), open_site()
    client = Client(named)

    async def body() -> None:
        plain = await client.ask(request(other))
        tunnel = await client.ask(f"CONNECT 127.0.0.1:{other.port} HTTP/1.1\r\n\r\n".encode())
        for said in (plain, tunnel):
            assert said.startswith(b"HTTP/1.1 403 ")
            assert b"X-Scorpio-Fault: refused" in said
            assert b"private address" in said

    run(client, body)
    assert other.connections == 0
    assert client.proxy.gate is not None
    assert [*client.proxy.gate.refusals] == [("127.0.0.1", other.port)]


def test_one_tab_cannot_use_what_another_may_reach(open_site: Callable[..., Site]) -> None:
    first, second = open_site(), open_site()
    first.pages["/"] = answer("first")
    clients = [Client(first), Client(second)]

    async def body() -> None:
        await clients[1].proxy.open()
        try:
            assert b"first" in await clients[0].ask(request(first))
            assert b"403" in await clients[1].ask(request(first))
        finally:
            clients[1].proxy.close()

    run(clients[0], body)
    assert first.asked() == ["/"]


def test_a_tab_without_a_call_reaches_nothing(site: Site) -> None:
    client = Client(None)

    async def body() -> None:
        assert (await client.ask(request(site))).startswith(b"HTTP/1.1 403 ")

    run(client, body)
    assert site.connections == 0


def test_a_tunnel_carries_bytes_both_ways_until_either_side_ends_it(site: Site) -> None:
    def upper(asked: Request) -> None:
        asked.send(b"first ")
        asked.send(asked.connection.recv(3, socket.MSG_WAITALL).upper())

    site.pages["/"] = upper
    client = Client(site)

    async def body() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.proxy.port)
        writer.write(f"CONNECT 127.0.0.1:{site.port} HTTP/1.1\r\n\r\n".encode())
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await reader.readexactly(6) == b"first "
        writer.write(b"abc")
        assert await reader.read() == b"ABC"
        writer.close()

    run(client, body)


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET file:///etc/passwd HTTP/1.1\r\n\r\n",
        b"GET http://a@127.0.0.1/ HTTP/1.1\r\n\r\n",
        b"CONNECT 127.0.0.1:80/x\n HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET http://127.0.0.1/ SPDY/3\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
    ],
)
def test_what_is_no_proxy_request_is_refused(site: Site, head: bytes) -> None:
    client = Client(site)

    async def body() -> None:
        assert (await client.ask(head)).startswith(b"HTTP/1.1 400 ")

    run(client, body)
    assert site.connections == 0


def test_a_server_that_is_not_there_is_told_to_the_browser(site: Site) -> None:
    site.close()
    client = Client(site)

    async def body() -> None:
        said = await client.ask(request(site))
        assert said.startswith(b"HTTP/1.1 502 ")
        assert b"X-Scorpio-Fault: unreachable" in said

    run(client, body)


@pytest.mark.requirement("fetch:bounds")
def test_a_page_that_loads_without_end_is_cut_off(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorpio.policy_proxy.PROXY_BYTES_MAX", 1_000_000)

    def endless(asked: Request) -> None:
        asked.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            asked.send(b"x" * 65536)

    site.pages["/"] = endless
    client = Client(site)

    async def body() -> None:
        assert len(await client.ask(request(site))) <= 1_000_000
        assert client.proxy.exhausted
        with suppress(ConnectionResetError):
            assert await client.ask(request(site)) == b""

    run(client, body)


def test_closing_ends_every_connection_at_once(site: Site) -> None:
    def hang(asked: Request) -> None:
        asked.send(b"HTTP/1.1 200 OK\r\n\r\nx")
        asked.connection.recv(1)

    site.pages["/"] = hang
    client = Client(site, ALLOW)

    async def body() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.proxy.port)
        writer.write(request(site))
        await reader.readuntil(b"\r\n\r\nx")
        client.proxy.close()
        assert await reader.read() == b""
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", client.proxy.port)

    run(client, body)
