"""trigger-long-running-operation: takes its time, and says how far it is."""

from __future__ import annotations

import asyncio

from scorpio.tool import ToolFailure, text
from tools.everything.simulation import random_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import TriggerLongRunningOperationArguments
    from tools.everything.state import Everything

DURATION_S_DEFAULT = 10
DURATION_S_MAX = 3600
"""An hour: longer work is a task."""

STEPS_DEFAULT = 5
STEPS_MAX = 10_000
"""Each is a notification."""


async def handle(arguments: TriggerLongRunningOperationArguments, call: Call[Everything]) -> ToolResult:
    duration_s = arguments.get("duration", DURATION_S_DEFAULT)
    steps = arguments.get("steps", STEPS_DEFAULT)
    if not 0 <= duration_s <= DURATION_S_MAX:
        raise ToolFailure(f"duration is {duration_s}; it takes 0 to {DURATION_S_MAX} seconds.")
    if not 1 <= steps <= STEPS_MAX or int(steps) != steps:
        raise ToolFailure(f"steps is {steps}; it takes a whole number from 1 to {STEPS_MAX}.")
    count = int(steps)
    for step in range(1, count + 1):
        await asyncio.sleep(duration_s / count)
        call.progress(step, count, f"Step {step} of {count}")
        if call.owner in call.state.logging_in_calls:
            call.log(*random_message())
    return text(f"Long running operation completed. Duration: {duration_s:g} seconds, Steps: {count}.")
