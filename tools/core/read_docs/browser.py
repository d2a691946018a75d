"""One warm browser: started at first need under a supervisor of its own, closed when nobody needed it for a while.

Everything it writes is in one scratch directory, which its supervisor deletes when the last of its processes has
ended, and the next server where that was killed too. Knows tabs, not pages.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shlex
import shutil
import stat
import tempfile
import time

from scorpio.limits import GRACE_CANCEL_MS
from scorpio.process import SpawnFailure, command_environment, spawn
from tools.core.limits import BROWSER_IDLE_S, BROWSER_LOG_BYTES_MAX, BROWSER_START_S_MAX, TAB_CLOSE_S_MAX
from tools.core.read_docs import browser_program
from tools.core.read_docs.cdp import BrowserGone, Cdp, CdpFailure
from tools.core.read_docs.tab import Tab

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.process import Command

PREFIX = "scorpio-browser-"
SOCKET_PATH_CHARS = 60
"""Of a temporary directory: Chromium dies when the path of a socket it makes below is longer than 107."""

ORPHAN_S = 60
"""A scratch directory without a lock is left from a server that died while making it; by then surely."""

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
        self._idle: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
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

    async def _start(self) -> _Running:
        try:
            if not self._swept:
                self._swept = True
                await asyncio.to_thread(sweep)
            program, why = browser_program.find(self._configured, os.environ)
            if why:
                raise BrowserFailure(why)
            self._running = await _Running.start(program)
            return self._running
        finally:
            self._starting = None
            self._idle_from_now()

    async def open_tab(self) -> Tab:
        """A fresh tab in a profile of its own; `close_tab` it. Raises BrowserFailure, CdpFailure."""
        self._tab_count += 1
        try:
            try:
                return await self._open_tab()
            except BrowserGone:  # it died since it was last used: another is started
                return await self._open_tab()
        except BaseException:
            self._tab_closed()
            raise

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

    def close_tab(self, tab: Tab) -> None:
        """Its connections end now, its page within TAB_CLOSE_S_MAX; nobody waits for that."""
        tab.disconnect()
        task = asyncio.ensure_future(self._close_tab(tab))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        if self._running is not None and tab.cdp is self._running.cdp:
            self._prepare(self._running)

    async def _close_tab(self, tab: Tab) -> None:
        try:
            async with asyncio.timeout(TAB_CLOSE_S_MAX):
                await tab.close()
        except (CdpFailure, TimeoutError):
            if self._running is not None and tab.cdp is self._running.cdp:
                self.close()  # a browser that cannot close a tab is not worth keeping
        self._tab_closed()

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
            task = asyncio.ensure_future(running.command.wait_gone())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def gone(self) -> None:
        """Until tabs and browsers that were closed are no more."""
        while self._closing:
            await asyncio.wait(self._closing)

    def _forget(self) -> None:
        self._running = None
        spare, self._spare = self._spare, None
        if spare is not None and not spare.cancel() and not spare.cancelled() and spare.exception() is None:
            spare.result().disconnect()


def _heard(task: asyncio.Task[Any]) -> None:
    """Its failure is told to whoever waits for it; perhaps nobody does."""
    if not task.cancelled():
        task.exception()


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
            directory, lock_fd = _scratch()
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


# -- the scratch directory


def roots() -> list[str]:
    """Where scratch directories may be, the preferred place first."""
    places = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    return list(dict.fromkeys(place for place in places if len(place) <= SOCKET_PATH_CHARS and os.path.isdir(place)))


def _scratch() -> tuple[str, int]:
    """(path, a lock that is held as long as this server lives). Raises OSError."""
    fault: OSError | None = None
    for root in roots():
        try:
            directory = tempfile.mkdtemp(prefix=PREFIX, dir=root)
        except OSError as error:
            fault = error
            continue
        lock_fd = os.open(f"{directory}/lock", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock_fd, fcntl.LOCK_EX)
        os.mkdir(f"{directory}/tmp", 0o700)
        os.makedirs(f"{directory}/profile/Default", 0o700)
        with open(f"{directory}/profile/Default/Preferences", "w", encoding="ascii") as file:
            file.write(browser_program.PREFERENCES)
        return directory, lock_fd
    raise fault or OSError("no temporary directory is there")


def sweep() -> None:
    """Delete what servers left that were killed together with their supervisors."""
    for root in roots():
        try:
            names = [name for name in os.listdir(root) if name.startswith(PREFIX)]
        except OSError:
            continue
        for name in names:
            path = os.path.join(root, name)
            if _is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    try:
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
        lock_fd = os.open(f"{path}/lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return time.time() - found.st_mtime > ORPHAN_S
    except OSError:
        return False
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(lock_fd)
