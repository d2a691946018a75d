"""How a command of the command line ends, whatever happens in it: an exit status, and no traceback.

Not for the server, which has ends of its own (transports/stdio).
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

FAILED = 1
SIGINT_STATUS = 130


def ended(work: Callable[[], int], *, debug: bool) -> int:
    """The exit status. `debug`: a fault of this program shows where it is."""
    if sys.stdout is None:  # closed by whoever started us; what is said goes nowhere
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 as long as this process
    if isinstance(sys.stdout, io.TextIOWrapper):  # a server's text may hold what UTF-8 cannot
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = _status(work)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return SIGINT_STATUS
    except Exception as fault:  # the last place where anything can be said
        lost = _output_lost()
        if isinstance(lost, BrokenPipeError):  # `scorpio tools | head`: the reader has seen enough
            return 0
        if lost is not None:
            return _fault(f"The output cannot be written: {lost.strerror or lost}.")
        if debug:
            raise
        return _fault(_told(fault))
    finally:
        try:
            sys.stderr.flush()
        except OSError:  # nobody reads that either: Python shall not fail by it when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _status(work: Callable[[], int]) -> int:
    try:
        return work()
    except SystemExit as end:  # argparse: help, version, a wrong call
        return end.code if isinstance(end.code, int) else 0


def _output_lost() -> OSError | None:
    """Why stdout takes no more; then nothing more goes there, not even when Python ends."""
    try:
        sys.stdout.flush()  # what could not be written is still there
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return error
    return None


def _told(fault: Exception) -> str:
    if isinstance(fault, OSError) and fault.strerror:
        return f"{f'{fault.filename}: ' if fault.filename else ''}{fault.strerror}."
    what = f"{type(fault).__name__}: {fault}".rstrip(": .")
    return f"This is a fault of scorpio itself ({what}). `scorpio --debug COMMAND …` shows where it is."


def _fault(text: str) -> int:
    try:
        sys.stderr.write(f"scorpio: {text}\n")
    except OSError:
        pass
    return FAILED
