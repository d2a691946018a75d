"""test_simple_prompt: one message."""

from __future__ import annotations

from scorpio.tool import text_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call


def handle(arguments: dict[str, str], call: Call[None]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text_block("This is a simple prompt for testing.")}]}
