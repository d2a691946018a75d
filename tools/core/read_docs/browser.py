"""One warm browser: started at first need under a supervisor of its own, closed when nobody needed it for a while.

Everything it writes is in one scratch directory, which its supervisor deletes when the last of its processes has
ended, and the next server where that was killed too. Knows tabs, not pages: a tab is fresh, or has been emptied for
another page of the same site and the same owner.
"""

from __future__ import annotations

import asyncio
import os
import shlex

from scorpio.limits import GRACE_CANCEL_MS
from scorpio.process import SpawnFailure, command_environment, spawn
from tools.core.limits import (
    BROWSER_IDLE_S,
    BROWSER_LOG_BYTES_MAX,
    BROWSER_START_S_MAX,
    TAB_CLOSE_S_MAX,
    TAB_EMPTY_AFTER_S,
    TAB_EMPTY_WAIT_S_MAX,
    TAB_PAGES_MAX,
)
from tools.core.read_docs import browser_program, browser_scratch
from tools.core.read_docs.cdp import BrowserGone, Cdp, CdpFailure
from tools.core.read_docs.tab import Tab

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any, TypeVar

    from scorpio.process import Command

    T = TypeVar("T")
    Site = tuple[str, str]
    """Whose pages, and their origin as browsers write it: scheme, host and port."""

LOG_TAIL_BYTES = 4096


class BrowserFailure(Exception):
    """There is no browser. One sentence, without a full stop."""


