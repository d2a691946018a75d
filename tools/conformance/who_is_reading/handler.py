"""test://who-is-reading: the third kind of request that may ask."""

from __future__ import annotations

from tools.conformance.wording import NAME_FORM, given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call


async def handle(uri: str, call: Call[None]) -> list[dict[str, Any]]:
    question = {"message": "Who is reading?", "requestedSchema": NAME_FORM}
    name = given(call.ask("reader", "elicitation/create", question), "name")
    return [{"uri": uri, "mimeType": "text/plain", "text": f"Read by {name}."}]
