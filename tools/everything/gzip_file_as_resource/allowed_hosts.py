"""A gate that lets a fetch, and every redirect of it, go to some hosts only."""

from __future__ import annotations

from scorpio.gate import Gate, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from scorpio.address_policy import Policy


class AllowedHosts(Gate):
    """`domains`: these and what is below them; none: any."""

    __slots__ = ("_domains",)

    def __init__(self, policy: Policy, domains: Sequence[str]) -> None:
        super().__init__(policy)
        self._domains = tuple(domain.lower().strip(".") for domain in domains)

    async def connect(self, host: str, port: int) -> socket.socket:
        name = host.removesuffix(".")
        if self._domains and not any(name == domain or name.endswith(f".{domain}") for domain in self._domains):
            raise Refused(f"{host} is not among the hosts of GZIP_ALLOWED_DOMAINS.")
        return await super().connect(host, port)
