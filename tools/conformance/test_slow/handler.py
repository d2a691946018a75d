"""test_slow: sleeps for the given time in the given number of steps."""

from __future__ import annotations

import asyncio

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestSlowArguments
    from tools.conformance.state import Counts


async def handle(arguments: TestSlowArguments, call: Call[Counts]) -> ToolResult:
    counts = call.state
    counts.started += 1
    steps = arguments.get("steps", 0)
    try:
        for step in range(steps):
            await asyncio.sleep(arguments["ms"] / 1000 / steps)
            call.progress(step + 1, message=f"step {step + 1}")
        if not steps:
            await asyncio.sleep(arguments["ms"] / 1000)
    except asyncio.CancelledError:
        counts.cancelled += 1
        call.progress(1_000_000, message="after the end")
        call.log("emergency", "after the end")
        if "stubborn_ms" not in arguments:
            raise
        await asyncio.sleep(arguments["stubborn_ms"] / 1000)
    counts.finished += 1
    return text(f"Slept for {arguments['ms']} ms.")
