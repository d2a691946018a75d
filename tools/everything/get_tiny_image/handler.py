"""get-tiny-image: an image between two lines of text."""

from __future__ import annotations

from scorpio.tool import ToolResult, image_block, text_block
from tools.everything.media import TINY_PNG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.everything._catalog import GetTinyImageArguments
    from tools.everything.state import Everything


def handle(arguments: GetTinyImageArguments, call: Call[Everything]) -> ToolResult:
    return ToolResult(
        [
            text_block("Here's the image you requested:"),
            image_block(TINY_PNG, "image/png"),
            text_block("The image above is 20 pixels wide and as many high."),
        ]
    )
