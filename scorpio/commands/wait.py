"""`scorpio wait`: blocks until a model in this project is to be told something, prints that, and ends.

For clients that wake their model when a background command ends. Each of several that wait gets another one.
"""

from __future__ import annotations

import os
import sys

from scorpio.app import project, settings_and_home
from scorpio.state.database import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tools.core.waiting import Told

INTERRUPTED = 130
"""What a shell makes of SIGINT."""


def run(timeout_s: float | None) -> int:
    """Exit status 0 when something was told, 1 when nothing was in time or the state cannot be read."""
    from tools.core import waiting

    here = project()
    if here is None:
        return _failed("The current directory was removed. Change to that of the project.")
    _, home = settings_and_home()
    try:
        told = waiting.next_told(home, here, timeout_s, _hint)
        if told is None:
            return _failed(f"Nothing was to be told within {timeout_s:g} s.")
        return _print(told)
    except StateError as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def _print(told: Told) -> int:
    line = f"{told.text}\n".encode("utf-8", "replace")
    try:
        while line:
            line = line[os.write(1, line) :]
    except OSError as error:
        told.give_back()
        return _failed(f"It cannot be printed: {error.strerror}. It is kept for the next one who asks.")
    return 0


def _hint(text: str) -> None:
    sys.stderr.write(f"scorpio wait: {text}\n")
    sys.stderr.flush()


def _failed(text: str) -> int:
    _hint(text)
    return 1
