"""slow_compute: a call that is a task where it takes long and the client takes one."""

from __future__ import annotations

import asyncio

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import SlowComputeArguments


async def handle(arguments: SlowComputeArguments, call: Call[None]) -> ToolResult:
    call.activity = f"computing {arguments.get('label', '')}".strip()
    await asyncio.sleep(arguments["seconds"])
    return text(f"Computed for {arguments['seconds']:g} s.")
