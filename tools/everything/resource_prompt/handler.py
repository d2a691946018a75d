"""resource-prompt: a message with a resource embedded in it."""

from __future__ import annotations

from scorpio.tool import ToolFailure
from tools.everything.fabricated import KINDS, completed_number, content, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.everything.state import Everything


def handle(arguments: dict[str, str], call: Call[Everything]) -> dict[str, Any]:
    kind = arguments["resourceType"]
    if kind not in KINDS:
        raise ToolFailure(f"Invalid resourceType: {kind[:100]}. Must be {' or '.join(KINDS)}.")
    number = number_of(arguments["resourceId"])
    said = f"This prompt includes the {kind} resource with id: {number}. Please analyze the following resource:"
    return {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": said}},
            {"role": "user", "content": {"type": "resource", "resource": content(kind, number)}},
        ]
    }


def complete(argument: str, value: str, others: dict[str, str]) -> list[str]:
    if argument == "resourceType":
        return [kind for kind in KINDS if kind.startswith(value)]
    return completed_number(value) if argument == "resourceId" else []
