"""Puts arguments and places into the text of a skill, in one pass: nothing that was put in is looked at again.

Runs nothing. Commands are handed back with the variables their arguments are in, so that no argument ever becomes
shell code.
"""

from __future__ import annotations

import re

from scorpio.tool import ToolFailure
from tools.core.limits import SKILL_TEXT_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMAND = r"(?:(?<=\s)|^)!`(?P<command>[^`\n]+)`"
"""At the start of a line or after white space, so that `!`a`` in the middle of a word is text."""

PLACE = r"\$\{(?P<place>SKILL_DIR|CLAUDE_SKILL_DIR|CLAUDE_PROJECT_DIR)\}"
INDEX = r"\$ARGUMENTS\[(?P<index>[0-9]{1,4})\]"
ALL = r"\$(?P<all>ARGUMENTS)(?![A-Za-z0-9_])"
NUMBER = r"\$(?P<number>[0-9]{1,4})(?![A-Za-z0-9_])"

ALL_VARIABLE = "ARGUMENTS"
WORD_VARIABLE = "SKILL_ARGUMENT_"


class Command:
    """A command to be run in the place where it stands."""

    __slots__ = ("source", "variables")

    def __init__(self, source: str, variables: dict[str, str]) -> None:
        self.source = source
        self.variables = variables
        """For its environment."""


class Substitution:
    """One invocation: what is put in where."""

    def __init__(self, arguments: str, names: Sequence[str], skill_directory: str, project: str) -> None:
        self._arguments = arguments
        self._names = names
        self._places = {
            "SKILL_DIR": skill_directory,
            "CLAUDE_SKILL_DIR": skill_directory,
            "CLAUDE_PROJECT_DIR": project,
        }
        self._words: list[str] | None = None
        self._used = False

    def parts(self, body: str, *, commands: bool) -> list[str | Command]:
        """Texts, and the commands between them where `commands`; else those stay text. Raises ToolFailure.

        Arguments that have no place in the body are appended.
        """
        parts: list[str | Command] = []
        size = at = 0
        for found in re.finditer(self._pattern(commands=commands), body, re.MULTILINE):
            before, at = body[at : found.start()], found.end()
            put: str | Command
            if commands and found["command"] is not None:
                put = self._command(found["command"])
            else:
                value = self._value(found)
                put = found[0] if value is None else value
            parts += (before, put)
            size += len(before) + (len(put) if isinstance(put, str) else 0)
            if size > SKILL_TEXT_CHARS_MAX:
                raise ToolFailure(
                    f"With these arguments the skill's text passes {SKILL_TEXT_CHARS_MAX} characters. Shorten them."
                )
        parts.append(body[at:])
        if self._arguments and not self._used:
            parts.append(f"\n\nARGUMENTS: {self._arguments}")
        return parts

    def _pattern(self, *, commands: bool) -> str:
        kinds = [COMMAND] if commands else []
        kinds += [PLACE, INDEX, ALL]
        if self._names:
            named = "|".join(re.escape(name) for name in sorted(filter(None, self._names), key=len, reverse=True))
            kinds += [rf"\$(?P<name>{named})(?![A-Za-z0-9_])"] if named else []
            kinds.append(NUMBER)
        return "|".join(kinds)

    def _value(self, found: re.Match[str]) -> str | None:
        """What stands in place of a match; None: it stays, because there is no such argument (`$5`)."""
        kind = found.lastgroup
        if kind == "place":
            return self._places[found["place"]]
        if kind == "all":
            self._used = True
            return self._arguments
        if kind == "number":
            return self._word(int(found["number"]))
        index = int(found["index"]) if kind == "index" else self._names.index(found["name"])
        self._used = True
        return self._word(index) or ""

    def _word(self, index: int) -> str | None:
        words = self._split()
        if index >= len(words):
            return None
        self._used = True
        return words[index]

    def _split(self) -> list[str]:
        if self._words is None:
            import shlex

            try:
                self._words = shlex.split(self._arguments)
            except ValueError:  # a quote without its other half, as in: don't
                self._words = self._arguments.split()
        return self._words

    def _command(self, source: str) -> Command:
        """Its placeholders become shell variables, which the shell expands after it has read the code."""
        variables = {ALL_VARIABLE: self._arguments, **self._places}

        def variable(found: re.Match[str]) -> str:
            kind = found.lastgroup
            if kind in ("place", "all"):
                self._used = self._used or kind == "all"
                return f"${{{found[kind]}}}"
            index = int(found[kind]) if kind in ("index", "number") else self._names.index(found["name"])
            word = self._word(index)
            if word is None and kind == "number":
                return found[0]
            self._used = True
            variables[f"{WORD_VARIABLE}{index}"] = word or ""
            return f"${{{WORD_VARIABLE}{index}}}"

        return Command(re.sub(self._pattern(commands=False), variable, source), variables)
