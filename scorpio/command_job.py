"""A command as its supervisor gets it: shell, arguments, files and bounds in one block of bytes.

Starts nothing. Says in a sentence why something could not be started.
"""

from __future__ import annotations

import errno
import os

from scorpio.limits import (
    ARGUMENT_BYTES_MAX,
    GRACE_END_MS,
    GRACE_TIMEOUT_MS,
    JOB_BYTES_MAX,
    KILL_STUCK_MS,
    SETTLE_MS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BOUNDS = f"{GRACE_END_MS}\0{GRACE_TIMEOUT_MS}\0{SETTLE_MS}\0{KILL_STUCK_MS}".encode()
"""As they stand in a job, after `survive`."""

LONG_COMMAND_BYTES = ARGUMENT_BYTES_MAX - 1024
"""From here a command goes through a file: the kernel counts the final NUL, and a sandbox may add a little."""

CWD_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "is not a directory",
    errno.ELOOP: "is a loop of symbolic links",
    errno.EACCES: "may not be entered by this user",
    errno.ENAMETOOLONG: "is too long a path",
}
NO_DESCRIPTORS = "There are no file descriptors left. Try again when other commands or connections have ended."
TOO_LONG = "The command and its environment are longer than the kernel takes (E2BIG). Unset large variables."
NO_PROCESSES = "No further process can be started (EAGAIN). Try again when other commands have ended."


class SpawnFailure(Exception):
    """The command could not be started: one sentence saying which file and why (missing shell, bad cwd, EMFILE…)."""


class Job:
    """What is to run, for one supervisor. `discard` when it did not start."""

    __slots__ = ("command_path", "cwd", "log_path", "packed", "program", "scratch_path", "shell", "wrapper")

    def __init__(
        self,
        command: str,
        *,
        env: Mapping[str, str],
        cwd: str,
        log_path: str,
        output_bytes_max: int,
        status_path: str,
        survive: bool,
        prefix: Sequence[str],
        confinement: Sequence[str],
        scratch_path: str,
    ) -> None:
        """Raises SpawnFailure, and OSError when the file of a long command cannot be written."""
        argument = _argument(command)
        if "\0" in "".join((cwd, log_path, status_path, scratch_path, *prefix, *confinement)):
            paths = [cwd, log_path, status_path, scratch_path, *prefix]
            raise SpawnFailure(f"A path contains a NUL byte: {paths}. Leave it out.")
        self.cwd = cwd
        self.log_path = log_path
        self.shell = find_shell(env.get("PATH", ""))
        self.program = prefix[0] if prefix else self.shell
        self.wrapper = os.path.basename(prefix[0]) if prefix else ""
        """Name of a program that stays beside the shell."""
        self.command_path = ""
        self.scratch_path = scratch_path.rstrip("/")
        if len(argument) >= LONG_COMMAND_BYTES:
            argument = self._through_file(argument)
        shell_name = self.shell if prefix else os.path.basename(self.shell)
        delete = f"{self.scratch_path}/" if self.scratch_path else self.command_path
        places = (cwd, log_path, status_path, delete, self.program)
        counts = (str(len(confinement)), str(len(prefix) + 3))
        fields = "\0".join((*places, *counts, *confinement, *prefix, shell_name, "-c"))
        body = b"%d\0%b\0%d\0%b\0%b\0%b" % (
            survive, BOUNDS, max(0, output_bytes_max), os.fsencode(fields), argument, _packed_environment(env)
        )  # fmt: skip
        if len(body) > JOB_BYTES_MAX:
            self.discard()
            raise SpawnFailure(TOO_LONG)
        self.packed = b"%08d%b" % (len(body), body)

    def _through_file(self, command: bytes) -> bytes:
        """A short command that runs the long one from a file; `$0`, `$$` and the exit code stay what they would be."""
        name = f"{os.urandom(6).hex()}.command"
        self.command_path = f"{self.scratch_path}/{name}" if self.scratch_path else f"{self.log_path}.{name}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(self.command_path, flags, 0o600)
        try:
            view = memoryview(command)
            while view:
                view = view[os.write(file, view) :]
        except OSError:
            self.discard()
            raise
        finally:
            os.close(file)
        quoted = b"'" + os.fsencode(self.command_path).replace(b"'", b"'\\''") + b"'"
        if os.path.basename(self.shell) == "bash":
            return b'eval "$(<%b)"' % quoted
        return b'eval "$(/bin/cat %b 2>/dev/null || cat %b)"' % (quoted, quoted)  # PATH may be useless

    def discard(self) -> None:
        """Deletes the file of a long command and the scratch directory. The supervisor does it when it ran."""
        if self.scratch_path:
            import shutil

            shutil.rmtree(self.scratch_path, ignore_errors=True)
        elif self.command_path:
            try:
                os.unlink(self.command_path)
            except OSError:
                pass  # never written, or deleted by the supervisor

    def refusal(self, number: int, what: str) -> str:
        """Why the supervisor could not start it, from its `failed` line. `number` is an errno."""
        reason = os.strerror(number)
        if what == "cwd":
            return f"The working directory {self.cwd} {CWD_REASONS.get(number, reason)}. Name an existing directory."
        if what == "log":
            return f"The log {self.log_path} cannot be written: {reason}. Check the directory it is in."
        if what == "program" and number == errno.ENOENT:
            return f"There is no shell: {self.program} does not exist. Install bash, or put it in PATH."
        if what == "program" and number != errno.E2BIG:
            return f"{self.program} cannot be run: {reason}. Check its mode and its file system."
        if what == "confinement":
            return f"The sandbox could not be set up ({reason}), so the command was not run."
        if what == "supervisor":
            return "The supervisor of the command ended before the command started. Try again."
        if what == "job":
            return "The supervisor did not understand its job: it is not of this version. Install scorpio anew."
        return explain(number)


def explain(number: int) -> str:
    """Why nothing could be started, from an errno."""
    if number in (errno.EMFILE, errno.ENFILE):
        return NO_DESCRIPTORS
    if number == errno.E2BIG:
        return TOO_LONG
    if number == errno.EAGAIN:
        return NO_PROCESSES
    return f"The command could not be started: {os.strerror(number)}."


def find_shell(search_path: str) -> str:
    """The first executable `bash` in the absolute directories of `search_path`, else `/bin/sh`, looked at or not."""
    for directory in search_path.split(":"):
        path = f"{directory}/bash"
        if directory.startswith("/") and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return "/bin/sh"


def _packed_environment(env: Mapping[str, str]) -> bytes:
    packed = os.fsencode("".join([f"{name}={value}\0" for name, value in env.items()]))
    if packed.count(b"\0") != len(env) or any("=" in name or not name for name in env):
        raise SpawnFailure("The environment holds an empty name, a name with `=`, or a NUL byte. Mend that variable.")
    return packed


def _argument(command: str) -> bytes:
    at = command.find("\0")
    if at >= 0:
        raise SpawnFailure(f"The command contains a NUL byte at character {at}. A shell cannot take it; leave it out.")
    try:
        return command.encode()
    except UnicodeEncodeError as error:
        raise SpawnFailure(
            f"The command contains a lone surrogate at character {error.start}. Send text that is valid Unicode."
        ) from None
