"""test_trigger_tool_change: subscribers of the list of tools are told."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestTriggerToolChangeArguments


def handle(arguments: TestTriggerToolChangeArguments, call: Call[None]) -> ToolResult:
    call.changed_list("tools")
    return text("Announced.")
