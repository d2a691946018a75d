"""From a URL to text: plain HTTP first, the browser where scripts make the page, the worker for what came.

What the handler of every call shares is one `Documents`. Decides how a document is fetched and what it is; fetches,
renders and converts nothing itself.
"""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import CancelledError

from scorpio import __version__
from scorpio.address_policy import Policy
from scorpio.fetch import FetchFailure, Trust, fetch
from scorpio.gate import Gate
from scorpio.limits import CLOSE_MS_MAX, FETCH_REDIRECTS_MAX
from scorpio.web_address import BadUrl, shown
from scorpio.worker_process import WorkerFailure
from tools.core.limits import PAGE_CONVERT_S, PAGE_TOTAL_S_MAX, TABS_MAX
from tools.core.read_docs import media_types
from tools.core.read_docs.browser import Browser, BrowserFailure
from tools.core.read_docs.cdp import CdpFailure
from tools.core.read_docs.page_load import OtherType, PageFailure, PageLoad, Rendered, TabUnfit
from tools.core.read_docs.workers import Workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scorpio.fetch import Document
    from scorpio.gate import Resolve
    from scorpio.settings import Settings
    from scorpio.web_address import WebAddress

AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 "
    f"scorpio/{__version__}"
)
LANGUAGES = "en,*;q=0.5"
ACCEPTED = {
    "markdown": "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5",
    "text": "text/html, application/xhtml+xml, text/markdown;q=0.9, text/plain;q=0.9, */*;q=0.5",
    "html": "text/html, application/xhtml+xml, */*;q=0.5",
}
"""Some documentation answers in markdown to those who ask for it."""

TRY_RENDERED = (403, 429, 503)
"""What sites answer to programs, and not to browsers."""

CLOSE_S_MAX = CLOSE_MS_MAX / 2000
"""Half of what a server's state has for being closed."""

REFRESH_TEXT_CHARS_MAX = 1000
"""A page with more text than this is read, although it would send its reader on."""


class Failure(Exception):
    """There is nothing to answer with: one sentence for the model."""


class Asked:
    """What one call wants."""

    __slots__ = ("address", "format", "owner", "wait_ms")

    def __init__(self, address: WebAddress, format: str, wait_ms: int | None, owner: str) -> None:
        self.address = address
        self.format = format
        self.wait_ms = wait_ms
        self.owner = owner

    @property
    def key(self) -> tuple[str, str, int | None]:
        return self.address.url, self.format, self.wait_ms


class Found:
    """What there was."""

    __slots__ = ("cacheable", "how", "media_type", "notes", "status", "text", "title", "url")

    def __init__(
        self, url: str, status: int, media_type: str, how: str, title: str, text: str, notes: list[str]
    ) -> None:
        self.url = url.partition("#")[0]
        self.status = status
        self.media_type = media_type
        self.how = how
        self.title = title
        self.text = text
        self.notes = notes
        self.cacheable = status < 400


class Documents:
    """Belongs to one event loop, and is made in it."""

    def __init__(self, settings: Settings, resolve: Resolve | None = None) -> None:
        self.browser = Browser(settings.chromium_path)
        self.workers = Workers()
        self.total_s = PAGE_TOTAL_S_MAX
        self._policy = settings.readdocs_private
        self._resolve = resolve
        self._trust = Trust()
        self._slots = asyncio.Semaphore(TABS_MAX)
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """From any thread; waits a moment for what must be reaped, unless it is the loop's own."""
        try:
            if asyncio.get_running_loop() is self._loop:
                self._close()
                return
        except RuntimeError:
            pass
        if self._loop.is_running():
            try:
                asyncio.run_coroutine_threadsafe(self.gone(), self._loop).result(CLOSE_S_MAX)
            except (TimeoutError, CancelledError):
                pass  # the supervisor of the browser, and the end of their pipe for the workers, see to the rest

    def _close(self) -> None:
        self.browser.close()
        self.workers.close()

    async def gone(self) -> None:
        """Close, and wait until nothing of it is left."""
        self._close()
        await self.workers.gone()
        await self.browser.gone()

    async def read(self, asked: Asked, tell: Callable[[str], None]) -> Found:
        """`tell` says what is happening. Raises Failure."""
        try:
            async with asyncio.timeout(self.total_s):
                if self._slots.locked():
                    tell(f"waiting: {TABS_MAX} other pages are being read")
                async with self._slots:
                    return await _Reading(self, asked, tell).read()
        except TimeoutError:
            raise Failure(
                f"{shown(asked.address.url)} was not read within {self.total_s:.0f} s. Try again, or another address."
            ) from None
        except (FetchFailure, PageFailure) as failure:
            raise Failure(str(failure)) from None
        except CdpFailure as failure:
            raise Failure(f"{shown(asked.address.url)} was not read: the browser {failure}. Try again.") from None
        except WorkerFailure as failure:
            raise Failure(
                f"{shown(asked.address.url)} could not be converted: the process that does it {failure}."
            ) from None

    def gate(self, address: WebAddress) -> Gate:
        return Gate(Policy(self._policy, address.host, address.port), self._resolve)

    @property
    def trust(self) -> Trust:
        return self._trust


