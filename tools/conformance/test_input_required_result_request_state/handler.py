"""test_input_required_result_request_state: the state goes out and comes back; the server checks it."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestInputRequiredResultRequestStateArguments

FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


async def handle(arguments: TestInputRequiredResultRequestStateArguments, call: Call[None]) -> ToolResult:
    answer = call.ask("confirm", "elicitation/create", {"message": "Please confirm", "requestedSchema": FORM})
    return text(f"state-ok: {outcome(answer)}")
