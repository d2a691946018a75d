"""args-prompt: a message made of arguments, of which one may be left out."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.everything.state import Everything


def handle(arguments: dict[str, str], call: Call[Everything]) -> dict[str, Any]:
    place = ", ".join(filter(None, (arguments["city"], arguments.get("state"))))
    return {"messages": [{"role": "user", "content": {"type": "text", "text": f"What's weather in {place}?"}}]}
