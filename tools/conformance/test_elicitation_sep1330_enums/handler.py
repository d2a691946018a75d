"""test_elicitation_sep1330_enums: the five spellings of a choice (SEP-1330)."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestElicitationSep1330EnumsArguments

OPTIONS = ["option1", "option2", "option3"]
FORM = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {
            "type": "string",
            "oneOf": [
                {"const": "value1", "title": "First Option"},
                {"const": "value2", "title": "Second Option"},
                {"const": "value3", "title": "Third Option"},
            ],
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"const": "value1", "title": "First Choice"},
                    {"const": "value2", "title": "Second Choice"},
                    {"const": "value3", "title": "Third Choice"},
                ]
            },
        },
    },
    "required": [],
}


async def handle(arguments: TestElicitationSep1330EnumsArguments, call: Call[None]) -> ToolResult:
    question = {"message": "Please choose", "requestedSchema": FORM}
    return text(f"Elicitation completed: {outcome(call.ask('choices', 'elicitation/create', question))}")
