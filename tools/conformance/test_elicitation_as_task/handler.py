"""test_elicitation_as_task: a question that the client may answer by a task of its own."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import NAME_FORM, outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestElicitationAsTaskArguments


async def handle(arguments: TestElicitationAsTaskArguments, call: Call[None]) -> ToolResult:
    question = {"message": "What is your name?", "requestedSchema": NAME_FORM, "task": {"ttl": 600_000}}
    answer = call.ask("user_name", "elicitation/create", question)
    steps = [str(step.get("status")) for step in call.client_task("user_name")]
    return text(f"{' then '.join(steps) or 'At once'}: {outcome(answer)}")
