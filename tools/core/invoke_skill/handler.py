"""InvokeSkill: the text of one skill with its arguments put in, or the list of all."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import InvokeSkillArguments
    from tools.core.state import CoreState


async def handle(arguments: InvokeSkillArguments, call: Call[CoreState]) -> ToolResult:
    return text(await call.state.skills.invoke(arguments["skill_name"], arguments.get("arguments", ""), call))
