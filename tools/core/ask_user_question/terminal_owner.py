"""Whether a dialog may use this process's terminal.

A terminal has one keyboard: two programs that read it get every second key each. So it must be ours or our client's,
and nothing with a screen of its own may run on it. What is looked at: the terminal's foreground process group, and
whether it is in the mode that such programs switch off.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tools.core.ask_user_question.screen import Saved

PLAIN_TERMINALS = ("", "dumb")
"""TERM of what cannot move a cursor."""


def free_terminal(*, anyway: bool) -> Saved | None:
    """The terminal's state where a dialog may use it. `anyway`: wherever there is one."""
    try:
        from tools.core.ask_user_question.screen import Saved, open_terminal
    except ImportError:  # no termios: Windows
        return None
    if not anyway and (os.environ.get("TERM", "") in PLAIN_TERMINALS or _typed_by_a_person()):
        return None
    try:
        descriptor = open_terminal()
    except OSError:  # none: the client started us in a session of its own
        return None
    try:
        saved = Saved(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return saved if anyway or (saved.cooked and saved.group in _groups()) else None


def _groups() -> tuple[int, ...]:
    """Our process group and our client's. Mostly they are one; a shell's pipeline is one too."""
    try:
        return os.getpgrp(), os.getpgid(os.getppid())
    except OSError:
        return (os.getpgrp(),)


def _typed_by_a_person() -> bool:
    """True when messages come from a terminal: then our own reading thread would take the dialog's keys.

    The wire was moved above the standard descriptors; stderr may well be the terminal.
    """
    try:
        numbers = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return False
    return any(number > 2 and os.isatty(number) for number in numbers)
