"""ReadBgOutput: what a background task printed since the last read. Instant: reads of a remembered offset."""

from __future__ import annotations

import os

from scorpio.limits import OUTPUT_CHARS_MAX
from scorpio.tool import ToolFailure, text
from tools.core.output_log import SAMPLE_BYTES, binary_kind, duration_text, open_log, size_text
from tools.core.output_text import head, whole_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import ReadBgOutputArguments
    from tools.core.background_task import Task
    from tools.core.state import CoreState

WINDOW_BYTES = 128 * 1024
"""One read: OUTPUT_CHARS_MAX characters at 4 bytes each."""

READ_BYTES_MAX = 512 * 1024
"""Read by one call: output that shrinks, such as progress bars, must not take longer than an instant."""

JUDGED_BYTES_MIN = 64
"""Fewer bytes are shown whatever they are: a piece of text may end up with one stray byte alone."""


def handle(arguments: ReadBgOutputArguments, call: Call[CoreState]) -> ToolResult:
    task = call.state.background_tasks.find(arguments["task_id"], call.owner)
    ended = task.end is not None  # looked at before the output: what was printed until then is in the log
    if ended:
        call.state.end_shown(task)
    with task.lock:
        start = task.cursor
        try:
            output, left_bytes = read_new(task, ended=ended)
        except OSError as error:
            raise ToolFailure(f"The log {task.log_path} cannot be read: {error.strerror}. Try again.") from None
        new_bytes = task.cursor - start
        if new_bytes:
            task.keep_cursor()
    state = _state(task, new_bytes, ended=ended)
    if left_bytes:
        state += f"; {size_text(left_bytes)} left: read again"
    output = output or "(no new output)"
    return text(f"{output}{'' if output.endswith(chr(10)) else chr(10)}[task {task.id}: {state}]")


def _state(task: Task, new_bytes: int, *, ended: bool) -> str:
    runtime = duration_text(task.runtime_s)
    if not ended:
        return f"running, {runtime}, {size_text(new_bytes)} new"
    return f"{task.state_text('exited with code {code}')} after {runtime}"


def read_new(task: Task, *, ended: bool) -> tuple[str, int]:
    """(the next OUTPUT_CHARS_MAX characters at most, bytes left for another read); moves the cursor. Raises OSError.

    While the task runs, what may be the first half of something is held back and not counted as left.
    """
    parts: list[str] = []
    left_chars = OUTPUT_CHARS_MAX
    file = open_log(task.log_path)
    try:
        size = os.fstat(file).st_size
        end = task.cursor + READ_BYTES_MAX
        while task.cursor < size:
            if left_chars <= 0 or task.cursor >= end:
                return "".join(parts), size - task.cursor
            raw = os.pread(file, min(WINDOW_BYTES, size - task.cursor), task.cursor)
            more = task.cursor + len(raw) < size
            whole = len(raw) if ended and not more else whole_prefix(raw, more=more)
            if not whole:
                break
            kind = binary_kind(raw[: min(whole, SAMPLE_BYTES)]) if whole >= JUDGED_BYTES_MIN and not parts else ""
            if kind:
                count, task.cursor = size - task.cursor, size
                return f"[binary output: {kind}, {size_text(count)}, not shown; saved: {task.log_path}]", 0
            shown, used = head(raw[:whole], left_chars)
            parts.append(shown)
            left_chars -= len(shown)
            task.cursor += used
            if used < whole:
                return "".join(parts), size - task.cursor
    finally:
        os.close(file)
    return "".join(parts), 0
