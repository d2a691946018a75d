"""get-structured-content: an answer with an output schema, as structured content and as text."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import GetStructuredContentArguments
    from tools.everything.state import Everything

WEATHER = {
    "New York": {"temperature": 33, "conditions": "Cloudy", "humidity": 82},
    "Chicago": {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82},
    "Los Angeles": {"temperature": 73, "conditions": "Sunny / Clear", "humidity": 48},
}
"""The reference server's, so that clients can be compared."""


def handle(arguments: GetStructuredContentArguments, call: Call[Everything]) -> ToolResult:
    import json

    weather = WEATHER[arguments["location"]]
    return text(json.dumps(weather, separators=(",", ":")), structured=dict(weather))
