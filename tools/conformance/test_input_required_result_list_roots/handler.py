"""test_input_required_result_list_roots: the client's roots by a question."""

from __future__ import annotations

from scorpio.tool import text
from tools.conformance.wording import root_uris

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestInputRequiredResultListRootsArguments


async def handle(arguments: TestInputRequiredResultListRootsArguments, call: Call[None]) -> ToolResult:
    return text("Roots: " + root_uris(call.ask("client_roots", "roots/list", {})))
