"""Request headers that repeat what stands in a message, for what stands between client and server.

Source: MCP 2026-07-28, basic/transports, "Request headers" and "Custom headers from tool parameters".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scorpio.protocol.mirrored import NAMED_BY, at, encoded

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES = ("string", "integer", "boolean")
_WITHIN = ("items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
           "not", "if", "then", "else", "contentSchema")  # fmt: skip
_WITHIN_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_WITHIN_TABLES = ("patternProperties", "dependentSchemas", "$defs", "definitions")
Path = tuple[str, ...]


def parameters(schema: Any) -> dict[Path, str] | None:
    """Path of a parameter -> its header's name; None for a schema that marks parameters wrongly: such a tool is not
    to be used."""
    found: dict[Path, str] = {}
    for path, node in _positions(schema):
        if "x-mcp-header" not in node:
            continue
        name = node["x-mcp-header"]
        taken = {known.lower() for known in found.values()}
        if not path or type(name) is not str or not _TOKEN.fullmatch(name) or name.lower() in taken:
            return None
        if node.get("type") not in _TYPES:
            return None
        found[path] = name
    return found


def _positions(root: Any) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Every schema in a schema, and its path where only `properties` lead there."""
    left: list[tuple[Path | None, Any]] = [((), root)]
    while left:
        path, node = left.pop()
        if type(node) is not dict:
            continue
        yield path, node
        properties = node.get("properties")
        if type(properties) is dict:
            left += [(None if path is None else (*path, name), each) for name, each in properties.items()]
        left += [(None, node[key]) for key in _WITHIN if key in node]
        for key in _WITHIN_LISTS:
            left += [(None, each) for each in node[key]] if type(node.get(key)) is list else []
        for key in _WITHIN_TABLES:
            left += [(None, each) for each in node[key].values()] if type(node.get(key)) is dict else []


def headers(message: dict[str, Any], marked: dict[str, dict[Path, str]]) -> dict[str, str]:
    """Of a request or notification of the modern era; `marked` is what `parameters` said of each tool."""
    method, params = str(message.get("method")), message.get("params") or {}
    found = {"Mcp-Method": encoded(method)}
    key = NAMED_BY.get(method)
    if key is not None and type(params.get(key)) is str:
        found["Mcp-Name"] = encoded(params[key])
    if method == "tools/call":
        for path, name in marked.get(str(params.get("name")), {}).items():
            given = at(params.get("arguments"), path)
            if type(given) is bool:
                found[f"Mcp-Param-{name}"] = "true" if given else "false"
            elif type(given) in (str, int, float):
                found[f"Mcp-Param-{name}"] = encoded(str(given))
    return found
