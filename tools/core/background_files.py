"""Background tasks on disk, shared by every server of one state directory: records, logs, who owns what.

    tasks/ID/      meta.json  output.log  status (by the supervisor)  end (by a server)  cursor
    output/        logs of Bash; kept only where an answer names them
    servers/       NAME.lock, locked while that server lives; inside, the ids of its tasks, a line each

Files instead of a database: the supervisor writes `status` when no server is left, and instant tools read them.
Starts and signals no process, and does not know owners.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from scorpio.limits import LOGS_FRESH_S, LOGS_KEPT_BYTES_MAX, TASKS_KEPT_DAYS, TASKS_KEPT_MAX
from tools.core.background_record import (
    END,
    LOG,
    META,
    end_of_lost,
    modified_s,
    names_in,
    read_cursor,
    read_end,
    read_file,
    read_record,
    remove,
    remove_directory,
    size_bytes,
    write_end,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.state.home import Home
    from tools.core.background_record import End, Record

IDS_BYTES_MAX = 64 * 1024
"""Read of a server's list of ids: thousands, and 200 finished tasks are kept."""

UNFINISHED_KEPT_S = 24 * 3600
"""A directory without a record is left from a server that died while starting a task; by then surely."""


class Adopted:
    """What a server left behind that is dead now."""

    __slots__ = ("cursor", "directory", "end", "end_is_new", "record", "task_id")

    def __init__(
        self, task_id: int, directory: str, record: Record, end: End | None, cursor: int, *, end_is_new: bool
    ) -> None:
        self.task_id = task_id
        self.directory = directory
        self.record = record
        self.end = end
        """None: it lives on (BG_SURVIVE)."""
        self.end_is_new = end_is_new
        """It ended with its server, or after it: nobody knew of it before."""
        self.cursor = cursor


