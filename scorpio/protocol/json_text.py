"""The text of a value as it stands in JSON: its spelling, which a parser does not keep.

Apart from the parser, whose scanner it walks with, because a start does not need it.
"""

from __future__ import annotations

import _json

from scorpio.protocol.strict_json import WHITE_SPACE, DuplicateKey, quote, scan, scan_lenient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def at_path(frame: bytes | str, path: Sequence[str | int]) -> tuple[Any, str]:
    """(the value at `path`, as by `loads`; its text as it stands there) of JSON that a parser has accepted.

    Raises KeyError where there is none; DuplicateKey for a key that stands twice on the way or in the value;
    ValueError for a value that `loads` refuses.
    """
    text = frame if isinstance(frame, str) else frame.decode("utf-8")
    found: list[tuple[Any, str]] = []
    try:
        _walk(text, _past_space(text, 0), path, found)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (StopIteration, IndexError, SystemError):
        raise ValueError("broken JSON") from None
    if not found:
        raise KeyError(path)
    return found[0]


def _walk(text: str, at: int, path: Sequence[str | int], found: list[tuple[Any, str]]) -> int:
    """Put what stands at `path` below the value at `at` into `found`; where that value ends."""
    kind = text[at]
    if not path:
        value, end = scan(text, at)
        found.append((value, text[at:end]))
        return int(end)
    if kind not in "{[" or isinstance(path[0], str) != (kind == "{"):
        return int(scan_lenient(text, at)[1])
    at = _past_space(text, at + 1)
    index = 0
    seen = False
    while text[at] not in "}]":
        key: str | int = index
        if kind == "{":
            key, at = _json.scanstring(text, at + 1, True)
            at = _past_space(text, _past_space(text, at) + 1)
        if key == path[0]:
            if seen:
                raise DuplicateKey(f"the key {quote(str(key))} stands twice in one object")
            seen = True
            at = _walk(text, at, path[1:], found)
        else:
            at = scan_lenient(text, at)[1]
        at = _past_space(text, at)
        if text[at] == ",":
            at = _past_space(text, at + 1)
        index += 1
    return at + 1


def _past_space(text: str, at: int) -> int:
    while text[at] in WHITE_SPACE:
        at += 1
    return at
