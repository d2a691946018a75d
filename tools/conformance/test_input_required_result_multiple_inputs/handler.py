"""test_input_required_result_multiple_inputs: three questions of three kinds in one round."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import NAME_FORM, given, root_uris, sampled_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestInputRequiredResultMultipleInputsArguments

QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "user_name": ("elicitation/create", {"message": "What is your name?", "requestedSchema": NAME_FORM}),
    "greeting": (
        "sampling/createMessage",
        {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Generate a greeting"}}],
            "maxTokens": 50,
        },
    ),
    "client_roots": ("roots/list", {}),
}


async def handle(arguments: TestInputRequiredResultMultipleInputsArguments, call: Call[None]) -> ToolResult:
    answers = call.ask_all(QUESTIONS)
    name, greeting = given(answers["user_name"], "name"), sampled_text(answers["greeting"])
    return text(f"{name}: {greeting} Roots: {root_uris(answers['client_roots'])}")
