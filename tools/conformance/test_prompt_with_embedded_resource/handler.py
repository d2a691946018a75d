"""test_prompt_with_embedded_resource: a resource by the URI that was given."""

from __future__ import annotations

from scorpio.tool import text_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call


def handle(arguments: dict[str, str], call: Call[None]) -> dict[str, Any]:
    resource = {
        "uri": arguments["resourceUri"],
        "mimeType": "text/plain",
        "text": "Embedded resource content for testing.",
    }
    return {
        "messages": [
            {"role": "user", "content": {"type": "resource", "resource": resource}},
            {"role": "user", "content": text_block("Please process the embedded resource above.")},
        ]
    }
