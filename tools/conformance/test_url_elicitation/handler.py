"""test_url_elicitation: a question that is answered in a browser (2025-11-25 and later)."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestUrlElicitationArguments


async def handle(arguments: TestUrlElicitationArguments, call: Call[None]) -> ToolResult:
    question = {
        "mode": "url",
        "message": "Please sign in",
        "url": "https://example.com/sign-in",
        "elicitationId": "sign-in-1",
    }
    return text(f"Elicitation completed: {outcome(call.ask('sign_in', 'elicitation/create', question))}")
