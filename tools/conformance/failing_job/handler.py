"""failing_job: a task whose tool fails."""

from __future__ import annotations

import asyncio

from scorpio.tool import ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import FailingJobArguments


async def handle(arguments: FailingJobArguments, call: Call[None]) -> ToolResult:
    await asyncio.sleep(0.1)
    raise ToolFailure("The job failed, as it always does.")
