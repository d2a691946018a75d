"""Members set and removed in JSON text that may have comments and trailing commas; every other byte stays.

Refuses text that is neither, and an edit whose result does not parse to exactly what was wanted.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from scorpio.registration.edit import EditFailure

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(r"[-+.\w]+")
_DEPTH_MAX = 200
"""Objects and lists inside each other; a client's settings have less than ten."""


class Member(NamedTuple):
    key: str
    start: int
    """Of the key."""
    value: int
    end: int
    """Behind the value."""


class Table(NamedTuple):
    """An object in the text."""

    start: int
    members: list[Member]
    close: int
    """Of its closing brace."""
    comma: bool
    """One stands behind the last member."""


def entry_at(text: str, path: tuple[str, ...]) -> dict[str, Any] | None:
    """See `edit.Editor`."""
    return _at(value_of(text), path)


def with_entry(text: str, path: tuple[str, ...], entry: dict[str, Any]) -> str:
    """See `edit.Editor`."""
    before = value_of(text)
    if before is None:
        if text.strip("\ufeff \t\r\n"):
            raise EditFailure("it holds only comments; put {} below them")
        before, text = {}, "{}\n"
    wanted = _merged(before, path, entry)
    if wanted == before:
        return text
    edited = text
    if _at(before, path) is None:
        edited = _set(edited, path, entry)
    else:
        for key, value in entry.items():
            edited = _set(edited, (*path, key), value)
    return _checked(edited, wanted)


def without_entry(text: str, path: tuple[str, ...]) -> str:
    """See `edit.Editor`."""
    before = value_of(text)
    if _at(before, path) is None:
        return text
    wanted = json.loads(json.dumps(before))
    table = _at(wanted, path[:-1])
    assert table is not None
    del table[path[-1]]
    return _checked(_removed(text, path), wanted)


def value_of(text: str) -> Any:
    """The value of JSON with comments and trailing commas; None for a text without a value. Raises EditFailure."""
    start = _skip(text, 0)
    if start == len(text):
        return None
    bare: list[str] = []
    position = start
    while position < len(text):
        after = _skip(text, position)
        if after > position:
            bare.append(" ")
            position = after
            continue
        string = _STRING.match(text, position)
        if string:
            bare.append(string.group())
            position = string.end()
            continue
        if text[position] == "," and text[_skip(text, position + 1) : _skip(text, position + 1) + 1] in ("}", "]"):
            position += 1
            continue
        bare.append(text[position])
        position += 1
    try:
        value = json.loads("".join(bare))
    except (ValueError, RecursionError) as fault:
        raise EditFailure(f"it is not JSON ({_plain(fault)})") from None
    if type(value) is not dict:
        raise EditFailure("it holds something else than an object")
    return value


def _plain(fault: Exception) -> str:
    return fault.msg if isinstance(fault, json.JSONDecodeError) else str(fault)


def _at(value: Any, path: tuple[str, ...]) -> dict[str, Any] | None:
    """The object at `path`, None where there is nothing. Raises EditFailure where something else stands there."""
    for depth, key in enumerate(path):
        value = value.get(key) if type(value) is dict else None
        if value is None:
            return None
        if type(value) is not dict:
            raise EditFailure(f"{'.'.join(path[: depth + 1])} is not an object")
    return value if type(value) is dict else None


def _merged(before: dict[str, Any], path: tuple[str, ...], entry: dict[str, Any]) -> dict[str, Any]:
    _at(before, path)
    wanted: dict[str, Any] = json.loads(json.dumps(before))
    table = wanted
    for key in path:
        if table.get(key) is None:
            table[key] = {}
        table = table[key]
    table.update(entry)
    return wanted


def _checked(text: str, wanted: dict[str, Any]) -> str:
    if value_of(text) != wanted:
        raise EditFailure("it is written in a way this program cannot edit")
    return text


# -- where things stand


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _value_end(text: str, start: int, depth: int = 0) -> int:
    if text[start] == "{":
        return _table(text, start, depth).close + 1
    if text[start] == "[":
        if depth > _DEPTH_MAX:
            raise EditFailure("it is nested too deeply")
        position = _skip(text, start + 1)
        while text[position] != "]":
            position = _skip(text, _value_end(text, position, depth + 1))
            if text[position] == ",":
                position = _skip(text, position + 1)
        return position + 1
    match = _STRING.match(text, start) or _SCALAR.match(text, start)
    assert match is not None  # `value_of` has parsed it
    return match.end()


