"""Dialogs of our own: a process that shows the questions, in a popup of tmux or on the terminal, one at a time.

The server's end of the FIFO `alive` (exchange.py) is the process's life: closed when the call ends, and by the kernel
when the server is killed.
"""

from __future__ import annotations

import _thread
import asyncio
import json
import os
import select
import shutil
import sys

from scorpio.limits import ASK_WAIT_S
from tools.core.ask_user_question.answers import Answer, answered, cancelled
from tools.core.ask_user_question.exchange import ALIVE, ANSWER, QUESTIONS, SHOWN, remove, write_private
from tools.core.ask_user_question.terminal_owner import free_terminal
from tools.core.limits import DIALOG_CLOSE_MS_MAX, DIALOG_START_S_MAX, QUESTIONS_JSON_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scorpio.state.home import Home
    from tools.core.ask_user_question.questions import Question
    from tools.core.ask_user_question.screen import Saved

POPUP = ("display-popup", "-E", "-w", "80%", "-h", "80%")
"""-E: it closes with its process. tmux 3.2 has all of this."""

HANDED_ON = ("SCORPIO_HOME", "SCORPIO_CACHE_DIR", "NO_COLOR", "PYTHONPATH")
"""Variables a popup needs and would get from tmux instead, as they were when that was started."""

CLOSE_AT_END_S = 0.3
"""For the dialog to put the terminal back while the server ends; it has the rest of its life for it afterwards."""


