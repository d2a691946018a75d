"""A strict JSON reader and a small writer on the interpreter's own C scanner.

Two uses: frames that orjson refuses or would change (integers beyond 64 bits, duplicate keys), and the first
message of a process, which is answered before orjson's 10 to 20 ms of imports are paid.

Does not import `json` (its decoder pulls `re`: 5 ms of a cold start).
"""

from __future__ import annotations

import _json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

WHITE_SPACE = " \t\r\n"

quote = _json.encode_basestring_ascii
"""A str as a JSON string in ASCII, quotes included."""


class DuplicateKey(ValueError):
    """An object names a key twice: two parsers may see two different messages."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DuplicateKey(f"the key {quote(key)} stands twice in one object")
            seen.add(key)
    return result


def _constant(literal: str) -> Any:
    raise ValueError(f"{literal} is not JSON")


def _float(literal: str) -> float:
    value = float(literal)
    if value - value != 0.0:
        raise ValueError(f"the number {literal[:32]} is out of range")
    return value


class _ScannerOptions:
    """What the C scanner reads from the object it is made with."""

    strict = True
    object_hook = None
    object_pairs_hook: Any = staticmethod(_object)
    parse_float = staticmethod(_float)
    parse_int = int
    parse_constant = staticmethod(_constant)


class _LenientOptions(_ScannerOptions):
    object_pairs_hook = None


_scan: Any = _json.make_scanner(_ScannerOptions())  # type: ignore[arg-type]  # typeshed wants a scanner here
_scan_lenient: Any = _json.make_scanner(_LenientOptions())  # type: ignore[arg-type]


def loads(frame: bytes) -> Any:
    """The one JSON value in `frame`: exact integers, no duplicate keys, no NaN, valid UTF-8 only.

    Raises ValueError (UnicodeDecodeError included); DuplicateKey where that is the only fault.
    """
    return _whole(_scan, frame)


def loads_last_key_wins(frame: bytes) -> Any:
    """As `loads`, but of duplicate keys the last counts: to read the id of a frame that is refused."""
    return _whole(_scan_lenient, frame)


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
        value, end = _scan(text, at)
        found.append((value, text[at:end]))
        return int(end)
    if kind not in "{[" or isinstance(path[0], str) != (kind == "{"):
        return int(_scan_lenient(text, at)[1])
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
            at = _scan_lenient(text, at)[1]
        at = _past_space(text, at)
        if text[at] == ",":
            at = _past_space(text, at + 1)
        index += 1
    return at + 1


def _past_space(text: str, at: int) -> int:
    while text[at] in WHITE_SPACE:
        at += 1
    return at


def _whole(scan: Any, frame: bytes) -> Any:
    text = frame.decode("utf-8").strip(WHITE_SPACE)
    try:
        value, end = scan(text, 0)
    except StopIteration as stop:
        raise ValueError(f"no JSON value at character {stop.value}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except SystemError:  # CPython 3.11 finds no JSONDecodeError to raise while `json` is not imported
        raise ValueError("broken JSON") from None
    if end != len(text):
        raise ValueError(f"more text after the JSON value, at character {end}")
    return value


def dumps(value: Any) -> str:
    """JSON of dicts with str keys, lists, str, int, bool and None: enough for what precedes orjson."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "null"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quote(key)}:{dumps(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dumps, value)) + "]"
    raise TypeError(f"{type(value).__name__} has no JSON form here")
