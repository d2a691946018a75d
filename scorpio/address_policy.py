"""Which network addresses a fetch may reach: public ones, private ones, those of cloud metadata services.

Judges addresses, never names as text: a resolver takes `0x7f.1` for 127.0.0.1. Resolves and connects nothing.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    Address = IPv4Address | IPv6Address

PUBLIC, PRIVATE, METADATA = range(3)
"""What an address is, the worse the higher."""

DIRECT, DENY, ALLOW = "direct", "deny", "allow"
"""What a private address is to a fetch: reached where the caller's own URL names it, never, or always."""

_METADATA_4 = tuple(
    map(
        IPv4Network,
        (
            "169.254.169.0/24",  # AWS, Google, Azure, DigitalOcean, OpenStack, Oracle …
            "169.254.170.0/24",  # AWS containers: ECS, EKS
            "169.254.42.42/32",  # Scaleway
            "169.254.0.23/32",  # Tencent
            "168.63.129.16/32",  # Azure's wire server
            "100.100.100.200/32",  # Alibaba
            "192.0.0.192/32",  # Oracle
        ),
    )
)
_METADATA_6 = tuple(
    map(
        IPv6Network,
        (
            "fd00:ec2::/32",  # AWS
            "fd20:ce::254/128",  # Google
            "fd00:c1::a9fe:a9fe/128",  # Oracle
            "fd00:42::42/128",  # Scaleway
            "fe80::a9fe:a9fe/128",  # OpenStack
        ),
    )
)

_PRIVATE_4 = (IPv4Network("192.88.99.0/24"),)
"""Beside what `is_global` and `is_multicast` say: relays of 6to4."""

_UNICAST_6 = IPv6Network("2000::/3")
_SPECIAL_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
"""In 2000::/3 and yet nobody's on the internet. `is_global` is not asked: its answers change with Python's version."""

_IPV4_IN_LAST_32 = tuple(
    map(
        IPv6Network,
        (
            "::ffff:0:0/96",  # mapped
            "::/96",  # compatible
            "::ffff:0:0:0/96",  # translated (SIIT)
            "64:ff9b::/96",  # NAT64
        ),
    )
)
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")
_6TO4 = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")
_ISATAP = (0x00005EFE, 0x02005EFE)

PRIVATE_SUFFIXES = (
    *("localhost", "local", "internal", "intranet", "private", "corp", "home", "lan", "test"),
    "home.arpa",
)
"""Ends of names that no public resolver answers for: RFC 6761, 6762, 8375, and what networks use instead."""

PORTS_REFUSED = frozenset(
    (
        *(1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697),
        10080,
        *(1433, 1521, 3306, 5432, 6379, 11211, 27017),
    )
)
"""Above 1023: those that browsers refuse (WHATWG Fetch, "bad port"), and databases that take HTTP for commands."""


def classify(text: str) -> int:
    """PUBLIC, PRIVATE or METADATA, of the address and of every IPv4 address in it. Raises ValueError."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        return _classify_4(address)
    if address in _NAT64_LOCAL:
        return METADATA if METADATA in map(_classify_4, _embedded(address)) else PRIVATE
    worst = max((_classify_4(inner) for inner in _embedded(address)), default=PUBLIC)
    if any(address in network for network in _METADATA_6):
        return METADATA
    if any(address in network for network in _IPV4_IN_LAST_32) and int(address) > 1:
        return worst
    own = address in _UNICAST_6 and not any(address in network for network in _SPECIAL_6)
    return max(worst, PUBLIC if own else PRIVATE)


def _classify_4(address: IPv4Address) -> int:
    if any(address in network for network in _METADATA_4):
        return METADATA
    private = not address.is_global or address.is_multicast or any(address in network for network in _PRIVATE_4)
    return PRIVATE if private else PUBLIC


def _embedded(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that a gateway may make of this one."""
    number = int(address)
    found = []
    if any(address in network for network in _IPV4_IN_LAST_32):
        found.append(number)
    if address in _NAT64_LOCAL:  # RFC 6052: with a prefix of 48 bits the octet in the middle is left out
        found += [number, (number >> 64 & 0xFFFF) << 16 | number >> 40 & 0xFFFF, number >> 24]
    if address in _6TO4:
        found.append(number >> 80)
    if address in _TEREDO:
        found += [~number, number >> 64]
    if number >> 32 & 0xFFFFFFFF in _ISATAP:
        found.append(number)
    return [IPv4Address(each & 0xFFFFFFFF) for each in found]


def is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_local_name(host: str) -> bool:
    """True for what always means this machine (RFC 6761), whatever a resolver says."""
    return host == "localhost" or host.endswith(".localhost")


def names_private(host: str) -> bool:
    """True when whoever writes this host in a URL means a private place, not a public name that leads to one."""
    if is_address(host):
        return classify(host) == PRIVATE
    return "." not in host or host.endswith(tuple(f".{suffix}" for suffix in PRIVATE_SUFFIXES))


def port_refusal(port: int) -> str:
    """Why no connection is made to this port, a sentence; empty when it may be."""
    if port in (80, 443) or (port >= 1024 and port not in PORTS_REFUSED):
        return ""
    return f"Port {port} is not one that web servers use. Ports 80, 443 and most from 1024 on are served."


class Policy:
    """What one fetch may reach."""

    __slots__ = ("mode", "own")

    def __init__(self, mode: str, host: str = "", port: int = 0) -> None:
        """`host` and `port`: of the URL that the caller wrote."""
        self.mode = mode
        self.own = (host, port) if mode == DIRECT and names_private(host) else None
        """The one private origin that may be reached, since the caller named it."""

    def refusal(self, host: str, port: int, address: str, *, ours: bool = False) -> str:
        """Why `address`, which `host` resolved to, must not be connected to; empty when it may be.

        `ours`: it is an address of this machine.
        """
        kind = max(classify(address), PRIVATE if ours else PUBLIC)
        if self.mode == ALLOW or kind == PUBLIC:
            return ""
        name = host if host == address else f"{host} ({address})"
        if kind == METADATA:
            return f"{name} is a cloud metadata address, which is never fetched."
        if self.mode == DENY:
            return f"{name} is a private address, and READDOCS_PRIVATE=deny refuses those."
        if (host, port) == self.own:
            return ""
        return f"{name} is a private address, which is fetched only where the URL of the call itself names it."
