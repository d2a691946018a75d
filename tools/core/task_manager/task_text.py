"""Names and steps out of what a model wrote: one clean line each, without list markers, of bounded length."""

from __future__ import annotations

import re

from scorpio.limits import TASK_NAME_CHARS_MAX, TASK_STEP_CHARS_MAX, TASK_STEPS_MAX, TASK_TEXT_CHARS_MAX
from scorpio.tool import ToolFailure

QUOTED_CHARS_MAX = 80

_TERMINAL_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -Z\\^-~])")
_LINE_END = re.compile("\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_MARKERS = re.compile(r"(?:(?:[-*+•‣◦▪–—]|\(?\d{1,4}[.)]|\[[ xX✓✔]?\])(?:\s+|$))+")
_RULE = re.compile(r"[-*_=~#]+")
_JOINERS = "\u200c\u200d"  # format characters that Persian words and emoji are spelled with


def task_lines(words: str, action: str) -> tuple[str, list[str]]:
    """(name, steps) of a new task; raises ToolFailure where there is no name."""
    name, *steps = _lines(words) or [""]
    if not name:
        raise ToolFailure(f"{action} needs a name. Give it in text; further lines become steps.")
    if len(name) > TASK_NAME_CHARS_MAX:
        raise ToolFailure(
            f"The name has {len(name)} characters; a task's name has at most {TASK_NAME_CHARS_MAX}. "
            "Put a short name on the first line of text and the rest into steps."
        )
    return name, _bounded(steps)


def step_lines(words: str, action: str) -> list[str]:
    """A step for each line; raises ToolFailure where there is none."""
    steps = _lines(words)
    if not steps:
        raise ToolFailure(f"{action} needs the text of a step. Give it in text; several lines are several steps.")
    return _bounded(steps)


def one_line(words: str) -> str:
    """What is looked up: the first line that says anything, as a name would have been stored; may be empty."""
    return next(iter(_lines(words[: 4 * TASK_STEP_CHARS_MAX])), "")


def quoted(words: str) -> str:
    """`words` inside a sentence."""
    line = clean_line(words[: 4 * QUOTED_CHARS_MAX])
    return f'"{clipped(line, QUOTED_CHARS_MAX)}"'


def clipped(line: str, chars_max: int) -> str:
    return line if len(line) <= chars_max else line[: chars_max - 1] + "…"


def clean_line(words: str) -> str:
    """One line without terminal sequences and without characters that cannot be seen."""
    plain = _TERMINAL_SEQUENCE.sub("", words)
    return " ".join("".join(c if c.isprintable() or c in _JOINERS else " " for c in plain).split())


def _lines(words: str) -> list[str]:
    if len(words) > TASK_TEXT_CHARS_MAX:
        raise ToolFailure(
            f"The text has {len(words)} characters; TaskManager takes at most {TASK_TEXT_CHARS_MAX}. "
            "Write it to a file and name the file in a step."
        )
    found = []
    for raw in _LINE_END.split(words):
        line = clean_line(raw)
        line = line[marker.end() :] if (marker := _MARKERS.match(line)) else line
        if line and not _RULE.fullmatch(line):
            found.append(line)
    return found


def _bounded(steps: list[str]) -> list[str]:
    if len(steps) > TASK_STEPS_MAX:
        raise ToolFailure(
            f"{len(steps)} steps are too many; a task has at most {TASK_STEPS_MAX}. Create several tasks instead."
        )
    for number, step in enumerate(steps, 1):
        if len(step) > TASK_STEP_CHARS_MAX:
            raise ToolFailure(
                f"Step {number} of the text ({quoted(step)}) has {len(step)} characters; a step has at most "
                f"{TASK_STEP_CHARS_MAX}. Split it into lines, or write it to a file and name the file in the step."
            )
    return steps
