"""The process that shows a dialog: `scorpio answer FILE`, on the terminal it was started on.

A process of its own, because a terminal must be put back whatever becomes of the server, and because the terminal's
signals and a terminal that hangs must not stop it. FILE lies in the directory that exchange.py describes.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time

from tools.core.ask_user_question.dialog import ANSWERED, CANCELLED, Dialog
from tools.core.ask_user_question.exchange import ALIVE, ANSWER, SHOWN, remove, write_private
from tools.core.ask_user_question.keys import Keys
from tools.core.ask_user_question.questions import Question
from tools.core.ask_user_question.screen import Screen
from tools.core.limits import DIALOG_DEAF_MS, QUESTIONS_JSON_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ESCAPE_WAIT_S = 0.1
"""After an escape character, for the rest of a key's sequence."""

SIZE_LOOK_S = 1.0
"""The size is looked at this often, where SIGWINCH does not reach us."""

GONE = "gone"
"""Outcome when the server no longer wants an answer."""

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
IGNORED_SIGNALS = (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGQUIT, signal.SIGPIPE)


def main(path: str) -> int:
    """Exit status 0 when the server has its answer or wants none; 1 where no dialog could be shown."""
    directory = os.path.dirname(os.path.abspath(path))
    try:
        questions = read_questions(path)
        alive = os.open(os.path.join(directory, ALIVE), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not _is_held(alive):
            return 1
        wake = _catch_signals()
        screen = Screen(colour=not os.environ.get("NO_COLOR"))
        shown = os.open(os.path.join(directory, SHOWN), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError, KeyError, TypeError):
        return 1
    dialog = Dialog(questions)
    try:
        screen.enter()
        os.write(shown, b"1")
        converse(screen, dialog, alive, wake)
    except OSError:
        return 1
    finally:
        screen.leave()
    if dialog.outcome == GONE:
        remove(directory)
        return 0
    _write_answer(directory, dialog)
    return 0


def read_questions(path: str) -> list[Question]:
    """Raises OSError, ValueError, KeyError, TypeError: it is nobody's file but the server's."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), encoding="utf-8") as stream:
        return [Question.of_json(value) for value in json.loads(stream.read(8 * QUESTIONS_JSON_CHARS_MAX))]


def _is_held(alive: int) -> bool:
    try:
        return os.read(alive, 1) != b""
    except BlockingIOError:
        return True


def _catch_signals() -> int:
    read_fd, write_fd = os.pipe()
    os.set_blocking(read_fd, False)
    os.set_blocking(write_fd, False)
    signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    for number in (*ENDING_SIGNALS, signal.SIGWINCH):
        signal.signal(number, lambda number, frame: None)  # the byte on the descriptor says it
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    return read_fd


def converse(screen: Screen, dialog: Dialog, alive: int, wake: int) -> None:
    """Until the dialog has an outcome."""
    keys = Keys()
    deaf_until_s = time.monotonic() + DIALOG_DEAF_MS / 1000
    size = screen.size()
    while not dialog.outcome:
        now_s = time.monotonic()
        dialog.ready = now_s >= deaf_until_s
        if screen.size() != size:
            size = screen.size()
            screen.forget()
        screen.show(dialog.frame(*size))
        wait_s = ESCAPE_WAIT_S if keys.pending else SIZE_LOOK_S if dialog.ready else deaf_until_s - now_s
        readable = select.select((screen.descriptor, alive, wake), (), (), wait_s)[0]
        if alive in readable:
            dialog.outcome = GONE
        elif wake in readable and set(os.read(wake, 64)) & set(ENDING_SIGNALS):
            dialog.outcome = CANCELLED
        elif screen.descriptor in readable:
            data = screen.read()
            if not data:
                dialog.outcome = CANCELLED
            _press(dialog, keys.feed(data))
        elif keys.pending and not readable:
            _press(dialog, keys.flush())


def _press(dialog: Dialog, pressed: list[str]) -> None:
    if dialog.ready:
        for key in pressed:
            dialog.press(key)


def _write_answer(directory: str, dialog: Dialog) -> None:
    answers = [{"labels": answer.labels, "typed": answer.typed} for answer in dialog.answers()]
    said: dict[str, Any] = {"status": dialog.outcome}
    if dialog.outcome == ANSWERED:
        said["answers"] = answers
    path = os.path.join(directory, ANSWER)
    try:
        write_private(path + ".new", json.dumps(said))
        os.replace(path + ".new", path)
    except OSError:  # the server has taken the directory away
        return
