"""test_tool_with_task: one question before it is a task, then work that takes longer than a call that is none."""

from __future__ import annotations

import asyncio

from scorpio.tool import text
from tools.conformance.wording import NAME_FORM, given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestToolWithTaskArguments


async def handle(arguments: TestToolWithTaskArguments, call: Call[None]) -> ToolResult:
    question = {"message": "What is your name?", "requestedSchema": NAME_FORM}
    name = given(call.ask("user_name", "elicitation/create", question), "name")
    await asyncio.sleep(0.5)
    return text(f"Hello, {name}!")
