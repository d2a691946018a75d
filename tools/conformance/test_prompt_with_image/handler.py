"""test_prompt_with_image: an image and a text."""

from __future__ import annotations

from scorpio.tool import image_block, text_block
from tools.conformance.media import RED_PIXEL_PNG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call


def handle(arguments: dict[str, str], call: Call[None]) -> dict[str, Any]:
    return {
        "messages": [
            {"role": "user", "content": image_block(RED_PIXEL_PNG, "image/png")},
            {"role": "user", "content": text_block("Please analyze the image above.")},
        ]
    }
