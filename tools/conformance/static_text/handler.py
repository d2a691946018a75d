"""test://static-text: a text that never changes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call


def handle(uri: str, call: Call[None]) -> list[dict[str, Any]]:
    return [{"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."}]
