"""test_working_directory: what `Call.working_directory` gives this client."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestWorkingDirectoryArguments


async def handle(arguments: TestWorkingDirectoryArguments, call: Call[None]) -> ToolResult:
    return text(await call.working_directory())
