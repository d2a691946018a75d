"""One document over HTTP/1.1: every hop through a gate, every length bounded.

Knows no document type. Keeps no cookies beyond one fetch, no connections and no cache.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import zlib

import httptools

from scorpio.gate import Gate, Refused, Unreachable
from scorpio.limits import (
    FETCH_BYTES_MAX,
    FETCH_ERROR_BYTES_MAX,
    FETCH_HEADER_BYTES_MAX,
    FETCH_REDIRECTS_MAX,
    TLS_HANDSHAKE_S_MAX,
)
from scorpio.web_address import BadUrl, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from scorpio.web_address import WebAddress

READ_BYTES = 64 * 1024
REDIRECTS = (301, 302, 303, 307, 308)
COOKIES_MAX = 50
COOKIE_CHARS_MAX = 4096

AUTHORITIES = (
    *("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"),
    *("/etc/ssl/cert.pem", "/usr/local/etc/openssl/cert.pem", "/opt/homebrew/etc/openssl@3/cert.pem"),
)
"""Where systems keep the certificates of authorities: an OpenSSL that was built elsewhere looks elsewhere."""


class FetchFailure(Exception):
    """No document: one sentence."""


class Document:
    """An answer with its body, decoded from what it was compressed with."""

    __slots__ = ("address", "body", "headers", "redirects", "status")

    def __init__(
        self, address: WebAddress, status: int, headers: Mapping[str, str], body: bytes, redirects: int
    ) -> None:
        self.address = address
        """Where it was in the end."""
        self.status = status
        self.headers = headers
        """Names in lower case; of a name that came twice, both values joined by a comma."""
        self.body = body
        self.redirects = redirects

    @property
    def media_type(self) -> str:
        """Such as `text/html`; empty where none was said."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Trust:
    """The authorities of this machine, read at the first https address: 20 ms."""

    __slots__ = ("_context",)

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None

    async def context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = await asyncio.to_thread(_authorities)
        return self._context


def _authorities() -> ssl.SSLContext:
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        for path in AUTHORITIES:
            if os.path.isfile(path):
                context.load_verify_locations(path)
                break
    context.set_alpn_protocols(["http/1.1"])
    return context


async def fetch(
    address: WebAddress,
    gate: Gate,
    trust: Trust,
    headers: Mapping[str, str],
    *,
    bytes_max: int = FETCH_BYTES_MAX,
    redirects_max: int = FETCH_REDIRECTS_MAX,
) -> Document:
    """GET, redirects followed. Raises FetchFailure. The caller bounds the time."""
    cookies: dict[tuple[str, str], str] = {}
    start = address
    for redirects in range(redirects_max + 1):
        sent = [f"{name}={value}" for (host, name), value in cookies.items() if host == address.host]
        extra = {"Cookie": "; ".join(sent)} if sent else {}
        document = await _exchange(address, gate, trust, {**headers, **extra}, bytes_max)
        document.redirects = redirects
        location = document.headers.get("location")
        if document.status not in REDIRECTS or location is None:
            return document
        _keep_cookies(cookies, address.host, document)
        try:
            address = address.join(location)
        except BadUrl as fault:
            raise FetchFailure(f"{shown(address.url)} redirects to an address that is not fetched. {fault}") from None
    raise FetchFailure(
        f"{shown(start.url)} redirects more than {redirects_max} times, the last time to {shown(address.url)}."
    )


def _keep_cookies(cookies: dict[tuple[str, str], str], host: str, document: Document) -> None:
    """Some sites redirect for ever to a client that sends back no cookie."""
    for line in document.headers.get("set-cookie", "").split("\n"):
        name, equals, value = line.partition(";")[0].strip().partition("=")
        if equals and len(line) <= COOKIE_CHARS_MAX and len(cookies) < COOKIES_MAX:
            cookies[host, name] = value


async def _exchange(
    address: WebAddress, gate: Gate, trust: Trust, headers: Mapping[str, str], bytes_max: int
) -> Document:
    reader, writer = await _connection(address, gate, trust)
    try:
        lines = [f"GET {address.target} HTTP/1.1", f"Host: {address.authority}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += ["Accept-Encoding: gzip, deflate", "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode("ascii"))
        answer = _Answer(address, bytes_max)
        while not answer.complete and (chunk := await reader.read(READ_BYTES)):
            answer.feed(chunk)
        return answer.document()
    except ssl.SSLError as error:
        raise FetchFailure(f"The connection to {address.authority} broke: {error.reason or error}.") from None
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise FetchFailure(f"The connection to {address.authority} broke: {reason}. Try again.") from None
    finally:
        writer.transport.abort()


