"""gzip-file-as-resource: a file of the web or of a data: URL, compressed, as a resource of this session."""

from __future__ import annotations

import asyncio

from scorpio.tool import ToolFailure, ToolResult
from tools.everything.gzip_file_as_resource.sources import content_of
from tools.everything.session_files import MIME_TYPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.everything._catalog import GzipFileAsResourceArguments
    from tools.everything.state import Everything

NAME_DEFAULT = "README.md.gz"
DATA_DEFAULT = "https://raw.githubusercontent.com/modelcontextprotocol/servers/refs/heads/main/README.md"

NAME_CHARS_MAX = 255
"""As long as the name of a file may be."""


async def handle(arguments: GzipFileAsResourceArguments, call: Call[Everything]) -> ToolResult:
    name = arguments.get("name", NAME_DEFAULT)
    if not 0 < len(name) <= NAME_CHARS_MAX or not name.isprintable() or "/" in name:
        raise ToolFailure(f"{name[:100]!r} is no name of a file: 1 to {NAME_CHARS_MAX} printable characters, no slash.")
    content = await content_of(arguments.get("data", DATA_DEFAULT), call.settings)
    compressed = await asyncio.to_thread(_compressed, content)
    state = call.state
    uri = state.files.add(call.owner, name, compressed, session=call.revision.asks_by_request)
    state.link.changed_list("resources", call.owner)
    if arguments.get("outputType", "resourceLink") == "resourceLink":
        link = {"type": "resource_link", "uri": uri, "name": name, "mimeType": MIME_TYPE, "size": len(compressed)}
        return ToolResult([link])
    import base64

    blob = base64.b64encode(compressed).decode()
    return ToolResult([{"type": "resource", "resource": {"uri": uri, "mimeType": MIME_TYPE, "blob": blob}}])


def _compressed(content: bytes) -> bytes:
    """Without the time, so that the same file gives the same bytes."""
    import gzip

    return gzip.compress(content, mtime=0)
