"""Content blocks as one revision knows them: what it lacks becomes text that says the same.

Does not make blocks (scorpio.tool does) and does not judge them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.revisions import Revision


def shaped(content: list[dict[str, Any]], revision: Revision) -> list[dict[str, Any]]:
    """`content` with only the block types that `revision` defines; the same list where nothing changes."""
    if revision.resource_link and revision.audio:
        return content
    return [_shaped(block, revision) for block in content]


def _shaped(block: dict[str, Any], revision: Revision) -> dict[str, Any]:
    kind = block.get("type")
    if kind == "audio" and not revision.audio:
        return {"type": "text", "text": f"[audio, {block.get('mimeType')}: this client's protocol cannot carry it]"}
    if kind == "resource_link" and not revision.resource_link:
        return {"type": "text", "text": f"[resource {block.get('name')}: {block.get('uri')}]"}
    return block


def without_surrogates(value: Any) -> Any:
    """A copy in which lone surrogates, which UTF-8 cannot carry, are U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_surrogates(item) for item in value]
    return value
