"""test://watched-resource: what clients subscribe to."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call


def handle(uri: str, call: Call[None]) -> list[dict[str, Any]]:
    return [{"uri": uri, "mimeType": "text/plain", "text": "Watched resource content."}]
