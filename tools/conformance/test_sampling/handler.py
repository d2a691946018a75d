"""test_sampling: one question to the client's model."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import sampled_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestSamplingArguments


async def handle(arguments: TestSamplingArguments, call: Call[None]) -> ToolResult:
    message = {"role": "user", "content": {"type": "text", "text": arguments["prompt"]}}
    answer = call.ask("sample", "sampling/createMessage", {"messages": [message], "maxTokens": 100})
    return text(f"LLM response: {sampled_text(answer)}")