class Browser:
    """Belongs to one event loop."""

    def __init__(self, configured: str) -> None:
        self._configured = configured
        self._running: _Running | None = None
        self._starting: asyncio.Task[_Running] | None = None
        self._spare: asyncio.Task[Tab] | None = None
        self._kept: _Kept | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[Any]] = set()
        self._tab_count = 0
        self._swept = False

    def missing(self) -> str:
        """Why no browser can be started here; empty where one can be tried."""
        return browser_program.find(self._configured, os.environ)[1]

    @property
    def pid(self) -> int:
        """Of the browser's first process; 0 when none runs."""
        return self._running.command.pid if self._running is not None else 0

    def warm(self) -> None:
        """Begin to start it, for a tab that will be wanted soon."""
        if self._running is None and self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
            self._starting.add_done_callback(_heard)

    def expect(self, site: Site) -> None:
        """A page of this site is being fetched: its tab is made ready meanwhile, where one is kept."""
        if self._kept is not None and self._kept.site == site:
            self._kept.wanted.set()

    async def _start(self) -> _Running:
        try:
            if not self._swept:
                self._swept = True
                await asyncio.to_thread(browser_scratch.sweep)
            program, why = browser_program.find(self._configured, os.environ)
            if why:
                raise BrowserFailure(why)
            self._running = await _Running.start(program)
            return self._running
        finally:
            self._starting = None
            self._idle_from_now()

    async def open_tab(self, site: Site) -> Tab:
        """A tab in a profile of its own with nothing in it; `close_tab` it. Raises BrowserFailure, CdpFailure."""
        self._tab_count += 1
        try:
            kept = await self._taken_kept(site)
            if kept is not None:
                return kept
            try:
                return await self._open_tab()
            except BrowserGone:  # it died since it was last used: another is started
                return await self._open_tab()
        except BaseException:
            self._tab_closed()
            raise

    async def _taken_kept(self, site: Site) -> Tab | None:
        """The tab of the last page, where that was of the same site; else it is closed when another is kept."""
        kept = self._kept
        if kept is None or kept.site != site:
            return None
        self._kept = None
        kept.wanted.set()
        try:
            await asyncio.wait((kept.emptied,), timeout=TAB_EMPTY_WAIT_S_MAX)
        except asyncio.CancelledError:
            self._dispose(kept.tab)
            raise
        if kept.emptied.done() and kept.emptied.result() and not kept.tab.crashed:
            return kept.tab
        self._dispose(kept.tab)
        return None

    async def _open_tab(self) -> Tab:
        if self._running is not None and self._running.cdp.closed.done():
            self._forget()
        running = self._running
        if running is None:
            self.warm()
            assert self._starting is not None
            running = await asyncio.shield(self._starting)  # others may wait for it too
        return await self._taken_spare(running) or await running.open_tab()

    def _prepare(self, running: _Running) -> None:
        """A tab for the next call: a profile, a window and a process take twice as long as most pages."""
        if self._spare is None:
            self._spare = asyncio.ensure_future(running.open_tab())
            self._spare.add_done_callback(_heard)

    async def _taken_spare(self, running: _Running) -> Tab | None:
        spare, self._spare = self._spare, None
        if spare is None:
            return None
        try:
            tab = await asyncio.shield(spare)
        except (CdpFailure, OSError):
            return None
        except asyncio.CancelledError:
            self._spare = spare  # it is still good
            raise
        return tab if tab.cdp is running.cdp and not tab.crashed else None

    def close_tab(self, tab: Tab, keep: Site | None = None) -> None:
        """Its connections end now, its page within TAB_CLOSE_S_MAX; nobody waits for that.

        `keep`: the site whose next page may have this tab, emptied. A renderer that is there, with the site's scripts
        compiled, takes a third of the time.
        """
        running = self._running
        if running is None or tab.cdp is not running.cdp:
            keep = None
        else:
            self._prepare(running)
        if keep is None or tab.crashed or tab.pages_count >= TAB_PAGES_MAX:
            self._dispose(tab)
        else:
            if self._kept is not None:
                self._dispose(self._kept.tab)
            tab.release()
            wanted = asyncio.Event()
            self._kept = _Kept(keep, tab, wanted, self._in_background(_emptied(tab, keep, wanted)))
        self._tab_closed()

    def _dispose(self, tab: Tab) -> None:
        tab.disconnect()
        self._in_background(self._close_tab(tab))

    def _in_background(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.ensure_future(work)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return task

    async def _close_tab(self, tab: Tab) -> None:
        try:
            async with asyncio.timeout(TAB_CLOSE_S_MAX):
                await tab.close()
        except (CdpFailure, TimeoutError):
            if self._running is not None and tab.cdp is self._running.cdp:
                self.close()  # a browser that cannot close a tab is not worth keeping

    def _tab_closed(self) -> None:
        self._tab_count -= 1
        self._idle_from_now()

    def _idle_from_now(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(BROWSER_IDLE_S, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self._tab_count == 0:
            self.close()

    def close(self) -> None:
        """End the browser and all its processes; the next tab starts another."""
        running = self._running
        self._forget()
        if running is not None:
            running.end("was closed")
            self._in_background(running.command.wait_gone())

    async def gone(self) -> None:
        """Until tabs and browsers that were closed are no more."""
        while self._closing:
            await asyncio.wait(self._closing)

    def renew(self) -> None:
        """Close the tabs that wait for a page: they reach nothing, because the browser's network is a new one."""
        kept, self._kept = self._kept, None
        if kept is not None:
            self._dispose(kept.tab)
        spare, self._spare = self._spare, None
        if spare is not None and not spare.cancel() and not spare.cancelled() and spare.exception() is None:
            self._dispose(spare.result())

    def _forget(self) -> None:
        self._running = None
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.tab.disconnect()
        spare, self._spare = self._spare, None
        if spare is not None and not spare.cancel() and not spare.cancelled() and spare.exception() is None:
            spare.result().disconnect()


def _heard(task: asyncio.Task[Any]) -> None:
    """Its failure is told to whoever waits for it; perhaps nobody does."""
    if not task.cancelled():
        task.exception()


class _Kept:
    """A tab that waits for the next page of its site."""

    __slots__ = ("emptied", "site", "tab", "wanted")

    def __init__(self, site: Site, tab: Tab, wanted: asyncio.Event, emptied: asyncio.Task[bool]) -> None:
        self.site = site
        self.tab = tab
        self.wanted = wanted
        """Set when somebody waits for it."""
        self.emptied = emptied
        """False: it could not be emptied, and is no good."""


async def _emptied(tab: Tab, site: Site, wanted: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(TAB_EMPTY_AFTER_S):
            await wanted.wait()
    except TimeoutError:
        pass  # by now the page that was read is converted, and answered with
    try:
        async with asyncio.timeout(TAB_CLOSE_S_MAX):
            await tab.empty(site[1])
        return True
    except (CdpFailure, TimeoutError):
        return False


class _Running:
    """A browser that has answered."""

    def __init__(self, cdp: Cdp, command: Command, lock_fd: int, directory: str) -> None:
        self.cdp = cdp
        self.command = command
        self.directory = directory
        self._version: dict[str, str] = {}
        self._lock_fd = lock_fd
        self.cdp.closed.add_done_callback(lambda _: self.end("has ended"))

    @classmethod
    async def start(cls, program: str) -> _Running:
        """Raises BrowserFailure."""
        try:
            directory, lock_fd = browser_scratch.create()
        except OSError as error:
            raise BrowserFailure(f"no directory could be made for {program}: {error.strerror or error}") from None
        cdp = _pipes(directory)
        log = os.open(f"{directory}/log", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            running = cls(cdp, await _spawned(program, directory), lock_fd, directory)
            try:
                await running._greet(program, log)
            except BaseException:
                running.end("did not start")
                raise
            return running
        except SpawnFailure as failure:
            cdp.close("did not start")
            os.close(lock_fd)
            raise BrowserFailure(f"{program} could not be started: {failure}") from None
        finally:
            os.close(log)

    async def open_tab(self) -> Tab:
        """Raises CdpFailure, OSError."""
        return await Tab.open(self.cdp, self._version)

    async def _greet(self, program: str, log: int) -> None:
        ended = asyncio.ensure_future(self.command.wait_shell())
        hello = self.cdp.send("Browser.getVersion")
        try:
            await asyncio.wait((ended, hello), timeout=BROWSER_START_S_MAX, return_when=asyncio.FIRST_COMPLETED)
            if not hello.done() or hello.exception() is not None:
                if self.cdp.closed.done():  # its end of a pipe closes a moment before it has ended
                    await asyncio.wait((ended,), timeout=1.0)
                how = "ended at once" if ended.done() else f"did not answer within {BROWSER_START_S_MAX} s"
                raise BrowserFailure(f"{program} {how}{_last_words(log)}")
            self._version = hello.result()
        finally:
            ended.cancel()

    def end(self, reason: str) -> None:
        """Idempotent. Its supervisor kills what does not go by itself, and deletes the directory."""
        self.cdp.close(reason)
        self.command.ask_to_terminate(GRACE_CANCEL_MS)
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1


async def _spawned(program: str, directory: str) -> Command:
    """Raises SpawnFailure."""
    words = browser_program.arguments(program, directory, sandboxed=os.geteuid() != 0)
    return await spawn(
        f"exec {' '.join(map(shlex.quote, words))} 3<in 4>out",
        cwd=directory,
        env=browser_program.environment(command_environment(os.environ), directory),
        log_path=f"{directory}/log",
        output_bytes_max=BROWSER_LOG_BYTES_MAX,
        scratch_path=directory,
    )


def _last_words(log: int) -> str:
    size = os.fstat(log).st_size
    lines = os.pread(log, LOG_TAIL_BYTES, max(0, size - LOG_TAIL_BYTES)).decode("utf-8", "replace").splitlines()
    telling = [line for line in lines if "FATAL" in line or "No usable sandbox" in line] or lines[-1:]
    return f": {telling[-1].strip()[:300]}" if telling and telling[-1].strip() else ""


def _pipes(directory: str) -> Cdp:
    """Named pipes, because a supervisor hands down no descriptors."""
    for name in ("in", "out"):
        os.mkfifo(f"{directory}/{name}", 0o600)
    # For both ways, or opening it would wait for the browser to read.
    write_fd = os.open(f"{directory}/in", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    read_fd = os.open(f"{directory}/out", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    return Cdp(write_fd, read_fd)
