"""xmpp://room/last: what somebody said in the room last; clients may subscribe to it."""

from __future__ import annotations

from scorpio.protocol.strict_json import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.xmpp.state import XmppState


def handle(uri: str, call: Call[XmppState]) -> list[dict[str, Any]]:
    return [{"uri": uri, "mimeType": "application/json", "text": dumps(call.state.room.last)}]
