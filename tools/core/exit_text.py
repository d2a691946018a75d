"""How a command ended, as the line that follows its output; and whether that is a failure.

Runs nothing, and does not parse the shell: that is last_command.py.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.process import Exit

SIGNALS_TOLD = (2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 24, 25, 31)
"""Signals that an exit code of 128 + n is read as. Not HUP: git ends with 129 for wrong usage."""

SIGKILL = 9


def exit_note(ended: Exit, command: str, output: str) -> tuple[str, bool]:
    """(line for the answer, "" after success; whether the call failed). `output`: what the command printed."""
    if ended.signal is not None:
        return f"[killed by signal {signal_text(ended.signal)}]", True
    if ended.code is None:
        return "[lost: the command's supervisor was killed, so nobody knows how it ended]", True
    if ended.code == 0:
        return "", False
    if ended.code == 1:
        from tools.core.last_command import is_no_match  # its expressions take 1.5 ms to compile

        if is_no_match(command, output):
            return "[exit code: 1 (no match)]", False
    return f"[exit code: {code_text(ended.code)}]", True


def code_text(code: int) -> str:
    """`3`, or `139 (SIGSEGV)` where the shell tells of a signal so."""
    return f"{code} ({_name(code - 128)})" if code - 128 in SIGNALS_TOLD else str(code)


def signal_text(number: int) -> str:
    """`11 (SIGSEGV)`."""
    name = _name(number)
    return f"{number} ({name})" if name else str(number)


def _name(number: int) -> str:
    import signal

    try:
        name = signal.Signals(number).name
    except ValueError:  # a real-time signal
        return ""
    return f"{name}, maybe out of memory" if number == SIGKILL else name
