"""Requests to engines: as a browser, or under our own name; redirects, bytes and cookies bounded.

An answer is taken from the engine's own site only. Keeps nothing between two requests, neither cookie nor connection.
"""

from __future__ import annotations

import os
from urllib.parse import urlencode, urljoin, urlsplit

from scorpio import __version__
from tools.core.limits import SEARCH_BODY_BYTES_MAX, SEARCH_REDIRECTS_MAX, SEARCH_REST_S_MAX
from tools.core.web_search.engine import BLOCKED, ERROR, Refused
from tools.core.web_search.links import same_site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import wreq

    from tools.core.web_search.engine import Request

OWN_NAME = f"scorpio/{__version__} (local MCP server; searches for one person; no crawler)"
"""Interfaces for programs want to know who asks: https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy"""

REDIRECTS = (301, 302, 303, 307, 308)
KEEPING_METHOD = (307, 308)
CHARSETS = (
    *(
        "utf-8",
        "utf8",
        "utf-16",
        "ascii",
        "us-ascii",
        "iso-8859",
        "latin",
        "windows-",
        "cp",
        "koi8",
        "macintosh",
        "tis",
    ),
    *("gb", "hz", "big5", "euc-", "shift", "sjis", "iso-2022"),
)
"""How names of charsets begin that pages have. Python's other codecs decode no text, or take very long for it."""


class Answer:
    """One engine's answer as it came, decompressed."""

    __slots__ = ("body", "charset", "rest_s", "status")

    def __init__(self, status: int, body: bytes, charset: str, rest_s: float) -> None:
        self.status = status
        self.body = body
        self.charset = charset
        self.rest_s = rest_s


class Fetcher:
    """Clients for all engines, made at the first request."""

    def __init__(self) -> None:
        self._clients: dict[bool, wreq.Client] = {}

    async def fetch(
        self, address: str, request: Request, *, accept_language: str, plain: bool, walls: Sequence[str]
    ) -> Answer:
        """Raises Refused. Has no limit of time of its own; cancelled, it ends the request."""
        import wreq

        query = urlencode(request.query)
        url = address + (("&" if "?" in address else "?") + query if query else "")
        options: dict[str, Any] = {
            "headers": {"accept-language": accept_language, **request.headers},
            "cookie_provider": wreq.Jar(),
            "default_headers": "user-agent" not in request.headers,
        }
        if request.form:
            options["form"] = list(request.form)
        try:
            for _ in range(SEARCH_REDIRECTS_MAX + 1):
                method = wreq.Method.POST if "form" in options else wreq.Method.GET
                async with self._client(plain).request(method, url, **options) as response:
                    status = response.status.as_int()
                    location = _header(response, "location") if status in REDIRECTS else ""
                    if not location:
                        return await _answer(response, status)
                url = _redirected(url, location, walls)
                if status not in KEEPING_METHOD:
                    options.pop("form", None)
        except _faults() as fault:
            raise Refused(ERROR, _reason(fault)) from None
        raise Refused(ERROR, f"more than {SEARCH_REDIRECTS_MAX} redirects")

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _client(self, plain: bool) -> wreq.Client:
        if plain not in self._clients:
            self._clients[plain] = _client(plain)
        return self._clients[plain]


def _client(plain: bool) -> wreq.Client:
    import wreq

    options: dict[str, Any] = {
        "redirect": wreq.redirect.Policy.none(),
        "pool_max_idle_per_host": 0,  # minutes later the engine has closed it, and nothing says whose search was before
        "dns_options": wreq.DnsOptions(system_dns=True),  # its own knows no nsswitch.conf, so no VPN's names
    }
    certificates = os.environ.get("SSL_CERT_FILE", "")
    if os.path.isfile(certificates):
        from pathlib import Path

        options["tls_verify"] = Path(certificates)
    if plain:
        return wreq.Client(user_agent=OWN_NAME, **options)
    browser = wreq.Emulation(profile=wreq.Profile.Chrome154, platform=wreq.Platform.Linux)
    return wreq.Client(emulation=browser, **options)


async def _answer(response: wreq.Response, status: int) -> Answer:
    body = bytearray()
    async with response.stream() as stream:
        async for chunk in stream:
            if isinstance(chunk, memoryview):
                body += chunk
            if len(body) >= SEARCH_BODY_BYTES_MAX:
                break
    rest = _header(response, "retry-after")
    rest_s = min(int(rest), SEARCH_REST_S_MAX) if rest.isascii() and rest.isdigit() and len(rest) < 10 else 0
    return Answer(status, bytes(body[:SEARCH_BODY_BYTES_MAX]), _charset(_header(response, "content-type")), rest_s)


def _header(response: wreq.Response, name: str) -> str:
    value = response.headers.get(name)
    return bytes(value).decode("latin-1").strip() if value is not None else ""


def _charset(content_type: str) -> str:
    import codecs

    name = content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    try:
        return codecs.lookup(name).name if name.startswith(CHARSETS) and name.isascii() else "utf-8"
    except LookupError:
        return "utf-8"


def _redirected(url: str, location: str, walls: Sequence[str]) -> str:
    """Where a redirect leads. Raises Refused for every place but the engine's own site."""
    try:
        target = urljoin(url, location)
        here, there = urlsplit(url), urlsplit(target)
        host = there.hostname or ""
        near = same_site(here.hostname or "", host)
    except ValueError:
        raise Refused(ERROR, "redirects to no address") from None
    if any(wall in f"{host}{there.path}" for wall in (*walls, "captcha")):
        raise Refused(BLOCKED, "redirects to a page that asks for a person")
    if there.scheme not in ("http", "https") or (here.scheme == "https" and there.scheme == "http"):
        raise Refused(ERROR, f"redirects to a {there.scheme[:20]} address")
    if not near:
        raise Refused(ERROR, f"redirects to another site, {host[:80]}")
    return target


def _faults() -> tuple[type[Exception], ...]:
    from wreq import exceptions

    return tuple(getattr(exceptions, name) for name in exceptions.__all__)


def _reason(fault: Exception) -> str:
    """In a few words. The library's own text holds the address, and with it the query."""
    said = str(fault)
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return "its certificate is not trusted"
    if "dns error" in said:
        return "its name has no address here"
    if type(fault).__name__ == "ConnectionError":
        return "no connection"
    if type(fault).__name__ == "TimeoutError":
        return "no answer"
    return "its answer broke off or is none"
