"""A page in a tab: loaded, waited for, read. Every step ends, whatever the page does.

Does not choose what may be reached, and does not look into what it has read.
"""

from __future__ import annotations

import asyncio
import os
import time

from scorpio.limits import FETCH_BYTES_MAX, FETCH_REDIRECTS_MAX, PROXY_BYTES_MAX
from scorpio.policy_proxy import FAULT_HEADER
from scorpio.web_address import BadUrl, parse, shown
from tools.core.limits import PAGE_LOAD_S_MAX, PAGE_QUIET_S_MAX, PAGE_TEXT_CHARS_ENOUGH, PAGE_THIN_S_MAX
from tools.core.read_docs.cdp import BrowserGone, CdpFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any, TypeVar

    from scorpio.web_address import WebAddress
    from tools.core.read_docs.tab import Tab

    T = TypeVar("T")

SCRIPTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "page_scripts")
DOCUMENTS = ("text/html", "application/xhtml+xml")
AWAITED = ("Document", "Stylesheet", "Script", "XHR", "Fetch")
"""Requests that a page's text may depend on; sockets and streams of events are never meant to end."""

UNREACHED = "net::ERR_PROXY_CONNECTION_FAILED"
"""The tab has forgotten its proxy, and asked where nobody listens: the browser's network process crashed and is new."""

NOT_FOR_BROWSERS = ("net::ERR_ABORTED", "net::ERR_INVALID_AUTH_CREDENTIALS")
"""A download, and a page that asks for a password: plain HTTP tells what they are."""

ATTEMPTS_MAX = 3
"""A page may go on to another document while it is read."""

THIN_STEP_MS = 500
BROKEN_OFF_S = 0.3
"""For a page whose body broke off: what came of it is still being parsed when that is told."""

STOPPED_S = 1.5
"""For reading a page whose scripts had to be stopped."""

_PAGE_FAULTS = {
    "net::ERR_TOO_MANY_REDIRECTS": "redirects in a circle",
    "net::ERR_UNSAFE_REDIRECT": "redirects to an address that is not fetched",
    "net::ERR_INVALID_REDIRECT": "redirects to an address that is none",
    "net::ERR_UNSAFE_PORT": "has a port that no web server uses",
    "net::ERR_EMPTY_RESPONSE": "closed the connection without an answer",
    "net::ERR_CONNECTION_CLOSED": "closed the connection without an answer",
    "net::ERR_CONNECTION_RESET": "broke the connection off",
    "net::ERR_CONTENT_LENGTH_MISMATCH": "broke off before its end",
    "net::ERR_INCOMPLETE_CHUNKED_ENCODING": "broke off before its end",
    "net::ERR_CONTENT_DECODING_FAILED": "is damaged: it is not compressed as its headers say",
    "net::ERR_INVALID_HTTP_RESPONSE": "does not answer in HTTP",
    "net::ERR_SSL_PROTOCOL_ERROR": "does not speak TLS as it should",
    "net::ERR_RESPONSE_HEADERS_TOO_BIG": "has headers that are too long",
}


class PageFailure(Exception):
    """There is no page to read: one sentence."""


class OtherType(Exception):
    """What is there is no page: a browser would show it in a viewer, or save it."""


class TabUnfit(Exception):
    """Nothing was asked for, and this tab will not reach anything any more; another one may."""


class Rendered:
    """A page as it was when it had been waited for."""

    __slots__ = ("article", "html", "mime_type", "notes", "status", "url")

    def __init__(self, html: str, article: str, url: str, status: int, mime_type: str, notes: list[str]) -> None:
        self.html = html
        self.article = article
        """The main content as Readability found it; "" where the page says itself where it is."""
        self.url = url
        self.status = status
        self.mime_type = mime_type
        self.notes = notes


