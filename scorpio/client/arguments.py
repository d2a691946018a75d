"""Arguments of a call as a person writes them: JSON, or `name=value` words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


class ArgumentFault(Exception):
    """The words are no arguments. A sentence."""


def of_words(words: Sequence[str], schema: dict[str, Any]) -> dict[str, Any]:
    """`{"a": 1}` or `a=1 b=text`; a value becomes what the schema of its name asks for. Raises ArgumentFault."""
    if not words:
        return {}
    if words[0].lstrip().startswith("{"):
        whole = " ".join(words)
        try:
            value = json.loads(whole)
        except (ValueError, RecursionError) as fault:
            raise ArgumentFault(f"{whole[:80]!r} is not JSON: {fault}.") from None
        return value  # type: ignore[no-any-return]
    given: dict[str, Any] = {}
    properties = schema.get("properties") if type(schema.get("properties")) is dict else {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise ArgumentFault(f"{word[:80]!r} is not NAME=VALUE. Arguments are words like that, or one JSON object.")
        given[name] = _value(text, (properties or {}).get(name))
    return given


def _value(text: str, schema: Any) -> Any:
    kinds = schema.get("type") if type(schema) is dict else None
    kinds = kinds if type(kinds) is list else [kinds]
    if "string" in kinds:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if kinds == [None] and type(value) not in (int, float, bool, dict, list, type(None)):
        return text
    return value
