"""test_input_required_result_elicitation: one question, then a greeting."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import NAME_FORM, given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestInputRequiredResultElicitationArguments


async def handle(arguments: TestInputRequiredResultElicitationArguments, call: Call[None]) -> ToolResult:
    question = {"message": "What is your name?", "requestedSchema": NAME_FORM}
    return text(f"Hello, {given(call.ask('user_name', 'elicitation/create', question), 'name')}!")