def _table(text: str, start: int, depth: int = 0) -> Table:
    if depth > _DEPTH_MAX:
        raise EditFailure("it is nested too deeply")
    members = []
    comma = False
    position = _skip(text, start + 1)
    while text[position] != "}":
        key = _STRING.match(text, position)
        assert key is not None
        value = _skip(text, _skip(text, key.end()) + 1)
        end = _value_end(text, value, depth + 1)
        members.append(Member(json.loads(key.group()), key.start(), value, end))
        position = _skip(text, end)
        comma = text[position] == ","
        if comma:
            position = _skip(text, position + 1)
    return Table(start, members, position, comma)


def _member(table: Table, key: str) -> Member | None:
    """The last one of that name: parsers take it."""
    return next((member for member in reversed(table.members) if member.key == key), None)


# -- edits


def _set(text: str, path: tuple[str, ...], value: Any) -> str:
    table = _table(text, _skip(text, 0))
    for depth, key in enumerate(path[:-1]):
        member = _member(table, key)
        if member is None or text[member.value] != "{":  # null stands for nothing
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _put(text, table, member, key, value)
        table = _table(text, member.value)
    return _put(text, table, _member(table, path[-1]), path[-1], value)


def _put(text: str, table: Table, member: Member | None, key: str, value: Any) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    if member is not None:
        written = _written(value, unit, _indent(text, member.start), newline)
        return text[: member.value] + written + text[member.end :]
    inline = bool(table.members) and newline not in text[table.start : table.members[0].start]
    inner = "" if inline else _inner_indent(text, table, unit)
    name = json.dumps(key, ensure_ascii=False)
    if inline:
        tail = table.members[-1].end
        return f"{text[:tail]}, {name}: {json.dumps(value, ensure_ascii=False)}{text[tail:].removeprefix(',')}"
    line = f"{newline}{inner}{name}: {_written(value, unit, inner, newline)}"
    end = len(text[: table.close].rstrip(" \t\r\n"))
    last = table.members[-1].end if table.members else end
    comma = "," if table.members and not table.comma else ""
    closing = text[end : table.close] if newline in text[end : table.close] else newline + _indent(text, table.start)
    return text[:last] + comma + text[last:end] + line + closing + text[table.close :]


def _removed(text: str, path: tuple[str, ...]) -> str:
    """Also every earlier member of that name, which would come to life."""
    while True:
        table = _table(text, _skip(text, 0))
        for key in path[:-1]:
            member = _member(table, key)
            if member is None or text[member.value] != "{":
                return text
            table = _table(text, member.value)
        member = _member(table, path[-1])
        if member is None:
            return text
        place = table.members.index(member)
        after = _skip_to_comma(text, member.end)
        if place > 0 and after is None:  # the last one: its comma stands before it
            start = table.members[place - 1].end
            comma = text.index(",", start) if _skip_to_comma(text, start) is None else _skip_to_comma(text, start)
            assert comma is not None
            text = text[:comma] + text[comma + 1 : _line_start(text, member.start)] + text[member.end :]
        else:
            end = member.end if after is None else after + 1
            text = text[: _line_start(text, member.start)] + text[end:]
        if place == 0 and len(table.members) == 1:
            text = re.sub(r"\{[ \t\r\n]*\}", "{}", text[table.start :], count=1).join((text[: table.start], ""))


def _skip_to_comma(text: str, position: int) -> int | None:
    """Where the comma behind a value stands, if there is one."""
    position = _skip(text, position)
    return position if text[position] == "," else None


def _line_start(text: str, position: int) -> int:
    """Where the white space before `position` begins, one line end included."""
    before = text[:position].rstrip(" \t")
    return len(before.removesuffix("\n").removesuffix("\r")) if before.endswith("\n") else len(before)


def _indent(text: str, position: int) -> str:
    """White space at the beginning of the line that `position` is in."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _inner_indent(text: str, table: Table, unit: str) -> str:
    return _indent(text, table.members[0].start) if table.members else _indent(text, table.start) + unit


def _unit(text: str) -> str:
    """What one level is indented by."""
    found = re.search(r"\{[ \t]*\r?\n([ \t]+)", text)
    return found.group(1) if found else "  "


def _written(value: Any, unit: str, indent: str, newline: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (newline + indent).join(lines)
