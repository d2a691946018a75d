"""Commands and what they leave behind: clean environment, output to a file, one supervisor per command.

Does not know tools, owners or the protocol.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class SpawnFailure(Exception):
    """The command could not be started: one sentence saying which file and why (missing shell, bad cwd, EMFILE…)."""


class Exit:
    """How a shell ended. Exactly one of `code` and `signal` is an int, unless `reason` says that nobody knows."""

    __slots__ = ("code", "reason", "signal")

    def __init__(self, code: int | None, signal: int | None, reason: str = "") -> None:
        self.code = code
        self.signal = signal
        self.reason = reason
        """"" normally; `output` when the log passed its bound; `lost` when the supervisor was killed."""


class Command:
    """One command under its supervisor. All coroutines belong to the event loop that spawned it."""

    pid: int
    """The shell."""
    supervisor_pid: int
    exit: Exit | None
    """Set once the shell ended."""
    gone: bool
    """True once no process of the command is left (the supervisor saw ECHILD)."""

    async def wait_shell(self) -> Exit:
        """Until the shell ended. Descendants may still run and hold the output."""
        raise NotImplementedError

    async def wait_gone(self) -> None:
        """Until no descendant is left, `setsid` ones included."""
        raise NotImplementedError

    async def terminate(self, grace_ms: int) -> int:
        """TERM to every descendant, KILL after `grace_ms`, return when none is left. Idempotent.

        Returns how many processes were signalled.
        """
        raise NotImplementedError

    def survivors(self) -> list[tuple[int, str]]:
        """(pid, name) of the descendants that live now, from /proc, supervisor's own processes excluded."""
        raise NotImplementedError


async def spawn(
    command: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    log_path: str,
    output_bytes_max: int,
    status_path: str | None = None,
    survive: bool = False,
) -> Command:
    """Start `bash -c command` in a new session, stdin /dev/null, stdout+stderr appended to `log_path` (0600).

    `status_path`: file the supervisor writes once the shell ended, readable when this server is gone.
    `survive`: do not kill the command when this server dies.

    Raises SpawnFailure.
    """
    raise NotImplementedError


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without what the frozen bundle added and without scorpio's secrets, plus the fixed additions."""
    raise NotImplementedError


def end_all(grace_ms: int) -> None:
    """End every command of this process that does not survive it; returns when their supervisors are gone.

    Callable from any thread, blocks at most `grace_ms` + 500 ms. Called once, at the end of the server.
    """
    raise NotImplementedError
