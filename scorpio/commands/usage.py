"""What the command line says of a wrong call: one sentence and the right form. Its help fits 80 columns."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

COLUMNS_MAX = 80
"""Of help, on however wide a terminal: longer lines are hard to read."""

COLUMNS_MIN = 40
"""Below, argparse writes a word a line; the terminal may wrap instead."""

WRONG_CALL = 2

KINDS = {"port": "a number from 0 to 65535", "seconds": "a number of seconds, 0 or more"}
"""What an option takes, by the name of the function that reads it."""

Sentence = Callable[["re.Match[str]"], str]

SENTENCES: tuple[tuple[str, Sentence], ...] = (
    (
        r"argument COMMAND: invalid choice: '(.*?)' \(choose from (.*)\)",
        lambda found: f"There is no command {found[1]!r}.{near(found[1], re.findall(r'[a-z]+', found[2]))}",
    ),
    (
        r"argument (.+?): invalid choice: (.+?) \(choose from (.*)\)",
        lambda found: f"{found[1]} is one of {found[3].replace(chr(39), '')}, not {found[2]}.",
    ),
    (
        r"argument (.+?): invalid (.+?) value: (.+)",
        lambda found: f"{found[1]} takes {KINDS.get(found[2], 'something else')}, not {found[3]}.",
    ),
    (r"argument (.+?): expected one argument", lambda found: f"{found[1]} needs a value."),
    (r"argument (.+?): expected at least one argument", lambda found: f"{found[1]} needs one value or more."),
    (r"argument (.+?): expected (\d+) arguments", lambda found: f"{found[1]} needs {found[2]} values."),
    (r"argument (.+?): ignored explicit argument (.+)", lambda found: f"{found[1]} takes no value, not {found[2]}."),
    (
        r"argument (.+?): not allowed with argument (.+)",
        lambda found: f"{found[1]} and {found[2]} exclude each other.",
    ),
    (r"argument (.+?): (.+\.)", lambda found: f"{found[1]} {found[2]}"),  # of ours: a predicate of the option
    (r"one of the arguments (.+) is required", lambda found: f"One of {found[1].replace(' ', ', ')} is needed."),
    (r"the following arguments are required: (.+)", lambda found: f"{found[1]} is missing."),
)
"""argparse's words, and ours."""


class Parser(argparse.ArgumentParser):
    """Options are written whole: a short form that is clear today is another option's tomorrow."""

    def __init__(self, **options: object) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **options)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        try:
            sys.stderr.write(f"{self.prog}: {sentence(message)}\n{self.format_usage()}")
        except OSError:  # nobody reads it; the status says the same
            pass
        sys.exit(WRONG_CALL)

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Say that nothing is known of these words of a call."""
        word = words[0]
        if not word.startswith("-"):
            self.error(f"{word!r} is too much.")
        name = word.partition("=")[0]
        self.error(f"There is no option {name}.{near(name, self._option_string_actions)}")


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        import shutil  # 5 ms, which a server that is started with options would pay too

        columns = shutil.get_terminal_size().columns
        super().__init__(prog, width=min(max(columns, COLUMNS_MIN), COLUMNS_MAX) - 1)


def sentence(message: str) -> str:
    """What argparse says of a call, as a sentence."""
    for pattern, said in SENTENCES:
        found = re.fullmatch(pattern, message, re.DOTALL)
        if found:
            return said(found)
    return message if message.endswith(".") or ". " in message else f"{message[:1].upper()}{message[1:]}."


def near(name: str, names: Iterable[str]) -> str:
    """A question with the name that may have been meant, after a blank; empty where none is like it."""
    import difflib

    found = difflib.get_close_matches(name, list(names), 1)
    return f" Did you mean {found[0]}?" if found else ""
