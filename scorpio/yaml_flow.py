"""Scalars, quoted text and flow collections of YAML 1.2, as far as they mean one thing to every parser.

Works on one text and a position in it; knows no lines. A value that is not closed ends at 0: there may be more of it.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Wrong = Callable[[str], "NotPlain"]

DEPTH_MAX = 32
INTEGER_MAX = 2**53 - 1
"""Beyond it JSON numbers are not the same everywhere."""

NULLS = ("", "~", "null", "Null", "NULL")
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
INTEGER = re.compile(r"[-+]?[0-9]+")
OTHER_INTEGER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
SIGNED = re.compile(r"[-+]0[ox]")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
INDICATORS = frozenset("&*!|>%@`,[]{}\"'#")
ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}


class NotPlain(ValueError):
    """Text that is no YAML, or YAML that this does not read: a clause that goes on after the name of its file."""


def scalar(text: str, wrong: Wrong) -> Any:
    """What one line of plain text means by the core schema."""
    if text in NULLS:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    if text[0] in INDICATORS or (text[0] in "-?:" and text[1:2] in ("", " ", "\t")):
        raise wrong(f"begins with {text[0]}, which is not plain text in YAML; quote it")
    if INTEGER.fullmatch(text) or OTHER_INTEGER.fullmatch(text):
        number = int(text[2:], {"o": 8, "x": 16}[text[1]]) if text[1:2] in ("o", "x") else _integer(text, wrong)
        if abs(number) > INTEGER_MAX:
            raise wrong("has a number of more than 53 bits; quote it")
        return number
    if SIGNED.match(text):
        raise wrong("has a number that is one to some parsers only; quote it")
    if FLOAT.fullmatch(text):
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise wrong("has a number that JSON does not have; quote it")
        return value
    if NOT_FINITE.fullmatch(text):
        raise wrong("has a number that JSON does not have; quote it")
    return text


def _integer(text: str, wrong: Wrong) -> int:
    if len(text) > 20:  # int() of a long text is slow, and it is refused all the same
        raise wrong("has a number of more than 53 bits; quote it")
    return int(text)


def quoted(text: str, at: int, wrong: Wrong) -> tuple[str, int]:
    """The text in quotes that begins at `at`, and where it ends; 0 where it is not closed."""
    quote = text[at]
    at += 1
    parts: list[str] = []
    while at < len(text):
        character = text[at]
        if character == quote:
            if quote == '"' or text[at + 1 : at + 2] != "'":
                return "".join(parts), at + 1
            parts.append("'")
            at += 2
        elif character in " \t\n":
            blanks, at = _blanks(text, at)
            parts.append(blanks)
        elif character == "\\" and quote == '"':
            if at + 1 >= len(text):
                break
            escaped, at = _escape(text, at + 1, wrong)
            parts.append(escaped)
        else:
            parts.append(character)
            at += 1
    return "", 0


def _blanks(text: str, at: int) -> tuple[str, int]:
    """What blanks within quotes become, which is folded where they hold a line's end; and where they end."""
    begun = at
    breaks = 0
    while at < len(text) and text[at] in " \t\n":
        breaks += text[at] == "\n"
        at += 1
    return text[begun:at] if not breaks else " " if breaks == 1 else "\n" * (breaks - 1), at


def _escape(text: str, at: int, wrong: Wrong) -> tuple[str, int]:
    letter = text[at]
    if letter == "\n":  # the line goes on with the next one's text
        folded, end = _blanks(text, at)
        return folded.strip(" "), end
    if letter in HEX_ESCAPES:
        digits = text[at + 1 : at + 1 + HEX_ESCAPES[letter]]
        code = int(digits, 16) if re.fullmatch("[0-9a-fA-F]+", digits) else -1
        if len(digits) == HEX_ESCAPES[letter] and (0 <= code < 0xD800 or 0xDFFF < code < 0x110000):
            return chr(code), at + 1 + len(digits)
    elif letter in ESCAPES:
        return ESCAPES[letter], at + 1
    raise wrong(f"has the escape \\{letter}, which stands for no character")


