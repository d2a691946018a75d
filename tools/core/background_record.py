"""What is on disk about one background task, and what it says about how the task is or ended.

Starts and signals no process, and does not know owners.
"""

from __future__ import annotations

import errno
import os
import time

from scorpio.process_table import process_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

META, LOG, STATUS, END, CURSOR = "meta.json", "output.log", "status", "end", "cursor"
"""Files in a task's directory. `status` is the supervisor's, `end` a server's."""

FILE_BYTES_MAX = 1024 * 1024
"""Read of any of them but the log; a record has a few hundred bytes, and up to 100 kB of command."""

COMMAND_CHARS_KEPT = 16 * 1024
CURSOR_DIGITS = 20

KILLED = "killed"
OVER_OUTPUT = "output"
HOST_ENDED = "host ended"
SUPERVISOR_KILLED = "supervisor killed"


class End:
    """How a task ended, as it is kept on disk. `code` and `signal` are the shell's."""

    __slots__ = ("code", "ended_unix_s", "reason", "signal")

    def __init__(self, code: int | None, signal: int | None, reason: str, ended_unix_s: float) -> None:
        self.code = code
        self.signal = signal
        self.reason = reason
        """"" by itself, KILLED by KillBgTask, OVER_OUTPUT when the log passed its bound; else why nobody knows more."""
        self.ended_unix_s = ended_unix_s


class Record:
    """What is known of a task from its start on."""

    __slots__ = (
        "boot",
        "command",
        "cwd",
        "owner",
        "pid",
        "started_unix_s",
        "supervisor_pid",
        "supervisor_start",
        "survive",
    )

    def __init__(self, command: str, cwd: str, owner: str, started_unix_s: float, *, survive: bool = False) -> None:
        self.command = command[:COMMAND_CHARS_KEPT]
        self.cwd = cwd
        self.owner = owner
        self.started_unix_s = started_unix_s
        self.survive = survive
        """True: it outlives its server."""
        self.pid = 0
        self.supervisor_pid = 0
        self.supervisor_start: int | None = None
        """With the pid and the boot it names a process for ever: a pid alone may be another's tomorrow."""
        self.boot = ""

    def runs_at(self, pid: int, supervisor_pid: int) -> None:
        self.pid, self.supervisor_pid = pid, supervisor_pid
        self.supervisor_start, self.boot = process_start(supervisor_pid), _boot()

    def is_running_alone(self) -> bool:
        """True while a command that outlives its server has its supervisor."""
        if not self.survive or self.supervisor_start is None or self.boot != _boot():
            return False
        return process_start(self.supervisor_pid) == self.supervisor_start


def write_record(directory: str, record: Record) -> None:
    """Raises OSError."""
    import orjson

    fields = {name: getattr(record, name) for name in Record.__slots__}
    fields["cwd"] = os.fsencode(record.cwd).decode("utf-8", "replace")
    replace(os.path.join(directory, META), orjson.dumps(fields))


def read_record(directory: str) -> Record | None:
    """None where there is none, or what stands there is not one."""
    fields = read_json(os.path.join(directory, META))
    if fields is None:
        return None
    try:
        record = Record(
            str(fields["command"]),
            str(fields["cwd"]),
            str(fields["owner"]),
            float(fields["started_unix_s"]),
            survive=fields["survive"] is True,
        )
        record.pid, record.supervisor_pid = int(fields["pid"]), int(fields["supervisor_pid"])
        record.boot, start = str(fields["boot"]), fields["supervisor_start"]
    except (KeyError, TypeError, ValueError):
        return None
    record.supervisor_start = start if type(start) is int else None
    return record


def write_end(directory: str, end: End) -> None:
    """Best effort: where it fails, the next server finds out from `status` or says `lost`."""
    import orjson

    fields = {"code": end.code, "signal": end.signal, "reason": end.reason, "ended_unix_s": end.ended_unix_s}
    try:
        replace(os.path.join(directory, END), orjson.dumps(fields))
    except OSError:
        pass


