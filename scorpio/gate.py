"""The one way out of a fetch: resolves a name once, judges every address, connects to the one that was judged.

Knows no HTTP. What it refuses is remembered, so that a page that was refused something can be told so.
"""

from __future__ import annotations

import asyncio
import os
import socket

from scorpio.address_policy import Policy, is_address, is_local_name, port_refusal
from scorpio.limits import CONNECT_NEXT_S, CONNECT_S_MAX, FETCH_ADDRESSES_MAX, RESOLVE_S_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Resolve = Callable[[str], Awaitable[list[str]]]

REFUSALS_KEPT_MAX = 32
UNASSIGNED = "192.0.2.1"
"""TEST-NET-1 (RFC 5737): no machine's. One that binds to it binds to anything (ip_nonlocal_bind)."""


class Unreachable(Exception):
    """No connection: one sentence."""


class Refused(Unreachable):
    """No connection, because the policy forbids it."""


class Gate:
    """What one fetch may connect to, with all that belongs to it."""

    __slots__ = ("_known", "_resolve", "closed", "failures", "policy", "refusals")

    def __init__(self, policy: Policy, resolve: Resolve | None = None) -> None:
        self.policy = policy
        self._resolve = resolve or resolved
        self._known: dict[str, list[str]] = {}
        """One answer a name for the whole fetch: later ones cannot differ."""
        self.refusals: dict[tuple[str, int], str] = {}
        self.failures: dict[tuple[str, int], str] = {}
        """Why there was no connection to this host and port, refused or not."""
        self.closed = False

    async def connect(self, host: str, port: int) -> socket.socket:
        """A connected socket that does not block. Raises Unreachable, Refused."""
        try:
            addresses = await self._judged(host, port)
            return await _dialled(addresses, host, port)
        except Unreachable as fault:
            if len(self.failures) < REFUSALS_KEPT_MAX:
                self.failures[host, port] = str(fault)
                if isinstance(fault, Refused):
                    self.refusals[host, port] = str(fault)
            raise

    async def _judged(self, host: str, port: int) -> list[str]:
        """Every address of `host`, all of which may be reached."""
        refusal = port_refusal(port)
        if self.closed:
            refusal = "The fetch has ended."
        if refusal:
            raise Refused(refusal)
        if host not in self._known:
            self._known[host] = await self._addresses(host)
        for address in self._known[host]:
            refusal = self.policy.refusal(host, port, address, ours=is_ours(address))
            if refusal:
                raise Refused(refusal)
        return self._known[host]

    async def _addresses(self, host: str) -> list[str]:
        if is_address(host):
            return [host]
        name = host.removesuffix(".")
        if is_local_name(name):
            return ["127.0.0.1", "::1"]
        try:
            async with asyncio.timeout(RESOLVE_S_MAX):
                addresses = await self._resolve(name)
        except TimeoutError:
            raise Unreachable(f"No resolver answered for {host} within {RESOLVE_S_MAX:.0f} s. Try again.") from None
        except OSError as error:
            raise Unreachable(_unresolved(host, error)) from None
        if not addresses:
            raise Unreachable(f"The name {host} has no address. Check its spelling.")
        return addresses[:FETCH_ADDRESSES_MAX]


def _unresolved(host: str, error: OSError) -> str:
    if error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)):
        return f"There is no host {host}. Check its spelling."
    return (
        f"The name {host} was not resolved: {error.strerror or error}. Check the spelling and this machine's network."
    )


async def resolved(name: str) -> list[str]:
    """What this machine's resolver says, in its order, without duplicates. Raises OSError."""
    loop = asyncio.get_running_loop()
    # As bytes: Python would refuse labels of more than 63 characters with an error of its own.
    rows = await loop.getaddrinfo(name.encode("ascii"), None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


async def _dialled(addresses: list[str], host: str, port: int) -> socket.socket:
    fault = ""
    for index, address in enumerate(addresses):
        last = index == len(addresses) - 1
        try:
            async with asyncio.timeout(CONNECT_S_MAX if last else CONNECT_NEXT_S):
                return await _connected(address, port)
        except TimeoutError:
            fault = "it does not answer"
        except OSError as error:
            fault = os.strerror(error.errno).lower() if error.errno else str(error)
    raise Unreachable(f"No connection to {host} on port {port}: {fault}. Is the server running, and the address right?")


async def _connected(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(opened, (address, port))
    except BaseException:
        opened.close()
        raise
    return opened


def is_ours(address: str) -> bool:
    """True for an address of one of this machine's interfaces: only to those can a socket be bound."""
    return _binds(address) and not _binds(UNASSIGNED)


def _binds(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
