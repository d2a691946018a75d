"""Who may come in: Host, Origin and bearer token of a request, judged before anything of it is used.

A web page in the user's browser can reach a loopback port, also under a name of its own (DNS rebinding): such requests
carry a foreign Host or Origin. Another user of this machine can reach it too: only a token keeps that one out.
Source: MCP basic/transports ("Security Warning"); RFC 9110 section 7.4 (421); RFC 6750 section 2.1.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from scorpio.transports.http.exchange import Head

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
ANY_ADDRESS = ("0.0.0.0", "::")
HTTP_PORT = 80

BEARER = b"bearer "
CHALLENGE = b'www-authenticate: Bearer realm="scorpio"\r\n'

PREFLIGHT_HEADERS = (
    b"access-control-allow-methods: GET, POST, DELETE\r\n"
    b"access-control-allow-headers: authorization, content-type, last-event-id, mcp-method, mcp-name, "
    b"mcp-protocol-version, mcp-session-id\r\n"
    b"access-control-max-age: 600\r\n"
)


class Principal:
    """Whose requests these are: the bearer of one token, or everybody where none is asked for."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        """Stands in records and sealed states, so it tells nothing of the token that could be used."""


class Access:
    """The rules of one server. Judges a `Head`; remembers nothing of it."""

    def __init__(
        self,
        port: int,
        bound: Sequence[str],
        tokens: Collection[str] = (),
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
    ) -> None:
        """`bound`: addresses listened on. `hosts`, `origins`: further ones, as clients write them."""
        names = [*LOOPBACK_NAMES, *(_bracketed(address) for address in bound)]
        self._hosts = {_encoded(host) for name in names for host in _with_port(name, port)}
        self._hosts |= {_encoded(host) for host in hosts}
        self._any_address = _bracketed_port(port) if any(address in ANY_ADDRESS for address in bound) else b""
        self._own_origins = {b"http://" + host for host in self._hosts}
        self._origins = {_encoded(origin) for origin in origins}
        self._principals = {_digest(token.encode()): Principal(f"http:{_name(token)}") for token in tokens}
        self._everybody = Principal("http")

    def admit(self, head: Head, *, open_to_all: bool) -> None:
        """Refuse `head`, or say whose it is. `open_to_all`: no token is needed for what it asks."""
        self._judge_host(head)
        self._judge_origin(head)
        if open_to_all or head.refusal is not None or _is_preflight(head):
            return
        if not self._principals:
            head.principal = self._everybody
            return
        head.principal = self._bearer(head)
        if head.principal is None:
            head.refuse(401, "A bearer token of this server is needed in the Authorization header", CHALLENGE)

    def _judge_host(self, head: Head) -> None:
        host = head.headers.get(b"host")
        if host is None or b"host" in head.repeated or not head.target.startswith(b"/"):
            head.refuse(400, "A request needs a path and one Host header")
        elif host.lower() not in self._hosts and not self._is_own_address(host):
            head.refuse(421, "This server does not answer for that Host. --allow-host adds one")

    def _is_own_address(self, host: bytes) -> bool:
        """Bound to every address, any of them may be meant; an address, unlike a name, can not be rebound."""
        if not self._any_address or not host.endswith(self._any_address):
            return False
        try:
            ipaddress.ip_address(host.removesuffix(self._any_address).decode("ascii").strip("[]"))
        except ValueError:
            return False
        return True

    def _judge_origin(self, head: Head) -> None:
        origin = head.headers.get(b"origin")
        if origin is None:
            return
        if b"origin" in head.repeated:
            head.refuse(403, "A request has one Origin header")
        elif origin in self._origins:
            head.extra = b"access-control-allow-origin: %b\r\nvary: origin\r\n" % origin
            head.extra += b"access-control-expose-headers: mcp-session-id\r\n"
            if _is_preflight(head):
                head.extra += PREFLIGHT_HEADERS
        elif origin not in self._own_origins and origin != b"http://" + head.headers.get(b"host", b""):
            head.refuse(403, "Requests of that Origin are not served. --allow-origin adds one")

    def _bearer(self, head: Head) -> Principal | None:
        value = head.headers.get(b"authorization", b"")
        if b"authorization" in head.repeated or value[: len(BEARER)].lower() != BEARER:
            return None
        given = _digest(value[len(BEARER) :].strip(b" "))
        found = None
        for digest, principal in self._principals.items():  # all of them: the time tells nothing
            if hmac.compare_digest(digest, given):
                found = principal
        return found


def _is_preflight(head: Head) -> bool:
    """What a browser asks before it sends a request of a foreign origin; it carries no token."""
    return head.method == b"OPTIONS" and b"access-control-request-method" in head.headers


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _with_port(name: str, port: int) -> tuple[str, ...]:
    return (f"{name}:{port}", name) if port == HTTP_PORT else (f"{name}:{port}",)


def _bracketed_port(port: int) -> bytes:
    return f":{port}".encode()


def _encoded(value: str) -> bytes:
    return value.strip().lower().encode("latin-1", "replace")


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _name(token: str) -> str:
    """Tells principals apart. Eight digits of a hash of a hash: of no use to find the token."""
    return hashlib.sha256(b"scorpio principal" + _digest(token.encode())).hexdigest()[:16]
