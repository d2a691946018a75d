"""What a server sent, as the kind of value it should be. A server that sends something else shows less, no more."""

from __future__ import annotations

from typing import Any


def an_object(value: Any) -> dict[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if type(value) is dict else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [item for item in value if type(item) is dict] if type(value) is list else []


def names(value: Any) -> list[str]:
    """The strings of a list."""
    return [item for item in value if type(item) is str] if type(value) is list else []
