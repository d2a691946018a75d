"""test_multiple_content_types: text, image and resource, in this order."""

from __future__ import annotations

from scorpio.tool import ToolResult, image_block, text_block
from tools.conformance.media import RED_PIXEL_PNG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.conformance._catalog import TestMultipleContentTypesArguments


def handle(arguments: TestMultipleContentTypesArguments, call: Call[None]) -> ToolResult:
    resource = {
        "uri": "test://mixed-content-resource",
        "mimeType": "application/json",
        "text": '{"test":"data","value":123}',
    }
    return ToolResult(
        [
            text_block("Multiple content types test:"),
            image_block(RED_PIXEL_PNG, "image/png"),
            {"type": "resource", "resource": resource},
        ]
    )
