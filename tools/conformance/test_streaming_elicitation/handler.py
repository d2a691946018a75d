"""test_streaming_elicitation: notifications before a question, never a request on the stream of the modern era."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestStreamingElicitationArguments

FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


async def handle(arguments: TestStreamingElicitationArguments, call: Call[None]) -> ToolResult:
    call.progress(1, 2, "about to ask")
    call.log("info", "about to ask")
    answer = call.ask("confirm", "elicitation/create", {"message": "Go on?", "requestedSchema": FORM})
    call.progress(2, 2, "answered")
    return text(f"Streamed: {outcome(answer)}")
