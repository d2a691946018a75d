"""test_endless_questions: a handler that never has enough; the bound on rounds is what is tested."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import NAME_FORM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestEndlessQuestionsArguments


async def handle(arguments: TestEndlessQuestionsArguments, call: Call[None]) -> ToolResult:
    for number in range(arguments["questions"]):
        call.ask(f"question_{number}", "elicitation/create", {"message": "And then?", "requestedSchema": NAME_FORM})
    return text(f"Asked {arguments['questions']} questions.")
