"""test_missing_capability: refused to clients that did not declare sampling."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import sampled_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestMissingCapabilityArguments


async def handle(arguments: TestMissingCapabilityArguments, call: Call[None]) -> ToolResult:
    message = {"role": "user", "content": {"type": "text", "text": "Say anything."}}
    answer = call.ask("sample", "sampling/createMessage", {"messages": [message], "maxTokens": 10})
    return text(f"The client can sample: {sampled_text(answer)}")
