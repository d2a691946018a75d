"""test://static-binary: bytes, as base64."""

from __future__ import annotations

from tools.conformance.media import RED_PIXEL_PNG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call


def handle(uri: str, call: Call[None]) -> list[dict[str, Any]]:
    return [{"uri": uri, "mimeType": "image/png", "blob": RED_PIXEL_PNG}]
