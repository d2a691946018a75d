"""Commands and what they leave behind: clean environment, output to a file, one supervisor per command.

Does not know tools, owners or the protocol, and kills nothing itself: the supervisor, ancestor of all that a command
starts, does. What it is and what it says: build/launcher/supervisor.c; scorpio/supervise.py is the same in Python.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import threading
import time

from scorpio.command_environment import BARE_PATH, command_environment
from scorpio.command_job import Job, SpawnFailure, explain
from scorpio.limits import KILL_STUCK_MS, SPARE_AFTER_MS
from scorpio.process_table import process_start, survivors_of
from scorpio.supervisors import Supervisors, reaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Command",
    "Exit",
    "SpawnFailure",
    "command_environment",
    "end_all",
    "login_path",
    "process_start",
    "read_status",
    "spawn",
    "survivors_of",
]

REAP_AGAIN_S_MAX = 0.5


class Exit:
    """How a shell ended. Exactly one of `code` and `signal` is an int, unless `reason` says that nobody knows."""

    __slots__ = ("code", "reason", "signal")

    def __init__(self, code: int | None, signal: int | None, reason: str = "") -> None:
        self.code = code
        self.signal = signal
        self.reason = reason
        """"" normally; `output` when the log passed its bound; `server` when the server ended first; `lost` when
        the supervisor was killed."""

    def __repr__(self) -> str:
        return f"Exit({self.code}, {self.signal}, {self.reason!r})"


class Command:
    """One command under its supervisor. All coroutines belong to the event loop that spawned it."""

    __slots__ = (
        "_ended",
        "_held",
        "_job",
        "_killed_count",
        "_parent_pid",
        "_refusal",
        "_shell_ended",
        "_terminated",
        "_unsent",
        "control",
        "ends_with_server",
        "exit",
        "gone",
        "loop",
        "output_ended",
        "pid",
        "shell",
        "supervisor_pid",
        "survive",
    )

    def __init__(self, job: Job, unsent: bytes, control: socket.socket, supervisor_pid: int, survive: bool) -> None:
        self.control = control
        self.supervisor_pid = supervisor_pid
        self.survive = survive
        self.shell = job.shell
        """Path of the shell; `/bin/sh` when PATH has no bash."""
        self.pid = 0
        """The shell."""
        self.exit: Exit | None = None
        """Set once the shell ended."""
        self.gone = False
        """True once no process of the command is left (the supervisor saw ECHILD)."""
        self.output_ended = False
        """True once the log passed its bound, which ends the command and all that it left behind."""
        self.ends_with_server = False
        """True once `end_all` ends it, whatever it makes of that itself."""
        self._job = job
        self._unsent = unsent
        self.loop = asyncio.get_running_loop()
        self._parent_pid = 0
        self._held = b""
        self._killed_count = 0
        self._refusal: asyncio.Future[str] = self.loop.create_future()
        self._shell_ended = asyncio.Event()
        self._ended = asyncio.Event()
        self._terminated = asyncio.Event()

    async def wait_shell(self) -> Exit:
        """Until the shell ended. Descendants may still run and hold the output."""
        await self._shell_ended.wait()
        return self.exit or Exit(None, None, "lost")

    async def wait_gone(self) -> None:
        """Until no descendant is left, `setsid` ones included."""
        await self._ended.wait()

    async def terminate(self, grace_ms: int) -> int:
        """TERM to every descendant, KILL after `grace_ms`, return when none is left. Idempotent.

        Returns how many processes were signalled. Returns with `gone` False when one outlives KILL by KILL_STUCK_MS
        (another user's, or hanging in the kernel); the supervisor goes on trying.
        """
        self.ask_to_terminate(grace_ms)
        try:
            await asyncio.wait_for(self._terminated.wait(), (grace_ms + 2 * KILL_STUCK_MS) / 1000)
        except TimeoutError:
            pass  # the supervisor itself hangs; `gone` tells the caller
        return self._killed_count

    def ask_to_terminate(self, grace_ms: int) -> None:
        """As `terminate`, without waiting; from any thread."""
        with _live.lock:
            if self.control.fileno() < 0:
                return
            try:
                os.kill(self.supervisor_pid, signal.SIGCONT)  # not reaped while control is open: the number is its own
                self.control.send(b"terminate %d\n" % max(0, grace_ms))
            except OSError:
                pass  # it has ended; `_readable` hears it

    def survivors(self) -> list[tuple[int, str]]:
        """(pid, name) of the descendants that live now, from /proc, the supervisor's and the sandbox's own excluded."""
        found = [] if self.gone else survivors_of(self.supervisor_pid, self._parent_pid)
        return [each for each in found if each[1] != self._job.wrapper]

    async def start(self) -> None:
        """Hands over what the socket did not take of the job, and returns when the shell runs. Raises SpawnFailure."""
        self.loop.add_reader(self.control.fileno(), self._readable)  # by number: asyncio formats an object, 20 us
        if self._unsent:
            try:
                await self.loop.sock_sendall(self.control, self._unsent)
                self._unsent = b""
            except OSError:
                pass  # it has ended; `_readable` hears why
            finally:
                if self._unsent:
                    self.control.shutdown(socket.SHUT_WR)  # half a job starts nothing
        refusal = await self._refusal
        if refusal:
            raise SpawnFailure(refusal)

    def _readable(self) -> None:
        try:
            data = self.control.recv(4096)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        *lines, self._held = (self._held + data).split(b"\n")
        for line in lines:
            self._told(line.decode("ascii").split(" "))
        if not data:
            self._closed()

    def _told(self, words: list[str]) -> None:
        match words:
            case ["started", pid, parent_pid]:
                self.pid, self._parent_pid = int(pid), int(parent_pid)
                self._answer("")
                self.loop.call_later(SPARE_AFTER_MS / 1000, _live.prepare)
            case ["failed", number, what]:
                self._answer(self._job.refusal(int(number), what))
            case ["exited", *how]:
                self._shell_gone(_exit(how))
            case ["output"]:
                self.output_ended = True
            case ["gone"]:
                self.gone = True
                self._ended.set()
            case ["stuck", _]:
                self._terminated.set()
            case ["killed", count]:
                self._killed_count = int(count)
                self._terminated.set()

    def _answer(self, refusal: str) -> None:
        if not self._refusal.done():
            self._refusal.set_result(refusal)

    def _shell_gone(self, how: Exit) -> None:
        if self.exit is None:
            self.exit = how
            self._shell_ended.set()

    def _closed(self) -> None:
        self.loop.remove_reader(self.control.fileno())
        if self.exit is None and self.pid:
            # Guard and parent were killed in one moment. What is left has no common ancestor; its first group is known.
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except OSError:
                pass
            self._job.discard()
        self._answer(self._job.refusal(0, "supervisor"))
        self._shell_gone(Exit(None, None, "lost"))
        self.gone = True
        self._ended.set()
        self._terminated.set()
        _live.forget(self)
        self._reap(0.001)

    def _reap(self, again_s: float) -> None:
        """The socket closes a moment before the process ends."""
        if not _live.reap():
            self.loop.call_later(again_s, self._reap, min(2 * again_s, REAP_AGAIN_S_MAX))


class _LiveCommands:
    """The commands of this process whose supervisor may live. Belongs to the process, as its children do."""

    __slots__ = ("commands", "lock", "login_path", "supervisors")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        """Held while a control socket is made, written to or closed, so that no thread writes to a descriptor that
        has become somebody else's."""
        self.supervisors = Supervisors()
        self.commands: list[Command] = []
        self.login_path = ""

    def start(self, job: Job, survive: bool) -> Command:
        """Raises SpawnFailure, OSError."""
        with self.lock:
            self.sweep()
            control, pid, sent = self.supervisors.take(job.packed)
            command = Command(job, job.packed[sent:], control, pid, survive)
            self.commands.append(command)
        return command

    def sweep(self) -> None:
        """Lets go of commands that nobody can hear any more; their supervisors end them."""
        for command in [one for one in self.commands if one.loop.is_closed()]:
            self.let_go(command)
        self.supervisors.reap()

    def prepare(self) -> None:
        with self.lock:
            self.supervisors.prepare()

    def forget(self, command: Command) -> None:
        with self.lock:
            self.let_go(command)

    def let_go(self, command: Command) -> None:
        self.commands.remove(command)
        command.control.close()
        self.supervisors.unreaped.append(command.supervisor_pid)

    def reap(self) -> bool:
        with self.lock:
            return self.supervisors.reap()


_live = _LiveCommands()


async def spawn(
    command: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    log_path: str,
    output_bytes_max: int,
    status_path: str | None = None,
    survive: bool = False,
    prefix: Sequence[str] = (),
    confinement: Sequence[str] = (),
    scratch_path: str = "",
) -> Command:
    """Start `bash -c command` in a new session, stdin /dev/null, stdout+stderr appended to `log_path` (0600).

    All paths are absolute. `output_bytes_max`: 0 for no bound. `status_path`: file the supervisor writes once the
    shell ended, readable when this server is gone (`read_status`). `survive`: do not kill the command when this
    server dies. `prefix`: a program and its arguments that exec the shell, such as a sandbox. `confinement`: what the
    supervisor does to the process before that (scorpio/sandbox.py). `scratch_path`: a directory of this command alone,
    deleted with all in it when none of its processes is left, by the supervisor, so that it does not outlive a server
    that was killed; `log_path` may be in it. The job is handed over before this first waits.

    Raises SpawnFailure.
    """
    try:
        job = Job(
            command,
            env=env,
            cwd=cwd,
            log_path=log_path,
            output_bytes_max=output_bytes_max,
            status_path=status_path or "",
            survive=survive,
            prefix=prefix,
            confinement=confinement,
            scratch_path=scratch_path,
        )
    except OSError as error:
        raise SpawnFailure(explain(error.errno or 0)) from None
    try:
        started = _live.start(job, survive)
        try:
            await started.start()
        except asyncio.CancelledError:
            started.ask_to_terminate(0)
            raise
    except OSError as error:
        job.discard()
        raise SpawnFailure(explain(error.errno or 0)) from None
    except BaseException:
        job.discard()
        raise
    return started


def end_all(grace_ms: int) -> None:
    """End every command of this process that does not survive it; returns when their supervisors are gone.

    Callable from any thread, also while the event loop hangs; blocks at most `grace_ms` + 500 ms. Called once, at the
    end of the server.
    """
    deadline = time.monotonic() + (grace_ms + 500) / 1000
    with _live.lock:
        _live.supervisors.drop_spare()
    ending = [command for command in list(_live.commands) if not command.survive]
    for command in ending:
        command.ends_with_server = True
        command.ask_to_terminate(grace_ms)
    while ending and (left_ms := (deadline - time.monotonic()) * 1000) > 0:
        with _live.lock:
            files = [file for command in ending if (file := command.control.fileno()) >= 0]
        hung_up = select.poll()
        for file in files:
            hung_up.register(file, 0)  # hang-up is told unasked; what is to read belongs to the event loop
        if not files or hung_up.poll(left_ms):
            ending = [command for command in ending if not reaped(command.supervisor_pid)]
            time.sleep(0.001)  # the socket closes a moment before the process ends


def read_status(path: str) -> tuple[Exit, float] | None:
    """How the shell ended and when (Unix time, s), as its supervisor wrote it to `status_path`. None: not ended."""
    try:
        with open(path, encoding="ascii") as file:
            word, *how, ended_ms = file.read(256).split()
        return (_exit(how), int(ended_ms) / 1000) if word == "exited" else None
    except (OSError, ValueError):
        return None


async def login_path(env: Mapping[str, str]) -> str:
    """The PATH commands should get: that of the login shell when `env` has a desktop program's bare one, else its own.

    Asks the login shell once, for at most LOGIN_PATH_MS.
    """
    path = env.get("PATH", "")
    if path != BARE_PATH:
        return path
    if not _live.login_path:
        from scorpio.login_shell import ask_path

        _live.login_path = await ask_path(env) or path
    return _live.login_path


def _exit(how: Sequence[str]) -> Exit:
    """From the fields of an `exited` line. Raises ValueError."""
    code, number, reason = how
    return Exit(
        int(code) if int(code) >= 0 else None,
        int(number) if int(number) >= 0 else None,
        "" if reason == "-" else reason,
    )