class PageLoad:
    """One page in one tab. Made for one call."""

    def __init__(self, tab: Tab, address: WebAddress, end_s: float) -> None:
        """`end_s`: when it must have been read, by the monotonic clock."""
        self._tab = tab
        self._address = address
        self._end_s = end_s
        self._loop = asyncio.get_running_loop()
        self._failed: asyncio.Future[None] = self._loop.create_future()
        self._loaded = asyncio.Event()
        self._changed = asyncio.Event()
        """Something was asked for, or arrived."""
        self._in_flight: set[str] = set()
        self._hops = 0
        self._document = ""
        """The request of the newest main document."""
        self._document_bytes = self._all_bytes = 0
        self._response: dict[str, Any] = {}
        self._world: asyncio.Future[int] | None = None
        """Of our own scripts in the document that is there now, made while it loads."""
        self._alone = True
        self.notes: list[str] = []

    def alone(self, page: Rendered) -> bool:
        """True where nothing but this one site had a document in the tab, all is told, and nobody logged in."""
        try:
            return self._alone and not self._failed.done() and parse(page.url).origin == self._address.origin
        except BadUrl:
            return False

    async def read(self, wait_ms: int | None) -> Rendered:
        """Raises PageFailure, OtherType, TabUnfit, CdpFailure."""
        try:
            await self._navigate()
            await self._wait(self._loaded.wait(), PAGE_LOAD_S_MAX)
            if not self._loaded.is_set():
                self.notes.append(f"The page had not finished loading after {PAGE_LOAD_S_MAX:.0f} s.")
            if wait_ms is None:
                await self._settle()
            elif wait_ms:
                await self._pause(wait_ms / 1000)
            return await self._extract()
        finally:
            if self._failed.done():
                self._failed.exception()

    async def _wait(self, work: Awaitable[T], bound_s: float) -> T | None:
        """The result; None when it takes longer than `bound_s` or the whole time is up. Raises what went wrong."""
        task = asyncio.ensure_future(work)
        left_s = max(0.0, min(bound_s, self._end_s - time.monotonic()))
        try:
            await asyncio.wait((task, self._failed), timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            if self._failed.done():
                self._failed.result()
            return task.result() if task.done() else None
        finally:
            if not task.done():
                task.cancel()

    # -- navigation

    async def _navigate(self) -> None:
        answer = await self._wait(self._tab.send("Page.navigate", url=self._address.url), self._left_s())
        if answer is None:
            raise PageFailure(f"{shown(self._address.url)} did not answer in time. Try again, or another address.")
        fault = answer.get("errorText")
        if fault in NOT_FOR_BROWSERS or answer.get("isDownload"):
            raise OtherType
        if fault == UNREACHED and not self._hops:
            raise TabUnfit
        if fault:
            raise PageFailure(self._fault_text(fault, self._address.url))
        mime_type = self._response.get("mimeType") or DOCUMENTS[0]
        if mime_type not in DOCUMENTS:
            raise OtherType

    def _left_s(self) -> float:
        return max(0.0, self._end_s - time.monotonic())

    def _fault_text(self, fault: str, url: str) -> str:
        gate = self._tab.proxy.gate
        try:
            at = parse(url)
        except BadUrl:
            at = self._address
        known = gate.failures.get((at.host, at.port)) if gate is not None else None
        if known:
            refused = gate is not None and (at.host, at.port) in gate.refusals
            return f"{shown(at.url)} was refused. {known}" if refused else known
        if fault.startswith("net::ERR_CERT_") or "SSL" in fault:
            reason = fault.removeprefix("net::ERR_").replace("_", " ").lower()
            return f"{at.authority} cannot be trusted: {reason}. It was not fetched."
        said = _PAGE_FAULTS.get(fault)
        return f"{shown(at.url)} {said}." if said else f"{shown(at.url)} could not be loaded: {fault}."

    # -- what the browser tells

    def heard(self, method: str, params: dict[str, Any]) -> None:
        handler = _EVENTS.get(method)
        if handler is not None and not self._failed.done():
            handler(self, params)

    def _fail(self, fault: Exception) -> None:
        if not self._failed.done():
            self._failed.set_exception(fault)

    def _request(self, params: dict[str, Any]) -> None:
        self._changed.set()
        if "@" in "/".join(params["request"]["url"].split("/", 3)[:3]):
            self._alone = False  # the browser remembers passwords, and cannot be told to forget them
        if params.get("type") == "Document" and params.get("frameId") == self._tab.frame:
            again = self._document != ""
            self._document = params["requestId"]
            self._document_bytes = 0
            if "redirectResponse" in params or again:
                self._hops += 1
            if not params["request"]["url"].startswith(f"{self._address.origin}/"):
                self._alone = False
            if self._hops > FETCH_REDIRECTS_MAX:
                url = shown(params["request"]["url"])
                start = shown(self._address.url)
                self._fail(PageFailure(f"{start} redirects more than {FETCH_REDIRECTS_MAX} times, at last to {url}."))
        if params.get("type") in AWAITED and params["request"]["url"].startswith("http"):
            self._in_flight.add(params["requestId"])

    def _not_alone(self, params: dict[str, Any]) -> None:
        self._alone = False

    def _responded(self, params: dict[str, Any]) -> None:
        if params["requestId"] != self._document:
            return
        self._response = params["response"]
        headers = {name.lower(): value for name, value in self._response.get("headers", {}).items()}
        if headers.get(FAULT_HEADER.lower()):
            self._fail(PageFailure(self._fault_text("net::ERR_BLOCKED", self._response["url"])))

    def _data(self, params: dict[str, Any]) -> None:
        size = params.get("dataLength", 0)
        self._all_bytes += size
        if params["requestId"] == self._document:
            self._document_bytes += size
        if self._document_bytes > FETCH_BYTES_MAX:
            url = shown(self._address.url)
            self._fail(PageFailure(f"{url} is larger than {FETCH_BYTES_MAX >> 20} MB, the most that is read."))
        elif self._all_bytes > 2 * PROXY_BYTES_MAX or self._tab.proxy.exhausted:
            self._fail(PageFailure(f"{shown(self._address.url)} loads more than {PROXY_BYTES_MAX >> 20} MB."))

    def _ended(self, params: dict[str, Any]) -> None:
        self._in_flight.discard(params["requestId"])
        self._changed.set()

    def _load_failed(self, params: dict[str, Any]) -> None:
        self._ended(params)
        fault = params.get("errorText", "")
        if params["requestId"] != self._document or fault == "net::ERR_ABORTED":
            return
        if self._hops or fault == "net::ERR_CONTENT_DECODING_FAILED":
            self._fail(PageFailure(self._fault_text(fault, params.get("url") or self._last_url())))
        elif self._response:
            self.notes.append("The page broke off before its end.")
            self._loop.call_later(BROKEN_OFF_S, self._loaded.set)  # no event will say so

    def _last_url(self) -> str:
        gate = self._tab.proxy.gate
        failed = list(gate.failures) if gate is not None else []
        return f"https://{failed[-1][0]}:{failed[-1][1]}/" if failed else self._address.url

    def _navigated(self, params: dict[str, Any]) -> None:
        if "parentId" not in params["frame"]:
            self._world = self._tab.world()
            self._loaded.clear()
            self._changed.set()

    def _load_event(self, params: dict[str, Any]) -> None:
        self._loaded.set()

    def _crashed(self, params: dict[str, Any]) -> None:
        self._fail(PageFailure(f"{shown(self._address.url)} crashed the browser's tab. Its content was not read."))

    def _gone(self, params: dict[str, Any]) -> None:
        self._fail(BrowserGone(params.get("reason", "has ended")))

    # -- waiting

    async def _pause(self, wait_s: float) -> None:
        left_s = self._left_s()
        if wait_s > left_s:
            self.notes.append(f"Of the {wait_s:.1f} s to wait only {left_s:.1f} s were left.")
        await self._wait(asyncio.sleep(wait_s), wait_s + 1)

    async def _settle(self) -> None:
        """Until nothing is being loaded and there is something to read; or it has been waited for long enough."""
        started_s = time.monotonic()
        thin_since_s: float | None = None
        while (waited_s := time.monotonic() - started_s) < PAGE_QUIET_S_MAX and self._left_s() > 0:
            self._changed.clear()
            if not self._loaded.is_set() or self._in_flight:
                await self._wait(self._changed.wait(), PAGE_QUIET_S_MAX - waited_s)
                continue
            step_ms = THIN_STEP_MS if thin_since_s is not None else 0
            chars = await self._seen(step_ms)
            if self._in_flight or not self._loaded.is_set():
                continue
            if chars >= PAGE_TEXT_CHARS_ENOUGH:
                return
            thin_since_s = thin_since_s or time.monotonic()
            if time.monotonic() - thin_since_s >= PAGE_THIN_S_MAX:
                return

    async def _seen(self, step_ms: int) -> int:
        """Characters that a reader sees, once the page is idle or, with `step_ms`, has changed."""
        try:
            script = f"{_script('settled.js')}({PAGE_TEXT_CHARS_ENOUGH}, {step_ms})"
            return int(await self._wait(self._evaluate(script), PAGE_QUIET_S_MAX) or 0)
        except BrowserGone:
            raise
        except CdpFailure:
            return 0  # it has gone on to another document

    async def _evaluate(self, script: str) -> Any:
        if self._world is None:
            self._world = self._tab.world()
        return await self._tab.evaluate(await asyncio.shield(self._world), script)

    # -- reading

    async def _extract(self) -> Rendered:
        for attempt in range(ATTEMPTS_MAX):
            try:
                found = await self._wait(self._read_now(), self._left_s() + STOPPED_S / 2)
                if found is None:
                    found = await self._read_stopped()
                return found
            except BrowserGone:
                raise
            except CdpFailure:
                if attempt == ATTEMPTS_MAX - 1:
                    raise
                await self._wait(self._loaded.wait(), 2.0)
        raise AssertionError("unreachable")

    async def _read_stopped(self) -> Rendered:
        """Of a page whose scripts never let anybody else run."""
        self._end_s = time.monotonic() + STOPPED_S
        self._tab.send("Runtime.terminateExecution")
        found = await self._wait(self._read_now(), STOPPED_S)
        if found is None:
            busy = "scripts that never stop, or too many elements, keep the browser busy"
            raise PageFailure(f"{shown(self._address.url)} could not be read: {busy}.")
        self._alone = False
        self.notes.append("The page's scripts did not stop by themselves.")
        return found

    async def _read_now(self) -> Rendered:
        found = await self._evaluate(f"{_script('read.js')}({FETCH_BYTES_MAX})")
        if "tooLarge" in found:
            size = found["tooLarge"] / 1e6
            raise PageFailure(
                f"{shown(self._address.url)} has grown to {size:.0f} million characters, more than are read."
            )
        article = ""
        if not found["landmark"]:
            script = f"{_script('readability/Readability.js')}\n;{_script('article.js')}()"
            try:
                article = await self._evaluate(script) or ""
            except CdpFailure:
                pass  # a page that Readability cannot take: it is cut without
        status = int(self._response.get("status", 0))
        mime_type = str(self._response.get("mimeType") or DOCUMENTS[0])
        return Rendered(found["html"], article, found["url"], status, mime_type, self.notes)


_EVENTS = {
    "Network.requestWillBeSent": PageLoad._request,
    "Network.responseReceived": PageLoad._responded,
    "Network.dataReceived": PageLoad._data,
    "Network.loadingFinished": PageLoad._ended,
    "Network.loadingFailed": PageLoad._load_failed,
    "Page.frameAttached": PageLoad._not_alone,
    "Page.frameNavigated": PageLoad._navigated,
    "Page.loadEventFired": PageLoad._load_event,
    "Inspector.targetCrashed": PageLoad._crashed,
    "closed": PageLoad._gone,
}


def _script(name: str) -> str:
    with open(os.path.join(SCRIPTS, name), encoding="utf-8") as file:
        return file.read()
