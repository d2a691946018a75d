"""What the client's model is asked."""

from __future__ import annotations

from scorpio.tool import ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TOKENS_DEFAULT = 100
TOKENS_MAX = 1_000_000
"""More than any model writes at once; the client decides below that."""


def sampling_params(tool: str, prompt: str, tokens: float | None) -> dict[str, Any]:
    """Of sampling/createMessage. Raises ToolFailure."""
    count = TOKENS_DEFAULT if tokens is None else tokens
    if not 1 <= count <= TOKENS_MAX or int(count) != count:
        raise ToolFailure(f"maxTokens is {count}; it takes a whole number from 1 to {TOKENS_MAX}.")
    said = f"Resource {tool} context: {prompt}"
    return {
        "messages": [{"role": "user", "content": {"type": "text", "text": said}}],
        "systemPrompt": "You are a helpful test server.",
        "maxTokens": int(count),
        "temperature": 0.7,
    }
