"""test_simple_text: one text block, in the suite's words."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestSimpleTextArguments


def handle(arguments: TestSimpleTextArguments, call: Call[None]) -> ToolResult:
    return text("This is a simple text response for testing.")
