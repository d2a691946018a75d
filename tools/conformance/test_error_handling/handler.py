"""test_error_handling: always a failure for the model."""

from __future__ import annotations

from scorpio.tool import ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestErrorHandlingArguments


def handle(arguments: TestErrorHandlingArguments, call: Call[None]) -> ToolResult:
    raise ToolFailure("This tool intentionally returns an error for testing")
