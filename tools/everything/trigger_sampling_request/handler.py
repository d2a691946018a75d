"""trigger-sampling-request: has the client's model answer a prompt."""

from __future__ import annotations

from scorpio.tool import text
from tools.everything.answers import shown
from tools.everything.sampling import sampling_params

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import TriggerSamplingRequestArguments
    from tools.everything.state import Everything


async def handle(arguments: TriggerSamplingRequestArguments, call: Call[Everything]) -> ToolResult:
    params = sampling_params(call.name, arguments["prompt"], arguments.get("maxTokens"))
    return text(f"LLM sampling result: \n{shown(call.ask('sample', 'sampling/createMessage', params))}")
