"""A table set and removed in TOML text; every other byte stays.

Adds a `[table]` at the end or edits its lines of one key each; refuses what is written otherwise (inline tables,
dotted keys), and an edit whose result does not parse to exactly what was wanted.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from typing import Any

from scorpio.registration.edit import EditFailure

_HEADER = re.compile(r"^[ \t]*\[")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def entry_at(text: str, path: tuple[str, ...]) -> dict[str, Any] | None:
    """See `edit.Editor`."""
    return _at(_parsed(text), path)


def with_entry(text: str, path: tuple[str, ...], entry: dict[str, Any]) -> str:
    """See `edit.Editor`."""
    before = _parsed(text)
    known = _at(before, path)
    wanted = copy.deepcopy(before)
    table = wanted
    for key in path:
        table = table.setdefault(key, {})
    table.update(entry)
    if wanted == before:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    if known is None:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += newline
        space = [newline] if lines and lines[-1].strip() else []
        written = [f"{_name(key)} = {_value(value)}{newline}" for key, value in entry.items()]
        lines += [*space, f"[{'.'.join(map(_name, path))}]{newline}", *written]
    else:
        for key, value in entry.items():
            lines = _with_line(lines, path, key, f"{_name(key)} = {_value(value)}{newline}", known.get(key) is not None)
    return _checked("".join(lines), wanted)


def without_entry(text: str, path: tuple[str, ...]) -> str:
    """See `edit.Editor`."""
    before = _parsed(text)
    if _at(before, path) is None:
        return text
    wanted = copy.deepcopy(before)
    table = _at(wanted, path[:-1])
    assert table is not None
    del table[path[-1]]
    lines = text.splitlines(keepends=True)
    while (found := _block(lines, path, nested=True)) is not None:
        start, end = found
        if start and not lines[start - 1].strip():  # the blank line that was put before it
            start -= 1
        del lines[start:end]
    edited = "".join(lines)
    for depth in range(len(path) - 1, 0, -1):  # the tables around it, which exist only by its name
        if path[0] in wanted and not _at(wanted, path[:depth]) and _block(lines, path[:depth]) is None:
            parent = _at(wanted, path[: depth - 1])
            assert parent is not None
            parent.pop(path[depth - 1], None)
    return _checked(edited, wanted)


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n").removeprefix("\ufeff"))
    except (ValueError, RecursionError) as fault:
        raise EditFailure(f"it is not TOML ({fault})") from None


def _checked(text: str, wanted: dict[str, Any]) -> str:
    if _parsed(text) != wanted:
        raise EditFailure("it is written in a way this program cannot edit")
    return text


def _at(value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any] | None:
    table: Any = value
    for depth, key in enumerate(path):
        table = table.get(key)
        if table is None:
            return None
        if type(table) is not dict:
            raise EditFailure(f"{'.'.join(path[: depth + 1])} is not a table")
    return table  # type: ignore[no-any-return]


def _block(lines: list[str], path: tuple[str, ...], *, nested: bool = False) -> tuple[int, int] | None:
    """First and behind the last line of the table at `path`; with `nested`, of any table below it too."""
    for number, line in enumerate(lines):
        names = _header(line)
        if names == path or (nested and names is not None and names[: len(path)] == path):
            end = number + 1
            while end < len(lines) and not _HEADER.match(lines[end]):
                end += 1
            while end > number + 1 and lines[end - 1].lstrip().startswith("#") and end < len(lines):
                end -= 1  # a comment above the next table belongs to that one
            while end > number + 1 and not lines[end - 1].strip():
                end -= 1
            return number, end
    return None


def _header(line: str) -> tuple[str, ...] | None:
    """The names in a `[table]` line."""
    if not _HEADER.match(line):
        return None
    try:
        value = tomllib.loads(line.strip())
    except ValueError:
        return None
    names = []
    while type(value) is dict and value:
        name, value = next(iter(value.items()))
        names.append(name)
    return tuple(names)


def _with_line(lines: list[str], path: tuple[str, ...], key: str, line: str, known: bool) -> list[str]:
    block = _block(lines, path)
    if block is None:
        raise EditFailure(f"{'.'.join(path)} is not written as a [table] of its own")
    start, end = block
    if not known:
        return [*lines[: start + 1], line, *lines[start + 1 :]]
    pattern = re.compile(rf"[ \t]*(?:{re.escape(key)}|\"{re.escape(key)}\")[ \t]*=")
    place = next((number for number in range(start + 1, end) if pattern.match(lines[number])), None)
    if place is None:
        raise EditFailure(f"{key} in {'.'.join(path)} is not a line of its own")
    return [*lines[:place], line, *lines[place + 1 :]]


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key)


def _value(value: Any) -> str:
    """Strings, lists of strings, booleans: their JSON is TOML too."""
    return json.dumps(value, ensure_ascii=False)