class BackgroundFiles:
    """The files of one server. Nothing is touched before the first task or log."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lock_file = -1
        self._lock_path = ""
        self._last_id = 0

    # -- a task's life

    def create(self) -> tuple[int, str]:
        """A new id and its directory, this server's from now on. Raises OSError.

        The highest directory is the counter: `clean` never removes it, so ids are never used twice.
        """
        tasks = self._home.directory("tasks")
        self._live()
        task_id = max(self._last_id, *(int(name) for name in os.listdir(tasks) if name.isdigit()), 0)
        while True:
            task_id += 1
            directory = os.path.join(tasks, str(task_id))
            try:
                os.mkdir(directory, 0o700)
            except FileExistsError:
                continue  # another server was faster
            os.chmod(directory, 0o700)  # mkdir's mode passes through the umask
            os.write(self._lock_file, b"%d\n" % task_id)
            self._last_id = task_id  # also where somebody removes the state directory
            return task_id, directory

    # -- a log of Bash

    def create_log(self) -> tuple[str, int]:
        """(path, descriptor) of a new private log below output/. Raises OSError; a full disk too."""
        path = os.path.join(self._home.directory("output"), os.urandom(8).hex() + ".log")
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(file, 0o600)
            if os.fstatvfs(file).f_bavail == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        except OSError:
            os.close(file)
            remove(path)
            raise
        return path, file

    # -- other servers

    def adopt(self) -> list[Adopted]:
        """The tasks of servers that have died, this server's from now on. Empty in most cases, after one look.

        One server at a time adopts, and then everything that is left; so each task is adopted once.
        """
        servers = self._home.path("servers")
        try:
            names = [name for name in os.listdir(servers) if name.endswith(".lock")]
        except OSError:
            return []
        own = os.path.basename(self._lock_path)
        if not [name for name in names if name != own]:
            return []
        try:
            turn = os.open(os.path.join(servers, "adopting"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError:
            return []
        adopted: list[Adopted] = []
        try:
            if _locked(turn):
                for name in names:
                    if name != own:
                        adopted += self._adopt_from(os.path.join(servers, name))
        finally:
            os.close(turn)
        return adopted

    def _adopt_from(self, path: str) -> list[Adopted]:
        try:
            file = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return []
        try:
            if not _locked(file):
                return []
            ids = [int(line) for line in read_file(file, IDS_BYTES_MAX).split() if line.isdigit()]
            adopted = [found for task_id in ids if (found := self._adopted(task_id)) is not None]
            if adopted:
                self._live()
                os.write(self._lock_file, b"".join(b"%d\n" % found.task_id for found in adopted))
            os.unlink(path)
        except OSError:
            return []  # the state cannot be written: the tasks stay where they are, for a server that can
        finally:
            os.close(file)
        return adopted

    def _adopted(self, task_id: int) -> Adopted | None:
        directory = self._home.path("tasks", str(task_id))
        record = read_record(directory)
        if record is None:
            return None
        end = read_end(directory)
        end_is_new = end is None and not record.is_running_alone()
        if end_is_new:
            end = end_of_lost(directory, survived=record.survive)
            write_end(directory, end)
        return Adopted(task_id, directory, record, end, read_cursor(directory), end_is_new=end_is_new)

    # -- bounds

    def clean(self) -> None:
        """Remove finished tasks and logs of Bash past their days, number or size. Slow; for a thread of its own."""
        now_s = time.time()
        oldest_s = now_s - TASKS_KEPT_DAYS * 86400
        finished: list[tuple[float, int]] = []
        ids = sorted(int(name) for name in names_in(self._home.path("tasks")) if name.isdigit())
        for task_id in ids:
            directory = self._home.path("tasks", str(task_id))
            ended_s = modified_s(os.path.join(directory, END))
            if ended_s is not None:
                finished.append((ended_s, task_id))
            elif modified_s(os.path.join(directory, META)) is None and task_id != ids[-1]:
                started_s = modified_s(directory)
                if started_s is not None and started_s < now_s - UNFINISHED_KEPT_S:
                    remove_directory(directory)
        finished.sort(reverse=True)
        kept: list[tuple[float, int, str]] = []
        for number, (ended_s, task_id) in enumerate(finished):
            directory = self._home.path("tasks", str(task_id))
            if number >= TASKS_KEPT_MAX or ended_s < oldest_s:
                remove_directory(directory, itself=task_id != ids[-1])
            elif task_id != ids[-1]:
                kept.append((ended_s, size_bytes(os.path.join(directory, LOG)), directory))
        for name in names_in(self._home.path("output")):
            path = self._home.path("output", name)
            written_s = modified_s(path)
            if written_s is not None and written_s < oldest_s:
                remove(path)
            elif written_s is not None:
                kept.append((written_s, size_bytes(path), path))
        _bound(kept, now_s - LOGS_FRESH_S)

    def close(self) -> None:
        """From now on the tasks of this server may be adopted."""
        if self._lock_file >= 0:
            os.close(self._lock_file)
            self._lock_file = -1

    def remove(self) -> None:
        """Remove all but logs that were named to somebody. Only for a directory that nobody will look at again."""
        for task in names_in(self._home.path("tasks")):
            remove_directory(self._home.path("tasks", task))
        remove_directory(self._home.path("servers"))
        for path in (self._home.path("tasks"), self._home.path("output"), self._home.root):
            try:
                os.rmdir(path)
            except OSError:
                pass

    def _live(self) -> None:
        """Make this server known as alive. Locked before it has its name, so that nobody takes it for dead."""
        if self._lock_file >= 0:
            if os.path.lexists(self._lock_path):
                return
            self.close()  # somebody removed the state directory: the next server looks for a name
        path = os.path.join(self._home.directory("servers"), os.urandom(8).hex())
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC
        file = os.open(path, flags, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(path, path + ".lock")
        except OSError:
            os.close(file)
            remove(path)
            raise
        self._lock_file, self._lock_path = file, path + ".lock"


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _bound(kept: list[tuple[float, int, str]], fresh_s: float) -> None:
    """Remove the oldest of (Unix time, bytes, file or directory) past LOGS_KEPT_BYTES_MAX, if they are older."""
    held_bytes = 0
    for modified, size, path in sorted(kept, reverse=True):
        held_bytes += size
        if held_bytes > LOGS_KEPT_BYTES_MAX and modified < fresh_s:
            remove_directory(path) if os.path.isdir(path) else remove(path)
