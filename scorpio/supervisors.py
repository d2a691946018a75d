"""Processes that wait for the job of running one command: the compiled supervisor, or its Python twin.

Does not know what a command is. Not safe for threads: its owner holds a lock.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

from scorpio.command_environment import SECRETS
from scorpio.command_job import SpawnFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SIGNALS = sorted(map(int, signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}))
"""All but two. A supervisor starts with them blocked: a Ctrl-C for the server must not end it half started."""

TWIN = "import sys; sys.path.append(sys.argv[1]); from scorpio.supervise import main; main()"


class Supervisors:
    __slots__ = ("program", "program_name", "spare", "unreaped")

    def __init__(self) -> None:
        self.spare: tuple[socket.socket, int, str] | None = None
        """Control, pid and SCORPIO_SUPERVISOR of one that waits for its job."""
        self.unreaped: list[int] = []
        self.program = ""
        self.program_name = ""

    def take(self, job: bytes) -> tuple[socket.socket, int, int]:
        """(control, pid, bytes sent of `job`). Raises SpawnFailure, OSError."""
        if self.spare and self.spare[2] == os.environ.get("SCORPIO_SUPERVISOR", ""):
            control, pid, _ = self.spare
            try:
                sent = control.send(job)
                self.spare = None
                return control, pid, sent
            except OSError:
                pass  # somebody killed it
        self.drop_spare()
        return self.start(job)

    def prepare(self) -> None:
        """Starts the next command's supervisor ahead.

        With it `bash -c true` takes 1.1 to 1.2 times as long as without any supervisor, else 1.3 to 1.4; on a machine
        so busy that every new process waits for its turn, half of what it takes else.
        """
        if not self.spare:
            try:
                control, pid, _ = self.start(b"")
                self.spare = control, pid, os.environ.get("SCORPIO_SUPERVISOR", "")
            except (OSError, SpawnFailure):
                pass  # the next command says why

    def reap(self) -> bool:
        """True when none of those that have ended or will soon is left."""
        self.unreaped = [pid for pid in self.unreaped if not reaped(pid)]
        return not self.unreaped

    def drop_spare(self) -> None:
        if self.spare:
            self.spare[0].close()
            self.unreaped.append(self.spare[1])
            self.spare = None

    def start(self, job: bytes) -> tuple[socket.socket, int, int]:
        """(control, pid, bytes sent of `job`). Raises SpawnFailure, OSError."""
        path, argv, env = self.supervisor()
        ours, theirs = socket.socketpair()
        try:
            ours.setblocking(False)
            sent = ours.send(job) if job else 0  # first, so that the supervisor does not wait for it
            to_stdin = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)]
            pid = os.posix_spawn(path, argv, env, file_actions=to_stdin, setsigmask=SIGNALS, setsigdef=SIGNALS)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours, pid, sent

    def supervisor(self) -> tuple[str, list[str], Mapping[str, str]]:
        """Path, arguments and its own environment. Raises SpawnFailure, OSError."""
        name = os.environ.get("SCORPIO_SUPERVISOR", "")
        if not name:
            root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            environment = {name: value for name, value in os.environ.items() if name not in SECRETS}
            return sys.executable, [sys.executable, "-I", "-S", "-c", TWIN, root], environment
        if name != self.program_name:
            # Kept open: an upgrade that replaces or deletes the file must not stop a running server from working.
            try:
                file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                raise SpawnFailure(f"The supervisor {name} does not exist. Install scorpio anew.") from None
            program = f"/proc/self/fd/{file}"
            if not os.path.exists(program):
                os.close(file)
                program = name
            self.program, self.program_name = program, name
        return self.program, ["command-guard"], {}


def reaped(pid: int) -> bool:
    """True when a child is no more, reaped now or before; False while it lives or is ending."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True