def flow_value(text: str, at: int, wrong: Wrong, depth: int = 0) -> tuple[Any, int]:
    """The value of a flow collection that begins at `at`, and where it ends; 0 where it is not closed."""
    if depth > DEPTH_MAX:
        raise wrong(f"is nested deeper than {DEPTH_MAX} levels")
    character = text[at]
    if character in "\"'":
        return quoted(text, at, wrong)
    if character == "[":
        return _flow_sequence(text, at + 1, wrong, depth)
    if character == "{":
        return _flow_mapping(text, at + 1, wrong, depth)
    word, at = _flow_word(text, at, wrong)
    return (scalar(word, wrong), at) if at else (None, 0)


def _flow_sequence(text: str, at: int, wrong: Wrong, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while True:
        at = _over_blanks(text, at, wrong)
        if at >= len(text):
            return [], 0
        if text[at] == "]":
            return items, at + 1
        item, at = flow_value(text, at, wrong, depth + 1)
        if not at:
            return [], 0
        items.append(item)
        at, ended = _after_item(text, at, "]", wrong)
        if not at or ended:
            return (items, at) if at else ([], 0)


def _flow_mapping(text: str, at: int, wrong: Wrong, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while True:
        at = _over_blanks(text, at, wrong)
        if at >= len(text):
            return {}, 0
        if text[at] == "}":
            return found, at + 1
        key, at = flow_value(text, at, wrong, DEPTH_MAX)
        if not at:
            return {}, 0
        at = _over_blanks(text, at, wrong)
        if at >= len(text):
            return {}, 0
        if type(key) is not str or key in found or key == "<<" or text[at] != ":":
            raise wrong("has braces that hold something else than names, each once, and values")
        if text[at + 1 : at + 2] not in ("", " ", "\t", "\n"):
            raise wrong("has a colon in braces without a space after it")
        at = _over_blanks(text, at + 1, wrong)
        if at >= len(text):
            return {}, 0
        value = None
        if text[at] not in ",}":
            value, at = flow_value(text, at, wrong, depth + 1)
            if not at:
                return {}, 0
        found[key] = value
        at, ended = _after_item(text, at, "}", wrong)
        if not at or ended:
            return (found, at) if at else ({}, 0)


def _after_item(text: str, at: int, close: str, wrong: Wrong) -> tuple[int, bool]:
    """Where the next item begins, or what follows the closing bracket; 0 where the text ends before that."""
    at = _over_blanks(text, at, wrong)
    if at >= len(text):
        return 0, False
    if text[at] == close:
        return at + 1, True
    if text[at] != ",":
        raise wrong(f"has brackets whose items are not separated by commas, or do not end with {close}")
    return at + 1, False


def _over_blanks(text: str, at: int, wrong: Wrong) -> int:
    begun = at
    while at < len(text) and text[at] in " \t\n":
        at += 1
    if at > begun and text[at : at + 1] == "#":
        raise wrong("has a comment between brackets")
    return at


def _flow_word(text: str, at: int, wrong: Wrong) -> tuple[str, int]:
    """Plain text between brackets, on one line; 0 where the text ends before that is sure."""
    end = at
    while end < len(text) and text[end] not in ",[]{}\n":
        if text[end] == ":" and text[end + 1 : end + 2] in ("", " ", "\t", "\n", ",", "]", "}"):
            break
        if text[end] == "#" and text[end - 1] in " \t":
            raise wrong("has a comment between brackets")
        end += 1
    if end >= len(text):
        return "", 0
    word = text[at:end].strip(" \t")
    if text[end] == "\n" and text[_skip(text, end) : _skip(text, end) + 1] not in (",", "]", "}", ":", ""):
        raise wrong("has text without quotes that goes over two lines between brackets")
    if not word or text[end] in "[{":
        raise wrong("has brackets that hold something else than values separated by commas")
    if word[0] in "?:":
        raise wrong(f"begins with {word[0]}, which some parsers do not take for text between brackets; quote it")
    return word, end


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n":
        at += 1
    return at
