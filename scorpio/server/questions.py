"""What the server may ask a client, what the client must have declared for it, and what counts as an answer.

Source: MCP client/elicitation, client/sampling, client/roots. Does not send anything.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CAPABILITY_OF = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}

ACTIONS = ("accept", "decline", "cancel")


def capability(method: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """(name for `Call.supports`, the ClientCapabilities that would do) of one question."""
    name = CAPABILITY_OF[method]
    if name == "elicitation" and params.get("mode") == "url":
        return "elicitation.url", {"elicitation": {"url": {}}}
    return name, {name: {}}


def fault(method: str, answer: dict[str, Any]) -> str:
    """What keeps `answer` from being one, in a few words; "" for nothing. Members a handler does not need are free."""
    if method == "elicitation/create":
        if answer.get("action") not in ACTIONS:
            return f"action must be one of {', '.join(ACTIONS)}"
        content = answer.get("content")
        return "" if content is None or type(content) is dict else "content must be an object"
    if method == "sampling/createMessage":
        content = answer.get("content")
        blocks = content if type(content) is list else [content]
        whole = all(type(block) is dict and type(block.get("type")) is str for block in blocks)
        return "" if whole else "content must be a content block or an array of them"
    roots = answer.get("roots")
    whole = type(roots) is list and all(type(root) is dict for root in roots)
    return "" if whole else "roots must be an array of objects"
