"""scorpio://plan: the state of plan mode in the reader's project, and the plan."""

from __future__ import annotations

import asyncio

from scorpio.tool import ToolFailure
from tools.core.plan_mode import plan_text
from tools.core.plan_mode.plan_file import Places, read_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.core.state import CoreState


async def handle(uri: str, call: Call[CoreState]) -> list[dict[str, Any]]:
    cwd = await call.working_directory()
    mode = call.state.plans.of(call.owner, cwd)
    lines = [plan_text.INACTIVE]
    if mode is not None:
        active, goal, *_ = plan_text.status(mode)
        lines = [active, goal, f"Since: {plan_text.since(mode)}", f"Plan file: {mode.plan_file or '(none)'}"]
        if mode.plan_file:
            try:
                places = Places(cwd, call.home.root, mode.plan_file)
                lines += ["", await asyncio.to_thread(read_plan, mode.plan_file, places)]
            except ToolFailure:
                pass  # not written yet
    return [{"uri": uri, "mimeType": "text/markdown", "text": "\n".join(lines)}]
