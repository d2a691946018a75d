"""Answers of a client, in words, and what the fixtures read from them.

Does not check their shape: the server has.
"""

from __future__ import annotations

import json

from scorpio.tool import ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def outcome(answer: dict[str, Any]) -> str:
    """An elicitation's answer: `action=accept, content={...}`."""
    content = json.dumps(answer.get("content") or {}, ensure_ascii=False, separators=(",", ":"))
    return f"action={answer['action']}, content={content}"


def given(answer: dict[str, Any], field: str) -> str:
    """One string of an accepted form. Raises ToolFailure where there is none."""
    value = (answer.get("content") or {}).get(field)
    if answer["action"] != "accept" or not isinstance(value, str):
        raise ToolFailure(f"The user gave no {field} ({answer['action']}).")
    return value


def sampled_text(answer: dict[str, Any]) -> str:
    """The text of a sampled message, whose content is one block or, from 2025-11-25, a list of them."""
    content = answer["content"]
    blocks = content if isinstance(content, list) else [content]
    return " ".join(str(block.get("text", block.get("type"))) for block in blocks)


def root_uris(answer: dict[str, Any]) -> str:
    return ", ".join(str(root.get("uri")) for root in answer["roots"]) or "none"
