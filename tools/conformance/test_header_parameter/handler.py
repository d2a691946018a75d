"""test_header_parameter: a parameter that HTTP mirrors in `Mcp-Param-Region`; other transports pay no heed."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestHeaderParameterArguments


def handle(arguments: TestHeaderParameterArguments, call: Call[None]) -> ToolResult:
    return text(f"Region: {arguments['region']}")
