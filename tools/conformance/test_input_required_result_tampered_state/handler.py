"""test_input_required_result_tampered_state: the server's seal on the state is what is tested."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestInputRequiredResultTamperedStateArguments

FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


async def handle(arguments: TestInputRequiredResultTamperedStateArguments, call: Call[None]) -> ToolResult:
    answer = call.ask("confirm", "elicitation/create", {"message": "Please confirm", "requestedSchema": FORM})
    return text(f"The state came back whole: {outcome(answer)}")
