"""greet: what a tool without tasks does beside those with them."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import GreetArguments


def handle(arguments: GreetArguments, call: Call[None]) -> ToolResult:
    return text(f"Hello, {arguments['name']}!")
