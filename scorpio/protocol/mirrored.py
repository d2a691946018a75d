"""Request headers that repeat what stands in the body: which member each method names, and how a value is written.

Source: MCP 2026-07-28, basic/transports/streamable-http, "Request Metadata" and "Value Encoding".
"""

from __future__ import annotations

import base64
import binascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAMED_BY: Mapping[str, str] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Which member of `params` the Mcp-Name header repeats, by method. Tasks: SEP-2663, "Routing Headers"."""

SENTINEL = "=?base64?"
SENTINEL_END = "?="


def encoded(text: str) -> str:
    """As a header can carry it: what is not plain ASCII, or would be read as something else, is base64."""
    plain = text.isascii() and text.isprintable() and text == text.strip() and not _is_sentinel(text)
    return text if plain else f"{SENTINEL}{base64.b64encode(text.encode()).decode()}{SENTINEL_END}"


def decoded(value: bytes) -> str | None:
    """What a header value stands for; None for characters or base64 that it must not have.

    The sentinel is taken only in the one spelling a client makes: two spellings of one name would be two names to a
    proxy that does not decode them.
    """
    if any(byte != 9 and not 32 <= byte < 127 for byte in value):
        return None
    text = value.decode("ascii")
    if not _is_sentinel(text):
        return text
    content = value[len(SENTINEL) : -len(SENTINEL_END)]
    try:
        raw = base64.b64decode(content, validate=True)
        return raw.decode("utf-8") if base64.b64encode(raw) == content else None
    except (binascii.Error, ValueError):
        return None


def at(node: Any, path: tuple[str, ...]) -> Any:
    """The value that a path of member names leads to; None where it leads nowhere."""
    for name in path:
        node = node.get(name) if type(node) is dict else None
    return node


def _is_sentinel(text: str) -> bool:
    whole = len(SENTINEL) + len(SENTINEL_END)
    return len(text) >= whole and text.startswith(SENTINEL) and text.endswith(SENTINEL_END)
