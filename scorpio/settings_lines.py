"""Configuration files as lines: `KEY=VALUE`, comments, quotes. Knows no key and judges no value."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    Line = tuple[str, str, str | None]
    """(where, name, value); what has no `=` is a name with the value None."""

FILE_BYTES_MAX = 256 * 1024
"""Longest configuration file read; a real one has a few hundred bytes."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Some editors begin a file with it."""


class Unreadable(Exception):
    """A predicate about the file: "is a directory"."""


class Missing(Unreadable):
    """There is nothing of that name."""


def lines(path: str) -> list[Line]:
    """Every line that says something. Raises Unreadable."""
    found: list[Line] = []
    raw_lines = content(path).removeprefix(BYTE_ORDER_MARK).splitlines()  # of bytes: at CR and LF only
    for number, raw in enumerate(raw_lines, 1):
        line = raw.decode("utf-8", "replace").strip()
        if line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            found.append((f"{path}:{number}", name.strip(), unquoted(value) if equals else None))
    return found


def content(path: str) -> bytes:
    """Raises Unreadable. Never waits: a repository may hold a link to a terminal or a pipe in its place."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            mode = os.fstat(file).st_mode
            found = os.read(file, FILE_BYTES_MAX + 1) if stat.S_ISREG(mode) else b""
        finally:
            os.close(file)
    except (FileNotFoundError, NotADirectoryError):
        raise Missing("is not there") from None
    except OSError as fault:
        raise Unreadable(f"cannot be read ({(fault.strerror or str(fault)).lower()})") from None
    if not stat.S_ISREG(mode):
        raise Unreadable("is a directory" if stat.S_ISDIR(mode) else "is a pipe or a device, and no file")
    if len(found) > FILE_BYTES_MAX:
        raise Unreadable(f"is longer than {FILE_BYTES_MAX >> 10} KiB")
    return found


def unquoted(value: str) -> str:
    """A value without surrounding quotes or a trailing ` # comment`."""
    value = value.strip()
    if len(value) > 1 and value[0] in "\"'":
        end = value.find(value[0], 1)
        if end > 0:
            return value[1:end]
    return value.split(" #", 1)[0].rstrip()
