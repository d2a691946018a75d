"""test_tool_with_progress: three steps of progress."""

from __future__ import annotations

import asyncio

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestToolWithProgressArguments

STEP_S = 0.05
"""What the suite asks for."""


async def handle(arguments: TestToolWithProgressArguments, call: Call[None]) -> ToolResult:
    call.progress(0, 100)
    await asyncio.sleep(STEP_S)
    call.progress(50, 100)
    await asyncio.sleep(STEP_S)
    call.progress(100, 100)
    return text("Progress went from 0 to 100.")