async def _connection(
    address: WebAddress, gate: Gate, trust: Trust
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        connected = await gate.connect(address.host, address.port)
    except Refused as refusal:
        raise FetchFailure(f"{shown(address.url)} was refused. {refusal}") from None
    except Unreachable as fault:
        raise FetchFailure(str(fault)) from None
    try:
        if address.scheme == "http":
            return await asyncio.open_connection(sock=connected)
        return await asyncio.open_connection(
            sock=connected,
            ssl=await trust.context(),
            server_hostname=address.host.removesuffix("."),
            ssl_handshake_timeout=TLS_HANDSHAKE_S_MAX,
        )
    except ssl.SSLCertVerificationError as error:
        raise FetchFailure(
            f"{address.authority} cannot be trusted: {error.verify_message}. It was not fetched; "
            "another address of the same document, or its maker, may help."
        ) from None
    except (OSError, ValueError) as error:
        connected.close()
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise FetchFailure(f"{address.authority} does not speak TLS as it should: {reason}. Is it http://?") from None
    except BaseException:
        connected.close()
        raise


class _Answer:
    """What httptools calls while it takes an answer apart."""

    def __init__(self, address: WebAddress, bytes_max: int) -> None:
        self.complete = False
        self._address = address
        self._bytes_max = bytes_max
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._head_bytes = self._header_bytes = 0
        self._head_done = False
        self._status = 0
        self._encoding = ""
        self._inflater: zlib._Decompress | None = None
        self._chunks: list[bytes] = []
        self._bytes = 0
        self._enough = False
        """The rest of the body is never looked at: that of a redirect, or of a long error."""

    def feed(self, chunk: bytes) -> None:
        """Raises FetchFailure."""
        if not self._head_done:
            self._head_bytes += len(chunk)
        try:
            self._parser.feed_data(chunk)
        except httptools.HttpParserCallbackError as error:
            raise error.__context__ or error from None
        except httptools.HttpParserUpgrade:
            self.complete = True
        except httptools.HttpParserError as error:
            raise FetchFailure(f"{self._address.authority} does not answer in HTTP/1.1: {error}.") from None
        if not self._head_done:
            self._refuse_long_head(self._head_bytes)
        self.complete = self.complete or self._enough

    def _refuse_long_head(self, size: int) -> None:
        if size > FETCH_HEADER_BYTES_MAX:
            url = shown(self._address.url)
            raise FetchFailure(f"The headers of {url} are longer than {FETCH_HEADER_BYTES_MAX} bytes.")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        self._refuse_long_head(self._header_bytes)
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        before = self._headers.get(key)
        joint = "\n" if key == "set-cookie" else ", "
        self._headers[key] = text if before is None else f"{before}{joint}{text}"

    def on_headers_complete(self) -> None:
        self._head_done = True
        self._status = self._parser.get_status_code()
        self._encoding = self._headers.get("content-encoding", "").strip().lower()
        if self._encoding in ("gzip", "x-gzip", "deflate"):
            self._inflater = zlib.decompressobj(wbits=47)  # gzip or zlib, as it begins
        elif self._encoding not in ("", "identity"):
            said = shown(self._encoding)
            raise FetchFailure(f"{shown(self._address.url)} came compressed with {said}, which was not asked for.")
        self._enough = self._status in REDIRECTS and "location" in self._headers

    def on_body(self, body: bytes) -> None:
        if self._enough:
            return
        room = self._bytes_max + 1 - self._bytes
        if self._inflater is not None:
            body = self._inflated(body, room)
        self._chunks.append(body)
        self._bytes += len(body)
        if self._status >= 400 and self._bytes >= FETCH_ERROR_BYTES_MAX:
            self._enough = True
        elif self._bytes > self._bytes_max:
            limit = f"{self._bytes_max / 2**20:.0f} MB" if self._bytes_max >= 2**20 else f"{self._bytes_max} bytes"
            raise FetchFailure(
                f"{shown(self._address.url)} is larger than {limit}, the most that is read. "
                "Download it with a command, or look for a smaller page."
            )

    def _inflated(self, body: bytes, room: int) -> bytes:
        assert self._inflater is not None
        try:
            return self._inflater.decompress(body, room)
        except zlib.error:
            if not self._bytes and self._encoding == "deflate":  # some send it without zlib's frame
                self._inflater = zlib.decompressobj(wbits=-15)
                try:
                    return self._inflater.decompress(body, room)
                except zlib.error:
                    pass
        raise FetchFailure(f"{shown(self._address.url)} is damaged: it is not {self._encoding} as its headers say.")

    def on_message_complete(self) -> None:
        if self._status >= 200:
            self.complete = True
            return
        self._headers = {}  # 100 Continue, 103 Early Hints: the answer follows
        self._head_done = False

    def document(self) -> Document:
        """Raises FetchFailure when the answer is not whole."""
        if not self._head_done:
            raise FetchFailure(f"{self._address.authority} closed the connection without an answer. Try again.")
        framed = "content-length" in self._headers or "chunked" in self._headers.get("transfer-encoding", "").lower()
        if not self.complete and framed:
            raise FetchFailure(f"{shown(self._address.url)} broke off after {self._bytes} bytes. Try again.")
        return Document(self._address, self._status, self._headers, b"".join(self._chunks), 0)
