"""test_input_required_result_capabilities: a question for each capability that was declared."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import NAME_FORM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestInputRequiredResultCapabilitiesArguments


async def handle(arguments: TestInputRequiredResultCapabilitiesArguments, call: Call[None]) -> ToolResult:
    questions: dict[str, tuple[str, dict[str, Any]]] = {}
    if call.supports("elicitation"):
        questions["user_name"] = ("elicitation/create", {"message": "What is your name?", "requestedSchema": NAME_FORM})
    if call.supports("sampling"):
        message = {"role": "user", "content": {"type": "text", "text": "Generate a greeting"}}
        questions["greeting"] = ("sampling/createMessage", {"messages": [message], "maxTokens": 50})
    call.ask_all(questions)
    return text(f"Asked: {', '.join(questions) or 'nothing'}.")
