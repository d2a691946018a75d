"""json_schema_2020_12_tool: its schema is what is tested: every keyword reaches the client and every one is checked."""

from __future__ import annotations

import json

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import JsonSchema202012ToolArguments


def handle(arguments: JsonSchema202012ToolArguments, call: Call[None]) -> ToolResult:
    return text("Valid: " + json.dumps(arguments, ensure_ascii=False, separators=(",", ":")))
