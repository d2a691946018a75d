"""What a descriptor in `tools/` may say: names, JSON Schema keywords, lengths. Each breach is a sentence.

Exists because fastjsonschema silently accepts keywords it does not know: a schema that promises more than its
validator checks is refused here.
"""

from __future__ import annotations

import re
from typing import Any

TOOL_NAME = re.compile(r"[A-Za-z0-9_./-]{1,64}")
"""What the official conformance suite demands of a tool's name."""

DESCRIPTION_BYTES_MAX = 2000
"""Claude Code cuts a tool's description there."""

DEPTH_MAX = 16
"""Deepest nesting of schemas; real ones have four levels."""

CHECKED = {
    *("type", "enum", "const", "properties", "required", "additionalProperties", "propertyNames"),
    *("patternProperties", "minProperties", "maxProperties", "items", "minItems", "maxItems", "uniqueItems"),
    *("minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref"),
}
"""Keywords that fastjsonschema checks as draft 2020-12 means them."""

SAID = {"$schema", "$id", "$defs", "$anchor", "title", "description", "default", "examples", "deprecated", "format"}
"""Keywords that annotate, or hold schemas that are reached by `$ref`."""

SUBSCHEMAS = ("additionalProperties", "propertyNames", "items", "not", "if", "then", "else")
SUBSCHEMA_LISTS = ("anyOf", "oneOf", "allOf")
SUBSCHEMA_MAPS = ("properties", "patternProperties", "$defs")


def folder_name(tool: str) -> str:
    """The folder a feature lives in: its name in snake case (`KillBgTask` -> `kill_bg_task`)."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", tool)
    return re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_").lower()


def faults(descriptor: dict[str, Any], folder: str, *, root_composition: frozenset[str] = frozenset()) -> list[str]:
    """What is wrong with a `tool.json`; empty when nothing is.

    `root_composition` names what of anyOf, oneOf and allOf the root may have all the same. They are checked like
    every other keyword; but a client that refuses them there has no use for this tool.
    """
    name = descriptor.get("name", "")
    found = []
    if not TOOL_NAME.fullmatch(name):
        found.append(f"name {name!r} must match {TOOL_NAME.pattern}")
    if folder_name(name) != folder:
        found.append(f"{name} belongs in a folder named {folder_name(name)}, not {folder}")
    size = len(descriptor.get("description", "").encode())
    if not 0 < size <= DESCRIPTION_BYTES_MAX:
        found.append(f"the description has {size} bytes; 1 to {DESCRIPTION_BYTES_MAX} are shown whole by every client")
    schema = descriptor.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return [*found, 'inputSchema must be an object schema ({"type": "object", …})']
    found += [
        f'a root {keyword} is refused by some clients; "x-scorpio": {{"root_composition": ["{keyword}"]}} insists on it'
        for keyword in SUBSCHEMA_LISTS
        if keyword in schema and keyword not in root_composition
    ]
    found += [
        f"x-scorpio insists on a root {keyword} that is not there" for keyword in root_composition - schema.keys()
    ]
    return found + schema_faults(schema)


TASK_SUPPORT = ("forbidden", "optional", "required")


def task_faults(descriptor: dict[str, Any], *, slow: bool) -> list[str]:
    """What is wrong with `execution` of a `tool.json`. Source: MCP 2025-11-25, basic/utilities/tasks."""
    execution = descriptor.get("execution", {})
    support = execution.get("taskSupport", "forbidden") if isinstance(execution, dict) else None
    if support not in TASK_SUPPORT:
        return [f"execution.taskSupport must be one of {', '.join(TASK_SUPPORT)}"]
    if support != "forbidden" and not slow:
        return ["a call that may be a task needs `async def handle`: an instant one has ended before it is one"]
    return []


def schema_faults(schema: Any, where: str = "", depth: int = 0) -> list[str]:
    """Keywords outside the list, remote references, too much depth; by JSON Pointer."""
    if isinstance(schema, bool):
        return []
    if not isinstance(schema, dict):
        return [f"{where or '/'} is not a schema"]
    if depth > DEPTH_MAX:
        return [f"{where} is nested more than {DEPTH_MAX} levels deep"]
    found = [
        f"{where}/{keyword}: this keyword is not checked by the compiled validator"
        for keyword in schema
        if keyword not in CHECKED | SAID and not keyword.startswith("x-")
    ]
    reference = schema.get("$ref", "#")
    if not str(reference).startswith("#"):
        found.append(f"{where}/$ref: {reference} is not in this document")
    for keyword in SUBSCHEMAS:
        if keyword in schema:
            found += schema_faults(schema[keyword], f"{where}/{keyword}", depth + 1)
    for keyword in SUBSCHEMA_LISTS:
        for index, item in enumerate(schema.get(keyword, [])):
            found += schema_faults(item, f"{where}/{keyword}/{index}", depth + 1)
    for keyword in SUBSCHEMA_MAPS:
        for key, item in schema.get(keyword, {}).items():
            if re.search(r"[.\[\]]", key):
                found.append(f"{where}/{keyword}/{key}: a name with . or [ would give a wrong path in faults")
            found += schema_faults(item, f"{where}/{keyword}/{key}", depth + 1)
    return found
