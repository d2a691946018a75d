"""get-annotated-message: content with annotations, which say for whom it is and how much it matters."""

from __future__ import annotations

from scorpio.tool import ToolResult, image_block, text_block
from tools.everything.media import TINY_PNG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.everything._catalog import GetAnnotatedMessageArguments
    from tools.everything.state import Everything

MESSAGES = {
    "error": ("Error: Operation failed", 1.0, ("user", "assistant")),
    "success": ("Operation completed successfully", 0.7, ("user",)),
    "debug": ("Debug: Cache hit ratio 0.95, latency 150ms", 0.3, ("assistant",)),
}
"""kind -> (text, priority, audience)"""


def handle(arguments: GetAnnotatedMessageArguments, call: Call[Everything]) -> ToolResult:
    said, priority, audience = MESSAGES[arguments["messageType"]]
    content = [{**text_block(said), "annotations": {"priority": priority, "audience": list(audience)}}]
    if arguments.get("includeImage", False):
        image = image_block(TINY_PNG, "image/png")
        content.append({**image, "annotations": {"priority": 0.5, "audience": ["user"]}})
    return ToolResult(content)
