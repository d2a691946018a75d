"""list_schemas: which schemas there are."""

from __future__ import annotations

from tools.schemas.answers import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.schemas._catalog import ListSchemasArguments
    from tools.schemas.state import Schemas


def handle(arguments: ListSchemasArguments, call: Call[Schemas]) -> ToolResult:
    return answer({"schemas": [schema.summary() for schema in call.state.by_id.values()]})