class _Reading:
    """One call in progress."""

    def __init__(self, documents: Documents, asked: Asked, tell: Callable[[str], None]) -> None:
        self._documents = documents
        self._asked = asked
        self._tell = tell
        self._end_s = time.monotonic() + documents.total_s - min(PAGE_CONVERT_S, documents.total_s / 4)
        self._notes: list[str] = []
        self._site = asked.owner, asked.address.origin

    async def read(self) -> Found:
        """Raises Failure, FetchFailure, PageFailure, CdpFailure, WorkerFailure."""
        self._documents.workers.warm()
        self._documents.browser.expect(self._site)
        if self._asked.wait_ms is not None and not self._no_browser():
            self._documents.browser.warm()
            found = await self._render()
            if found is not None:
                return found
        return await self._plain()

    def _no_browser(self) -> bool:
        why = self._documents.browser.missing()
        if why:
            self._notes.append(f"Read without a browser, so nothing that scripts make is here: {why}.")
        return bool(why)

    # -- plain HTTP

    async def _plain(self) -> Found:
        address, left = self._asked.address, FETCH_REDIRECTS_MAX
        gate = self._documents.gate(address)
        while True:
            self._tell(f"fetching {shown(address.url)}")
            headers = {"User-Agent": AGENT, "Accept": ACCEPTED[self._asked.format], "Accept-Language": LANGUAGES}
            document = await fetch(address, gate, self._documents.trust, headers, redirects_max=left)
            left -= document.redirects
            kind = media_types.kind_of(document)
            if not kind:
                raise Failure(media_types.refusal(document))
            answer, text = await self._ask_worker(kind, document)
            if "failure" in answer:
                raise Failure(f"{shown(document.address.url)} {answer['failure']}.")
            onward = self._onward(answer, document)
            if onward is None:
                break
            address, left = onward, left - 1
            if left < 0:
                raise Failure(
                    f"{shown(self._asked.address.url)} sends its reader on more than {FETCH_REDIRECTS_MAX} times."
                )
        if kind == media_types.PAGE and self._wants_browser(answer, document) and not self._no_browser():
            found = await self._render()
            if found is not None:
                return found
        how = f"plain HTTP, status {document.status}, {document.media_type or 'no type'}, {_size(len(document.body))}"
        found = self._found(document.address.url, document.status, document.media_type, how, answer, text)
        found.cacheable = found.cacheable and "no-store" not in document.headers.get("cache-control", "").lower()
        return found

    async def _ask_worker(self, kind: str, document: Document) -> tuple[dict[str, Any], str]:
        question = {
            "kind": kind,
            "url": document.address.url,
            "content_type": document.headers.get("content-type", ""),
            "format": self._asked.format,
            "rendered": False,
        }
        return await self._documents.workers.ask(question, document.body)

    def _onward(self, answer: dict[str, Any], document: Document) -> WebAddress | None:
        """Where a page that is only a redirect leads."""
        target = answer.get("refresh")
        if not target or answer["chars"] > REFRESH_TEXT_CHARS_MAX or document.status >= 400:
            return None
        try:
            return document.address.join(target)
        except BadUrl as fault:
            raise Failure(
                f"{shown(document.address.url)} sends its reader to an address that is not fetched. {fault}"
            ) from None

    def _wants_browser(self, answer: dict[str, Any], document: Document) -> bool:
        if document.status in TRY_RENDERED:
            return True
        return document.status < 400 and bool(answer.get("needs_scripts"))

    # -- the browser

    async def _render(self) -> Found | None:
        """None when plain HTTP does better: it is no page, or the browser does not start."""
        try:
            return await self._render_in_tab()
        except TabUnfit:
            self._documents.browser.renew()
        try:
            return await self._render_in_tab()
        except TabUnfit:
            raise Failure(
                f"{shown(self._asked.address.url)} was not read: the browser has no network. Try again."
            ) from None

    async def _render_in_tab(self) -> Found | None:
        """Raises TabUnfit."""
        documents, address = self._documents, self._asked.address
        self._tell(f"rendering {shown(address.url)}")
        keep = None
        try:
            tab = await documents.browser.open_tab(self._site)
        except BrowserFailure as failure:
            self._notes.append(f"Read without a browser, so nothing that scripts make is here: {failure}.")
            return None
        try:
            load = PageLoad(tab, address, self._end_s)
            gate = documents.gate(address)
            tab.assign(gate, load.heard)
            try:
                page = await load.read(self._asked.wait_ms)
            except OtherType:
                return None
            how = f"{tab.version}, status {page.status}, {page.mime_type}"
            if self._asked.wait_ms:
                how += f", waited {self._asked.wait_ms} ms"
            if os.geteuid() == 0:
                how += " (without its own sandbox, because scorpio runs as root)"
            refused = list(gate.refusals.values())
            keep = self._site if load.alone(page) and not refused else None
        finally:
            documents.browser.close_tab(tab, keep)
        return await self._rendered(page, how, refused)

    async def _rendered(self, page: Rendered, how: str, refused: list[str]) -> Found:
        self._tell(f"converting {shown(page.url)}")
        html, article = page.html.encode("utf-8", "replace"), page.article.encode("utf-8", "replace")
        question = {
            "kind": media_types.PAGE,
            "url": page.url,
            "content_type": page.mime_type,
            "format": self._asked.format,
            "rendered": True,
            "html_bytes": len(html),
        }
        answer, text = await self._documents.workers.ask(question, html + article)
        self._documents.browser.expect(self._site)  # emptying the tab takes a processor that this needed first
        if "failure" in answer:
            raise Failure(f"{shown(page.url)} {answer['failure']}.")
        self._notes += page.notes
        if refused:
            more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
            self._notes.append(f"The page asked for what was refused: {refused[0]}{more}")
        return self._found(page.url, page.status, page.mime_type, how, answer, text)

    def _found(self, url: str, status: int, media_type: str, how: str, answer: dict[str, Any], text: str) -> Found:
        notes = [*self._notes, *answer.get("notes", ())]
        if answer.get("charset"):
            how += f", {answer['charset']}"
        return Found(url, status, media_type, how, answer.get("title", ""), text, notes)


def _size(count: int) -> str:
    return (
        f"{count} B" if count < 1024 else f"{count / 1024:.1f} KB" if count < 1024 * 1024 else f"{count / 2**20:.1f} MB"
    )
