"""test_embedded_resource: one embedded resource."""

from __future__ import annotations

from scorpio.tool import ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.conformance._catalog import TestEmbeddedResourceArguments


def handle(arguments: TestEmbeddedResourceArguments, call: Call[None]) -> ToolResult:
    resource = {
        "uri": "test://embedded-resource",
        "mimeType": "text/plain",
        "text": "This is an embedded resource content.",
    }
    return ToolResult([{"type": "resource", "resource": resource}])
