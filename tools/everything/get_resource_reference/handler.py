"""get-resource-reference: a resource embedded in an answer, with its contents."""

from __future__ import annotations

from scorpio.tool import ToolResult, text_block
from tools.everything.fabricated import TEXT, content, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.everything._catalog import GetResourceReferenceArguments
    from tools.everything.state import Everything


def handle(arguments: GetResourceReferenceArguments, call: Call[Everything]) -> ToolResult:
    number = number_of(arguments.get("resourceId", 1))
    resource = content(arguments.get("resourceType", TEXT), number)
    return ToolResult(
        [
            text_block(f"Returning resource reference for Resource {number}:"),
            {"type": "resource", "resource": resource},
            text_block(f"You can access this resource using the URI: {resource['uri']}"),
        ]
    )
