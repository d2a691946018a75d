"""trigger-sampling-request-async: has the client's model answer a prompt, as a task of the client's."""

from __future__ import annotations

from scorpio.tool import text
from tools.everything.answers import shown
from tools.everything.client_tasks import answered
from tools.everything.sampling import sampling_params

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import TriggerSamplingRequestAsyncArguments
    from tools.everything.state import Everything

TTL_MS = 300_000
"""How long the client should keep the task: as long as a model may take, and be fetched."""


async def handle(arguments: TriggerSamplingRequestAsyncArguments, call: Call[Everything]) -> ToolResult:
    params = sampling_params(call.name, arguments["prompt"], arguments.get("maxTokens"))
    result, lines = answered(call, "sampling/createMessage", params, TTL_MS)
    progress = "\n".join(lines)
    return text(f"[COMPLETED] Async sampling completed!\n\n**Progress:**\n{progress}\n\n**Result:**\n{shown(result)}")
