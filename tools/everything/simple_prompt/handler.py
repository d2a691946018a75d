"""simple-prompt: one message, no arguments."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.everything.state import Everything


def handle(arguments: dict[str, str], call: Call[Everything]) -> dict[str, Any]:
    said = "This is a simple prompt without arguments."
    return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}
