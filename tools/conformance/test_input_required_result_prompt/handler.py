"""test_input_required_result_prompt: a prompt that asks before it answers."""

from __future__ import annotations

from scorpio.tool import text_block
from tools.conformance.wording import given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call

FORM = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}


async def handle(arguments: dict[str, str], call: Call[None]) -> dict[str, Any]:
    question = {"message": "What context should the prompt use?", "requestedSchema": FORM}
    context = given(call.ask("user_context", "elicitation/create", question), "context")
    return {"description": "With context", "messages": [{"role": "user", "content": text_block(f"Use {context}.")}]}
