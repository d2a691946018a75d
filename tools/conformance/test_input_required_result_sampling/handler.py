"""test_input_required_result_sampling: one question to the model."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import sampled_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestInputRequiredResultSamplingArguments


async def handle(arguments: TestInputRequiredResultSamplingArguments, call: Call[None]) -> ToolResult:
    message = {"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}
    question = {"messages": [message], "maxTokens": 100}
    return text(sampled_text(call.ask("capital_question", "sampling/createMessage", question)))
