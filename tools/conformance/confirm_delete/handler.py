"""confirm_delete: a task that asks the user once."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import ConfirmDeleteArguments


async def handle(arguments: ConfirmDeleteArguments, call: Call[None]) -> ToolResult:
    if not call.answered("confirmation"):
        call.progress(1, 2, f"Looked at {arguments['filename']}")
    form = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}
    question = {"message": f"Delete {arguments['filename']}?", "requestedSchema": form}
    answer = call.ask("confirmation", "elicitation/create", question)
    call.progress(2, 2, f"Asked about {arguments['filename']}")
    confirmed = answer["action"] == "accept" and (answer.get("content") or {}).get("confirm") is True
    return text(f"{'Deleted' if confirmed else 'Kept'} {arguments['filename']}.")
