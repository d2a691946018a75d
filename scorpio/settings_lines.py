"""Configuration files as lines: `KEY=VALUE`, comments, quotes. Knows no key and judges no value."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_BYTES_MAX = 256 * 1024
"""Longest configuration file read; a real one has a few hundred bytes."""


def lines(path: str) -> Iterator[tuple[str, str, str | None]]:
    """(where, name, value) of every line that says something; a line without `=` is a name with the value None."""
    for number, raw in enumerate(content(path).decode("utf-8", "replace").splitlines(), 1):
        line = raw.strip()
        if line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            yield f"{path}:{number}", name.strip(), unquoted(value) if equals else None


def content(path: str) -> bytes:
    """b"" where there is no file. Never waits: a repository may hold a link to a terminal or a pipe in its place."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return b""
    try:
        return os.read(file, FILE_BYTES_MAX) if stat.S_ISREG(os.fstat(file).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(file)


def unquoted(value: str) -> str:
    """A value without surrounding quotes or a trailing ` # comment`."""
    value = value.strip()
    if len(value) > 1 and value[0] in "\"'":
        end = value.find(value[0], 1)
        if end > 0:
            return value[1:end]
    return value.split(" #", 1)[0].rstrip()
