"""trigger-elicitation-request-async: asks the user by a form, as a task of the client's."""

from __future__ import annotations

from scorpio.tool import ToolResult, text_block
from tools.everything.answers import form_blocks
from tools.everything.client_tasks import answered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.everything._catalog import TriggerElicitationRequestAsyncArguments
    from tools.everything.state import Everything

TTL_MS = 600_000
"""How long the client should keep the task: ten minutes, as long as a person is waited for."""

FIELDS: dict[str, dict[str, Any]] = {
    "name": {"type": "string", "title": "Your Name", "description": "What this tour should call you"},
    "favoriteColor": {
        "type": "string",
        "title": "Favorite Color",
        "description": "The color you like best of these",
        "enum": ["Red", "Blue", "Green", "Yellow", "Purple"],
    },
    "agreeToTerms": {"type": "boolean", "title": "Terms Agreement", "description": "Whether the tour may go on"},
}


async def handle(arguments: TriggerElicitationRequestAsyncArguments, call: Call[Everything]) -> ToolResult:
    params = {
        "message": "Please fill in this form. It is a task of your client's, so take your time:",
        "requestedSchema": {"type": "object", "properties": FIELDS, "required": ["name"]},
    }
    result, lines = answered(call, "elicitation/create", params, TTL_MS)
    titles = {name: field["title"] for name, field in FIELDS.items()}
    *said, raw = form_blocks(result, titles)
    return ToolResult([*said, text_block("\nProgress:\n" + "\n".join(lines)), raw])
