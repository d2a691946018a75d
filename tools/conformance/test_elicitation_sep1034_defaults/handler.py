"""test_elicitation_sep1034_defaults: a form whose fields have defaults (SEP-1034)."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestElicitationSep1034DefaultsArguments

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "required": [],
}


async def handle(arguments: TestElicitationSep1034DefaultsArguments, call: Call[None]) -> ToolResult:
    question = {"message": "Please check these values", "requestedSchema": FORM}
    return text(f"Elicitation completed: {outcome(call.ask('values', 'elicitation/create', question))}")
