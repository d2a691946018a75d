"""test_input_required_result_multi_round: two questions, the second after the first."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import NAME_FORM, given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestInputRequiredResultMultiRoundArguments

COLOR_FORM = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}


async def handle(arguments: TestInputRequiredResultMultiRoundArguments, call: Call[None]) -> ToolResult:
    first = {"message": "Step 1: What is your name?", "requestedSchema": NAME_FORM}
    name = given(call.ask("step1", "elicitation/create", first), "name")
    second = {"message": "Step 2: What is your favorite color?", "requestedSchema": COLOR_FORM}
    color = given(call.ask("step2", "elicitation/create", second), "color")
    return text(f"{name} likes {color}.")
