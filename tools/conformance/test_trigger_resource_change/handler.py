"""test_trigger_resource_change: subscribers of one resource, or of the list, are told."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestTriggerResourceChangeArguments


def handle(arguments: TestTriggerResourceChangeArguments, call: Call[None]) -> ToolResult:
    uri = arguments.get("uri")
    if uri is None:
        call.changed_list("resources")
    else:
        call.changed_resource(uri)
    return text("Announced.")
