"""A strict JSON reader and a small writer on the interpreter's own C scanner.

Two uses: frames that orjson refuses or would change (integers beyond 64 bits, duplicate keys), and the first
message of a process, which is answered before orjson's 10 to 20 ms of imports are paid.

Does not import `json` (its decoder pulls `re`: 5 ms of a cold start).
"""

from __future__ import annotations

import _json

TYPE_CHECKING = False
if TYPE_CHECKING:
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


scan: Any = _json.make_scanner(_ScannerOptions())  # type: ignore[arg-type]  # typeshed wants a scanner here
scan_lenient: Any = _json.make_scanner(_LenientOptions())  # type: ignore[arg-type]


def loads(frame: bytes) -> Any:
    """The one JSON value in `frame`: exact integers, no duplicate keys, no NaN, valid UTF-8 only.

    Raises ValueError (UnicodeDecodeError included); DuplicateKey where that is the only fault.
    """
    return _whole(scan, frame)


def loads_last_key_wins(frame: bytes) -> Any:
    """As `loads`, but of duplicate keys the last counts: to read the id of a frame that is refused."""
    return _whole(scan_lenient, frame)


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
