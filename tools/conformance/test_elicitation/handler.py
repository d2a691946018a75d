"""test_elicitation: one form for the user."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestElicitationArguments

FORM = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}


async def handle(arguments: TestElicitationArguments, call: Call[None]) -> ToolResult:
    answer = call.ask("user", "elicitation/create", {"message": arguments["message"], "requestedSchema": FORM})
    return text(f"User response: {outcome(answer)}")
