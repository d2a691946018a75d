"""test_resource_link: a resource link, which revisions before 2025-06-18 cannot carry."""

from __future__ import annotations

from scorpio.tool import ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call
    from tools.conformance._catalog import TestResourceLinkArguments


def handle(arguments: TestResourceLinkArguments, call: Call[None]) -> ToolResult:
    link = {"type": "resource_link", "uri": "test://static-text", "name": "static-text", "mimeType": "text/plain"}
    return ToolResult([link])