class Dialogs:
    """Those of one server. Opened at first use; `ask` in the slow lane, `close` from any thread."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._turn: asyncio.Lock | None = None
        self._open: Dialog | None = None

    async def ask(self, questions: list[Question], *, anyway: bool) -> str | None:
        """The result; None when there is nowhere to show a dialog. Waits for its turn, ASK_WAIT_S in all.

        `anyway`: on the terminal even where something else seems to use it.
        """
        if self._turn is None:
            self._turn = asyncio.Lock()
        try:
            async with asyncio.timeout(ASK_WAIT_S), self._turn:
                return await self._popup(questions) or await self._on_terminal(questions, anyway)
        except TimeoutError:
            return cancelled(f"Nobody answered within {ASK_WAIT_S:.0f} s.")

    async def _popup(self, questions: list[Question]) -> str | None:
        tmux = shutil.which("tmux") if os.environ.get("TMUX") else None
        if tmux is None:
            return None
        environment = _environment()
        variables = [f"{name}={environment[name]}" for name in HANDED_ON if name in environment]
        return await self._run(questions, [tmux, *POPUP, "env", *variables], None)

    async def _on_terminal(self, questions: list[Question], anyway: bool) -> str | None:
        saved = free_terminal(anyway=anyway)
        return await self._run(questions, [], saved) if saved is not None else None

    async def _run(self, questions: list[Question], before: list[str], saved: Saved | None) -> str | None:
        try:
            self._open = Dialog(self._home, questions)
        except OSError:  # the state directory cannot be written, or has no FIFOs
            return None
        try:
            return await self._open.run(before, saved)
        finally:
            self._open.close()
            self._open = None

    def close(self) -> None:
        """The server ends, and what it shows with it."""
        dialog = self._open
        if dialog is not None:
            dialog.close(CLOSE_AT_END_S)


class Dialog:
    """One dialog: its directory and its process."""

    def __init__(self, home: Home, questions: list[Question]) -> None:
        """Raises OSError."""
        self._questions = questions
        self._lock = _thread.allocate_lock()
        self._alive = self._shown = -1
        self._directory = os.path.join(home.directory("ask"), os.urandom(8).hex())
        os.mkdir(self._directory, 0o700)
        try:
            write_private(self._path(QUESTIONS), json.dumps([question.as_json() for question in questions]))
            os.mkfifo(self._path(ALIVE), 0o600)
            os.mkfifo(self._path(SHOWN), 0o600)
            flags = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            self._shown = os.open(self._path(SHOWN), os.O_RDONLY | flags)
            reader = os.open(self._path(ALIVE), os.O_RDONLY | flags)  # without one a writer is refused
            try:
                self._alive = os.open(self._path(ALIVE), os.O_WRONLY | flags)
            finally:
                os.close(reader)
        except OSError:
            self.close()
            raise

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    def close(self, wait_s: float = 0.0) -> None:
        """Take the dialog off the screen, waiting for that if asked to, and its files away. From any thread."""
        with self._lock:
            alive, self._alive = self._alive, -1
            shown, self._shown = self._shown, -1
        if alive >= 0:
            os.close(alive)
        if shown >= 0:
            poll = select.poll()
            poll.register(shown, 0)  # POLLHUP: its process has ended
            if wait_s:
                poll.poll(wait_s * 1000)
            os.close(shown)
        remove(self._directory)

    async def run(self, before: list[str], saved: Saved | None) -> str | None:
        """What was answered; None when it was not shown or ended without an outcome. `before`: what runs our command.

        When this ends the process has ended, also when it is cancelled; a terminal is as it was.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *before,
                *_command(),
                self._path(QUESTIONS),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=_environment(),
            )
        except OSError:
            return None
        ended = asyncio.ensure_future(process.wait())
        try:
            if not await self._stands(ended):
                return None
            await self._readable()  # the end of `shown`: tmux may be gone before the dialog has written its answer
            return self._answer()
        finally:
            self._let_go()
            await _surely(_end(process, ended))
            if saved is not None and process.returncode is not None and process.returncode < 0:
                _put_back(saved)

    def _let_go(self) -> None:
        with self._lock:
            alive, self._alive = self._alive, -1
        if alive >= 0:
            os.close(alive)

    async def _stands(self, ended: asyncio.Future[int]) -> bool:
        """True once the dialog can be seen; False when its process ended before, or takes too long."""
        shown = asyncio.ensure_future(self._readable())
        try:
            await asyncio.wait((shown, ended), timeout=DIALOG_START_S_MAX, return_when=asyncio.FIRST_COMPLETED)
            return _read(self._shown) != b""
        finally:
            shown.cancel()

    async def _readable(self) -> None:
        """Until `shown` has something to read: what the dialog wrote, or its end."""
        loop = asyncio.get_running_loop()
        descriptor = self._shown
        if descriptor < 0:  # the server ends
            return
        readable = asyncio.Event()
        loop.add_reader(descriptor, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(descriptor)

    def _answer(self) -> str | None:
        try:
            with open(os.open(self._path(ANSWER), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as stream:
                said = json.loads(stream.read(QUESTIONS_JSON_CHARS_MAX * 8))
        except (OSError, ValueError):
            return None
        if "answers" not in said:
            return cancelled()
        return answered(self._questions, [Answer(entry["labels"], entry["typed"]) for entry in said["answers"]])


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1)
    except OSError:  # nobody has written, or it was closed at the server's end
        return b""


async def _end(process: asyncio.subprocess.Process, ended: asyncio.Future[int]) -> None:
    await asyncio.wait((ended,), timeout=DIALOG_CLOSE_MS_MAX / 1000)
    if not ended.done():
        process.kill()
        await ended


async def _surely(work: Coroutine[None, None, None]) -> None:
    """To its end, however often the call is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled_meanwhile = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled_meanwhile = True
    if cancelled_meanwhile:
        raise asyncio.CancelledError


def _put_back(saved: Saved) -> None:
    """The dialog's process was killed: its terminal is put back for it."""
    import signal

    from tools.core.ask_user_question.screen import open_terminal

    try:
        descriptor = open_terminal()
    except OSError:
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTTOU,))  # it would stop the server
    try:
        saved.put_back(descriptor)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(descriptor)


def _command() -> list[str]:
    """`scorpio answer`. The frozen program is its launcher, which brings the environment it needs."""
    if getattr(sys, "frozen", False):
        return [os.environ.get("SCORPIO_EXECUTABLE") or sys.executable, "answer"]
    return [sys.executable, "-P", "-m", "scorpio", "answer"]  # -P: nothing of the working directory is imported


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    if not getattr(sys, "frozen", False):
        root = os.path.abspath(__file__)
        for _ in __name__.split("."):
            root = os.path.dirname(root)
        environment["PYTHONPATH"] = root
    return environment
