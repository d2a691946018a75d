"""What is wrong with a payload, in the wording of the system this toolset stands in for, by keyword.

Knows the library's errors; does not validate.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from jsonschema_rs import ValidationError

    Fault = dict[str, str]
    """path (a JSON Pointer, "" for the root) and message."""

SHOWN_CHARS_MAX = 500
"""Of what a schema allows, in a message; the whole schema can be asked for."""


def fault(path: str, message: str) -> Fault:
    return {"path": path, "message": message}


def counted(faults: list[Fault]) -> str:
    return "1 fault" if len(faults) == 1 else f"{len(faults)} faults"


def fault_of(error: ValidationError, schema: Any) -> Fault:
    """One error of the library. `schema` is the whole schema: bounds that the error does not name stand there."""
    keyword = str(error.schema_path[-1]) if error.schema_path else ""
    said = MESSAGES.get(keyword) or MESSAGES.get(error.kind.name)
    given = error.kind.as_dict() if error.kind.name not in NESTED else {}
    if error.kind.name == "falseSchema":
        message = FALSE_SCHEMA.get(keyword, "boolean schema is false")
    elif error.kind.name == "propertyNames":
        message = f"property name must be valid: {_shown(error.kind.error.instance)}"  # type: ignore[attr-defined]
    elif said is None:
        message = error.message
    else:
        message = said(given, _parent(schema, error.schema_path))
    return fault(pointer(error.instance_path), message)


def pointer(path: list[str | int]) -> str:
    """RFC 6901; "" for the root."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _parent(schema: Any, path: list[str | int]) -> dict[str, Any]:
    """The schema object that holds the keyword at `path`; empty where the path leads out of this document."""
    for part in path[:-1]:
        if isinstance(schema, dict):
            schema = schema.get(str(part), schema.get(part))
        elif isinstance(schema, list) and isinstance(part, int) and part < len(schema):
            schema = schema[part]
        else:
            return {}
    return schema if isinstance(schema, dict) else {}


def _shown(value: Any) -> str:
    import json

    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "…"


def _listed(values: list[Any]) -> str:
    return _cut(", ".join(map(_shown, values)))


def _types(given: dict[str, Any], parent: dict[str, Any]) -> str:
    wanted = parent.get("type", given["types"])
    return "must be " + (wanted if isinstance(wanted, str) else ",".join(map(str, wanted)))


def _contained(given: dict[str, Any], parent: dict[str, Any]) -> str:
    least, most = parent.get("minContains", 1), parent.get("maxContains")
    more = "" if most is None else f" and no more than {_shown(most)}"
    return f"must contain at least {_shown(least)}{more} valid item(s)"


def _bound(words: str, noun: str = "") -> Callable[[dict[str, Any], dict[str, Any]], str]:
    return lambda given, parent: f"{words} {_shown(given['limit'])}{noun}"


def _fixed(words: str) -> Callable[[dict[str, Any], dict[str, Any]], str]:
    return lambda given, parent: words


NESTED = frozenset(("anyOf", "oneOf", "propertyNames"))
"""Kinds whose details are errors again: of branches that nobody promised to take."""

FALSE_SCHEMA: Mapping[str, str] = {
    "items": "must NOT have more items",
    "additionalProperties": "must NOT have additional properties",
    "then": "must NOT be there under this condition",
    "else": "must NOT be there under this condition",
}
"""Where a keyword's value is `false`: what it says."""

MESSAGES: Mapping[str, Callable[[dict[str, Any], dict[str, Any]], str]] = {
    "type": _types,
    "required": lambda given, parent: f"must have required property '{given['property']}'",
    "enum": lambda given, parent: f"must be equal to one of the allowed values: {_listed(given['options'])}",
    "const": lambda given, parent: f"must be equal to constant: {_shown(given['expected_value'])}",
    "minimum": _bound("must be >="),
    "maximum": _bound("must be <="),
    "exclusiveMinimum": _bound("must be >"),
    "exclusiveMaximum": _bound("must be <"),
    "multipleOf": lambda given, parent: f"must be multiple of {given['multiple_of']}",
    "minLength": _bound("must NOT have fewer than", " characters"),
    "maxLength": _bound("must NOT have more than", " characters"),
    "pattern": lambda given, parent: f'must match pattern "{given.get("pattern", parent.get("pattern"))}"',
    "format": lambda given, parent: f'must match format "{given["format"]}"',
    "minItems": _bound("must NOT have fewer than", " items"),
    "maxItems": _bound("must NOT have more than", " items"),
    "additionalItems": _bound("must NOT have more than", " items"),
    "uniqueItems": _fixed("must NOT have duplicate items"),
    "contains": _contained,
    "minContains": _contained,
    "maxContains": _contained,
    "minProperties": _bound("must NOT have fewer than", " properties"),
    "maxProperties": _bound("must NOT have more than", " properties"),
    "additionalProperties": lambda given, parent: (
        f"must NOT have additional properties: {_listed(given['unexpected'])}"
    ),
    "unevaluatedProperties": lambda given, parent: (
        f"must NOT have unevaluated properties: {_listed(given['unexpected'])}"
    ),
    "unevaluatedItems": lambda given, parent: (
        f"must NOT have unevaluated items: {_cut(', '.join(given['unexpected']))}"
    ),
    "dependentRequired": lambda given, parent: (
        f"must have property '{given['property']}' when {_listed(_asking(given['property'], parent))} is present"
    ),
    "anyOf": _fixed("must match a schema in anyOf"),
    "oneOf": _fixed("must match exactly one schema in oneOf"),
    "not": _fixed("must NOT be valid"),
}


def _asking(name: str, parent: dict[str, Any]) -> list[str]:
    """The properties whose presence asks for `name`."""
    rules = parent.get("dependentRequired", {})
    return [key for key, wanted in rules.items() if isinstance(wanted, list) and name in wanted]
