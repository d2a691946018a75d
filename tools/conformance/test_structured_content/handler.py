"""test_structured_content: the same answer as text and as structured content."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestStructuredContentArguments


def handle(arguments: TestStructuredContentArguments, call: Call[None]) -> ToolResult:
    value = arguments["value"]
    return text(f"{value} doubled is {value * 2}", structured={"value": value, "doubled": value * 2})
