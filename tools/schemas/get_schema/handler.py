"""get_schema: one schema, whole and as it was written."""

from __future__ import annotations

from tools.schemas.answers import Refused, answer, checked, found, raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call, ToolResult
    from tools.schemas.state import Schemas


def handle(arguments: dict[str, Any], call: Call[Schemas]) -> ToolResult:
    try:
        checked(call.name, arguments, "schema_id")
        schema = found(call.state, arguments["schema_id"])
    except Refused as refused:
        return refused.result
    return answer({**schema.summary(), "schema": raw(schema.text)})
