"""Small requests to whoever gives tokens. Follows no redirect, reads no large body, keeps no cookie."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from scorpio.client.failures import LoginFailure

if TYPE_CHECKING:
    import wreq

REQUEST_S = 30
"""A whole request to an authorization server; some wake up for it."""

DOCUMENT_BYTES_MAX = 1 << 20
"""Of metadata or a token answer; real ones have a few kilobytes."""


class Answer:
    __slots__ = ("_headers", "body", "status")

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status = status
        self._headers = headers
        self.body = body

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300

    def header(self, name: str) -> str:
        value = self._headers.get(name)
        return "" if value is None else bytes(value).decode("latin-1")

    def object(self) -> dict[str, Any] | None:
        """The JSON object in it; None where there is none."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value if type(value) is dict else None


class Web:
    """One log-in's requests; the caller has judged the addresses."""

    def __init__(self) -> None:
        self._client: wreq.Client | None = None

    async def get(self, url: str, accept: str = "application/json") -> Answer:
        return await self._ask("GET", url, {"Accept": accept})

    async def post_form(self, url: str, fields: Sequence[tuple[str, str]], headers: Mapping[str, str]) -> Answer:
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        return await self._ask("POST", url, kind | dict(headers), urlencode(list(fields)).encode())

    async def post_json(self, url: str, value: object) -> Answer:
        kind = {"Content-Type": "application/json", "Accept": "application/json"}
        return await self._ask("POST", url, kind, json.dumps(value).encode())

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    async def _ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
        import wreq
        from wreq.exceptions import RustPanic

        if self._client is None:
            self._client = _client()
        options: dict[str, Any] = {"headers": dict(headers)} | ({"body": body} if body is not None else {})
        parts = b""
        try:
            response = await self._client.request(getattr(wreq.Method, method), url, **options)
            async with response.stream() as stream:
                async for chunk in stream:
                    parts += bytes(chunk)
                    if len(parts) > DOCUMENT_BYTES_MAX:
                        raise LoginFailure(f"{url} answered with more than {DOCUMENT_BYTES_MAX // 2**20} MiB.")
        except (RustPanic, LoginFailure):
            raise
        except Exception as error:  # noqa: BLE001 the library has a class a cause and no common one
            raise LoginFailure(f"{_without_query(url)} does not answer ({type(error).__name__}).") from None
        return Answer(response.status.as_int(), response.headers, parts)


def _without_query(url: str) -> str:
    return url.partition("?")[0]


def _client() -> wreq.Client:
    import wreq

    options: dict[str, Any] = {}
    certificates = os.environ.get("SSL_CERT_FILE", "")
    if os.path.isfile(certificates):
        from pathlib import Path

        options["tls_verify"] = Path(certificates)
    return wreq.Client(
        timeout=timedelta(seconds=REQUEST_S),
        redirect=wreq.redirect.Policy.none(),
        dns_options=wreq.DnsOptions(system_dns=True),
        **options,
    )
