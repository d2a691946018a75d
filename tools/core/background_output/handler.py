"""scorpio://background/N: the log of one background task. Reading it here leaves it unread for the tools."""

from __future__ import annotations

import os

from scorpio.tool import ToolFailure
from tools.core.limits import TASK_OUTPUT_CHARS_MAX
from tools.core.output_log import open_log, render_soon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.core.state import CoreState

ID_DIGITS_MAX = 18


async def handle(variables: dict[str, str], call: Call[CoreState]) -> list[dict[str, Any]]:
    number = variables["task_id"]
    if not (number.isascii() and number.isdigit() and len(number) <= ID_DIGITS_MAX and number == str(int(number))):
        raise ToolFailure(f"There is no background task {number[:40]!r}: their ids are numbers.")
    task = call.state.background_tasks.find(int(number), call.owner)
    try:
        file = open_log(task.log_path)
    except OSError as error:
        raise ToolFailure(f"The log {task.log_path} cannot be read: {error.strerror}.") from None
    try:
        size = os.fstat(file).st_size
        text = (await render_soon(file, size, task.log_path, TASK_OUTPUT_CHARS_MAX)).text
    finally:
        os.close(file)
    return [{"uri": variables["uri"], "mimeType": "text/plain", "text": text}]
