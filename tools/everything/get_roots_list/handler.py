"""get-roots-list: the folders that the client says it has open."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import GetRootsListArguments
    from tools.everything.state import Everything

NOTE = (
    "Note: this server shows the roots and reads none of them. A server that works with files takes them for the "
    "places where it may look."
)


async def handle(arguments: GetRootsListArguments, call: Call[Everything]) -> ToolResult:
    roots = call.ask("roots", "roots/list", {})["roots"]
    if not roots:
        return text(f"The client has no roots open.\n\n{NOTE}")
    lines = [
        f"{number}. {root.get('name') or 'Unnamed Root'}\n   URI: {root.get('uri')}\n"
        for number, root in enumerate(roots, 1)
    ]
    return text("\n".join([f"Current MCP Roots ({len(roots)} total):\n", *lines, NOTE]))
