"""multi_input: a task with two questions that may be answered one by one."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import NAME_FORM, given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import MultiInputArguments


async def handle(arguments: MultiInputArguments, call: Call[None]) -> ToolResult:
    answers = call.ask_all(
        {
            "first": ("elicitation/create", {"message": "Who comes first?", "requestedSchema": NAME_FORM}),
            "second": ("elicitation/create", {"message": "Who comes second?", "requestedSchema": NAME_FORM}),
        }
    )
    return text(f"{given(answers['first'], 'name')}, then {given(answers['second'], 'name')}.")
