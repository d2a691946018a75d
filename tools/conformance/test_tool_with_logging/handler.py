"""test_tool_with_logging: three log messages while it runs."""

from __future__ import annotations

import asyncio

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestToolWithLoggingArguments

STEP_S = 0.05
"""What the suite asks for, so that messages arrive while the call is running."""


async def handle(arguments: TestToolWithLoggingArguments, call: Call[None]) -> ToolResult:
    call.log("info", "Tool execution started")
    await asyncio.sleep(STEP_S)
    call.log("info", "Tool processing data")
    await asyncio.sleep(STEP_S)
    call.log("info", "Tool execution completed")
    return text("Logged three messages.")
