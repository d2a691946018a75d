"""get-resource-links: links to resources that a client may read, text and bytes in turn."""

from __future__ import annotations

from scorpio.tool import ToolResult, text_block
from tools.everything.fabricated import BLOB, TEXT, uri_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Block, Call
    from tools.everything._catalog import GetResourceLinksArguments
    from tools.everything.state import Everything

COUNT_DEFAULT = 3


def handle(arguments: GetResourceLinksArguments, call: Call[Everything]) -> ToolResult:
    count = int(arguments.get("count", COUNT_DEFAULT))
    said = text_block(f"Here are {count} resource links to resources available in this server:")
    return ToolResult([said, *(_link(number) for number in range(1, count + 1))])


def _link(number: int) -> Block:
    kind, mime_type = (BLOB, "application/octet-stream") if number % 2 else (TEXT, "text/plain")
    return {
        "type": "resource_link",
        "uri": uri_of(kind, number),
        "name": f"{kind} Resource {number}",
        "description": f"Resource {number}: {'bytes' if kind == BLOB else 'plain text'}, made up when it is read",
        "mimeType": mime_type,
    }
