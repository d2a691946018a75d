"""test_logging_tool: one log message of every level; who asked for none hears none."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestLoggingToolArguments

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def handle(arguments: TestLoggingToolArguments, call: Call[None]) -> ToolResult:
    for level in LEVELS:
        call.log(level, {"message": f"This is {level}"}, "conformance")
    return text(f"Logged at {len(LEVELS)} levels.")