def write_cursor(directory: str, cursor: int) -> None:
    """How far the output was read, in bytes. One write in place: a crash leaves the old number or the new one."""
    try:
        file = os.open(os.path.join(directory, CURSOR), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return
    try:
        os.pwrite(file, b"%0*d" % (CURSOR_DIGITS, cursor), 0)
    except OSError:
        pass
    finally:
        os.close(file)


def read_cursor(directory: str) -> int:
    try:
        return int(read_small(os.path.join(directory, CURSOR)) or b"0")
    except ValueError:
        return 0


def end_of_lost(directory: str, *, survived: bool) -> End:
    """How a command ended whose server is dead, from its supervisor's `status`.

    A command that was to end with its server and ended by a signal was ended so.
    """
    fields = read_small(os.path.join(directory, STATUS)).split()
    try:  # exited CODE SIGNAL REASON ENDED_MS; source: build/launcher/supervisor.c
        code, signal, reason, ended_unix_s = int(fields[1]), int(fields[2]), fields[3].decode(), int(fields[4]) / 1000
    except (IndexError, ValueError):
        return End(None, None, HOST_ENDED, modified_s(os.path.join(directory, LOG)) or time.time())
    if reason == "server" or (not survived and signal >= 0):
        return End(None, None, HOST_ENDED, ended_unix_s)
    return end_of(code if code >= 0 else None, signal if signal >= 0 else None, reason.strip("-"), ended_unix_s)


def end_of(code: int | None, signal: int | None, reason: str, ended_unix_s: float) -> End:
    """From a supervisor's words. `reason`: ""; `output`; `lost` when it was killed itself; `server`."""
    if code is None and signal is None:
        reason = "lost"
    return End(code, signal, {"lost": SUPERVISOR_KILLED, "server": HOST_ENDED}.get(reason, reason), ended_unix_s)


def read_end(directory: str) -> End | None:
    fields = read_json(os.path.join(directory, END))
    if fields is None:
        return None
    code, signal, ended_s = fields.get("code"), fields.get("signal"), fields.get("ended_unix_s")
    return End(
        code if type(code) is int else None,
        signal if type(signal) is int else None,
        str(fields.get("reason", "")),
        float(ended_s) if isinstance(ended_s, int | float) else 0.0,
    )


# -- files


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def remove_directory(path: str, *, itself: bool = True) -> None:
    """Remove a directory of files; without `itself` only what is in it."""
    for name in names_in(path):
        remove(os.path.join(path, name))
    if itself:
        try:
            os.rmdir(path)
        except OSError:
            pass


def read_small(path: str) -> bytes:
    """A small file of ours; b"" when it is not there."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return read_file(file, FILE_BYTES_MAX)
    except OSError:
        return b""
    finally:
        os.close(file)


def read_file(file: int, bytes_max: int) -> bytes:
    return os.pread(file, min(bytes_max, os.fstat(file).st_size), 0)


def read_json(path: str) -> dict[str, Any] | None:
    raw = read_small(path)
    if not raw:
        return None
    import orjson

    try:
        value = orjson.loads(raw)
    except ValueError:
        return None
    return value if type(value) is dict else None


def replace(path: str, content: bytes) -> None:
    """Write a whole file: the old or the new content, never a part. Raises OSError."""
    new = path + ".new"
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(file, 0o600)
        if os.write(file, content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    except OSError:
        remove(new)
        raise
    finally:
        os.close(file)
    os.rename(new, path)


def modified_s(path: str) -> float | None:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return None


def size_bytes(path: str) -> int:
    """0 where there is nothing."""
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _boot() -> str:
    return read_pseudo("/proc/sys/kernel/random/boot_id")


def read_pseudo(path: str) -> str:
    """A file of /proc, whose size says nothing."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(256).decode("ascii", "replace").strip()
    except OSError:
        return ""


def names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
