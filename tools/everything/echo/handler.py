"""echo: what was said, said again."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import EchoArguments
    from tools.everything.state import Everything


def handle(arguments: EchoArguments, call: Call[Everything]) -> ToolResult:
    return text(f"Echo: {arguments['message']}")
