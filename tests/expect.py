"""Expected JSON with placeholders, compared by structure. Knows no protocol.

A string in the expected value may stand for what varies:
    "<any>" "<string>" "<number>" "<object>" "<array>"   anything, or anything of that type
    "<~ REGEX>"                                          a string that the whole REGEX matches
    "<base64 image/png>"                                 base64 of a file with the first bytes of that type
    "<name := string>"                                   as <string>, and kept under that name
A member "...": "..." of an object allows further members.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "audio/wav": b"RIFF"}
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "object": dict,
    "array": list,
    "any": object,
}


def difference(expected: Any, actual: Any, kept: dict[str, Any] | None = None, where: str = "") -> str:
    """Where and how `actual` is not what was expected; "" when it is. Named placeholders are added to `kept`."""
    if isinstance(expected, str) and expected.startswith("<") and expected.endswith(">"):
        return _placeholder(expected[1:-1], actual, {} if kept is None else kept, where or "/")
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _objects(expected, actual, kept, where)
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return f"{where or '/'}: {len(actual)} items instead of {len(expected)}"
        found = (difference(e, a, kept, f"{where}/{i}") for i, (e, a) in enumerate(zip(expected, actual, strict=True)))
        return next(filter(None, found), "")
    same = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
    return "" if same else f"{where or '/'}: {actual!r} instead of {expected!r}"


def _objects(expected: dict[str, Any], actual: dict[str, Any], kept: dict[str, Any] | None, where: str) -> str:
    more = "..." in expected
    wanted = {key: value for key, value in expected.items() if key != "..."}
    missing = [key for key in wanted if key not in actual]
    surplus = [] if more else [key for key in actual if key not in wanted]
    if missing or surplus:
        return f"{where or '/'}: lacks {missing}, has {surplus} too: {actual!r}"[:2000]
    found = (difference(value, actual[key], kept, f"{where}/{key}") for key, value in wanted.items())
    return next(filter(None, found), "")


def _placeholder(name: str, actual: Any, kept: dict[str, Any], where: str) -> str:
    if ":=" in name:
        kept_as, _, name = (part.strip() for part in name.partition(":="))
        kept[kept_as] = actual
    if name.startswith("~ "):
        fits = isinstance(actual, str) and re.fullmatch(name[2:], actual, re.DOTALL) is not None
    elif name.startswith("base64 "):
        fits = isinstance(actual, str) and _decoded(actual).startswith(MAGIC[name.removeprefix("base64 ")])
    elif name in TYPES:
        fits = isinstance(actual, TYPES[name]) and not (name == "number" and isinstance(actual, bool))
    else:
        raise ValueError(f"{where}: there is no placeholder <{name}>")
    return "" if fits else f"{where}: {actual!r} is not <{name}>"


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
