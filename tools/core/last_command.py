"""Which simple command of a shell text gave its exit code 1, and whether that says "no match" rather than "failed".

Knows quotes, operators, redirections and assignments; whatever else it meets it does not guess. Runs nothing.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND_CHARS_MAX = 16 * 1024
"""Longer texts are not looked at: 4 ms of parsing, and nobody searches with them."""

NO_MATCH_COMMANDS = frozenset(
    {"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "pgrep", "find", "diff", "cmp", "test", "[", "[["}
)
"""Programs whose exit code 1 says "nothing found" or "different"."""

GIT_SUBCOMMANDS = {"grep": (), "diff": ("--exit-code", "--quiet", "--no-index")}
"""Those of git that say the same; `diff` only with one of these options."""

GIT_OPTIONS_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree", "--namespace")

WRAPPERS = frozenset({"command", "builtin", "exec", "time", "nohup", "env"})
"""Words before a command that hand its exit code on."""

HARMLESS = frozenset({"cd", "pushd", "popd", "echo", "printf", "export", "true", ":", "mkdir", "touch", "sleep"})
"""Before `&&` these end with 0, or say what went wrong: `cd dir && grep x` asks about grep."""

RESERVED = frozenset({"if", "then", "elif", "else", "while", "until", "do", "{", "!"})
"""Words that stand before a command of a compound one."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_OPERATOR = re.compile(r"&&|\|\||;;?&?|\|&?|&|\n|[()]")
_REDIRECTION = re.compile(r"(?:\d+|\{\w+\})?(?:&>>?|<<<|<>|>\||>>|[<>]&?)")
_PLAIN = re.compile(r"""[^\s\\'"`$#;|&()<>\d{]+""")

WORD, REDIRECTION, OPERATOR = "word", "redirection", "operator"
WORD_ENDS = frozenset(" \t\n;|&()<>")

Part = tuple[str, list[str]]  # operator before a simple command, its words


class _NotUnderstood(Exception):
    """A here-document, an open quote: the text is not what this parser knows."""


def is_no_match(command: str, output: str) -> bool:
    """True when exit code 1 of `command` came from a search or comparison that found nothing. In doubt False."""
    if len(command) > COMMAND_CHARS_MAX:
        return False
    try:
        parts = simple_commands(command)
    except _NotUnderstood:
        return False
    while len(parts) > 1 and parts[-1][0] in (";", "\n") and not parts[-1][1]:
        parts.pop()
    operator, words = parts.pop()
    if operator in "()" or not _says_no_match(words):
        return False
    stops = {_command_words(earlier)[0] for _, earlier in parts if _command_words(earlier)}
    if stops & {"exit", "return", "trap"}:
        return False
    always_ran = not stops & {"set"}  # `set -e`: whatever stands before may have been the last
    while parts:
        if always_ran and operator not in ("&&", "|", "|&"):
            return True
        before, earlier = parts.pop()
        if operator not in ("|", "|&") and not (_is_harmless(earlier, output) or _says_no_match(earlier)):
            return False
        operator = before
    return True


def _says_no_match(words: list[str]) -> bool:
    if not words or words[0] in RESERVED:
        return False
    words = _command_words(words)
    if not words:
        return False
    name = words[0].rpartition("/")[2]
    if name != "git":
        return name in NO_MATCH_COMMANDS
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in GIT_OPTIONS_WITH_VALUE else 1
    needed = GIT_SUBCOMMANDS.get(words[at]) if at < len(words) else None
    return needed is not None and (not needed or any(option in words for option in needed))


def _is_harmless(words: list[str], output: str) -> bool:
    words = _command_words(words)
    if not words:
        return True  # only assignments, or an empty line
    if words[0] == "set":
        return True
    return words[0] in HARMLESS and f"{words[0]}: " not in output  # bash: line 1: cd: nowhere: No such file…


def _command_words(words: list[str]) -> list[str]:
    """The command's name and arguments, without assignments, reserved words and wrappers before it."""
    at = 0
    while at < len(words):
        if words[at] not in WRAPPERS and words[at] not in RESERVED and not _ASSIGNMENT.match(words[at]):
            break
        at += 1
    return words[at:]


def simple_commands(command: str) -> list[Part]:
    """The simple commands in order, words unquoted, redirections left out. Raises _NotUnderstood."""
    parts: list[Part] = [(";", [])]
    target = False  # the next word belongs to a redirection
    for kind, text in _tokens(command):
        operator, words = parts[-1]
        if words[:1] == ["[["] and "]]" not in words:
            words.append(text)  # && and < mean something else in there
        elif kind == WORD:
            if not target:
                words.append(text)
            target = False
        elif kind == REDIRECTION:
            target = True
        elif text != "\n" or words or operator in "()":
            parts.append((text, []))
            target = False
    return parts


def _tokens(command: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(command):
        if command[at] in " \t":
            at += 1
        elif command.startswith("\\\n", at):
            at += 2
        elif command[at] == "#":
            newline = command.find("\n", at)
            at = newline if newline >= 0 else len(command)
        elif command.startswith(("<(", ">("), at):
            at = _closing(command, at + 2, ")")
            yield WORD, "substitution"
        elif redirection := _REDIRECTION.match(command, at):
            at = redirection.end()
            if redirection.group().endswith("<") and command.startswith("<", at):
                raise _NotUnderstood  # a here-document: the lines that follow are no commands
            yield REDIRECTION, redirection.group()
        elif operator := _OPERATOR.match(command, at):
            at = operator.end()
            yield OPERATOR, operator.group()
        else:
            word = ""
            while at < len(command) and command[at] not in WORD_ENDS:
                piece, at = _word_piece(command, at)
                word += piece
            yield WORD, word


def _word_piece(command: str, at: int) -> tuple[str, int]:
    """(unquoted text, where it ends) of what stands at `at` inside a word."""
    character = command[at]
    if character == "\\":
        return command[at + 1 : at + 2].strip("\n"), at + 2
    if character in "'\"`":
        end = _closing(command, at + 1, character)
        return command[at + 1 : end - 1], end
    for opening, closer in (("$(", ")"), ("${", "}"), ("$'", "'")):
        if command.startswith(opening, at):
            return "$", _closing(command, at + 2, closer, escapes=opening == "$'")
    plain = _PLAIN.match(command, at)
    end = plain.end() if plain else at + 1
    return command[at:end], end


def _closing(command: str, at: int, closer: str, *, escapes: bool = False) -> int:
    """Just after the `closer` that ends what was opened before `at`. Raises _NotUnderstood when there is none."""
    stack = [closer]
    while at < len(command):
        character, top = command[at], stack[-1]
        if character == "\\" and (top != "'" or escapes):
            at += 1
        elif character == top:
            stack.pop()
            if not stack:
                return at + 1
        elif top == "'":
            pass
        elif character in '"`' or (character == "'" and top != '"'):
            stack.append(character)
        elif character == "$" and command[at + 1 : at + 2] in ("(", "{"):
            stack.append(")" if command[at + 1] == "(" else "}")
            at += 1
        elif character == "(" and top == ")":
            stack.append(")")
        at += 1
    raise _NotUnderstood
