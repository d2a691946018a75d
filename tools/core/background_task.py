"""One background task as a server knows it, and the log of a command that is none yet.

Starts and ends nothing.
"""

from __future__ import annotations

import _thread
import os
import time

from tools.core.background_record import KILLED, LOG, OVER_OUTPUT, SUPERVISOR_KILLED, write_cursor, write_end
from tools.core.exit_text import signal_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.process import Command
    from tools.core.background_files import BackgroundFiles
    from tools.core.background_record import End, Record


class Task:
    """One background task. Written by the slow lane; read from any thread."""

    __slots__ = (
        "command",
        "cursor",
        "directory",
        "end",
        "end_told",
        "id",
        "killed",
        "lock",
        "log_path",
        "record",
        "started_s",
    )

    def __init__(self, task_id: int, directory: str, record: Record, command: Command | None) -> None:
        self.id = task_id
        self.directory = directory
        self.log_path = os.path.join(directory, LOG)
        self.record = record
        self.command = command
        """None for an adopted one: only its supervisor's pid is known."""
        self.started_s = time.monotonic() if command is not None else None
        self.end: End | None = None
        self.end_told = False
        """The answer of a call says, or is about to say, how it ended: nothing else need tell the model."""
        self.killed = False
        self.cursor = 0
        """Bytes of the log that were read. Change with `lock` held, then `keep_cursor`."""
        self.lock = _thread.allocate_lock()

    def keep_cursor(self) -> None:
        write_cursor(self.directory, self.cursor)

    def read_up_to(self, cursor: int) -> None:
        """What stands before `cursor` is shown by the call that made the task."""
        with self.lock:
            self.cursor = cursor
            self.keep_cursor()

    @property
    def runtime_s(self) -> float:
        if self.end is not None:
            return max(0.0, self.end.ended_unix_s - self.record.started_unix_s)
        if self.started_s is not None:
            return time.monotonic() - self.started_s
        return max(0.0, time.time() - self.record.started_unix_s)

    def output_bytes(self) -> int:
        try:
            return os.stat(self.log_path).st_size
        except OSError:
            return 0

    def unread_bytes(self) -> int:
        return max(0, self.output_bytes() - self.cursor)

    def state_text(self, exited: str = "exited ({code})") -> str:
        """`running`, `exited (1)`, `killed`, `killed by signal 11 (SIGSEGV)`, `lost: host ended`."""
        end = self.end
        if end is None:
            return "running"
        if end.reason == KILLED:
            return "killed"
        if end.reason == OVER_OUTPUT:
            return "killed: its output passed BASH_MAX_OUTPUT_BYTES"
        if end.reason or (end.code is None and end.signal is None):
            return f"lost: {end.reason or SUPERVISOR_KILLED}"
        if end.signal is not None:
            return f"killed by signal {signal_text(end.signal)}"
        return exited.format(code=end.code)

    def finish(self, end: End) -> None:
        """In memory; `keep_end` makes it known to later servers."""
        if self.killed:
            end.reason = KILLED
        self.end = end

    def keep_end(self) -> None:
        if self.end is not None:
            write_end(self.directory, self.end)


class Log:
    """The log of one Bash call: an open private file, deleted unless something names it."""

    __slots__ = ("file", "files", "path")

    def __init__(self, files: BackgroundFiles) -> None:
        """Raises OSError."""
        self.files = files
        self.path, self.file = files.create_log()

    def close(self, *, keep: bool) -> None:
        os.close(self.file)
        if not keep:
            try:
                os.unlink(self.path)
            except OSError:
                pass  # somebody cleaned up
