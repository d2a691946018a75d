"""test_image_content: one image block."""

from __future__ import annotations

from scorpio.tool import ToolResult, image_block
from tools.conformance.media import RED_PIXEL_PNG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.conformance._catalog import TestImageContentArguments


def handle(arguments: TestImageContentArguments, call: Call[None]) -> ToolResult:
    return ToolResult([image_block(RED_PIXEL_PNG, "image/png")])
