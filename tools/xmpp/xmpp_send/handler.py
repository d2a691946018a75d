"""xmppSend: says something in the room."""

from __future__ import annotations

from scorpio.protocol.strict_json import dumps
from scorpio.tool import ToolFailure, text
from tools.xmpp.words import unspeakable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.xmpp._catalog import XmppSendArguments
    from tools.xmpp.state import XmppState

MESSAGE_BYTES_MAX = 60_000
"""Of a message as it is sent: several servers close the connection at a stanza of 64 KiB."""


async def handle(arguments: XmppSendArguments, call: Call[XmppState]) -> ToolResult:
    message = arguments["message"]
    if not message.strip():
        raise ToolFailure("The message is empty. Say something.")
    if character := unspeakable(message):
        raise ToolFailure(f"The message holds {character}, which XMPP cannot carry. Send it without.")
    escaped_bytes = len(message.encode()) + sum(5 * message.count(mark) for mark in "<>&\"'")
    if escaped_bytes > MESSAGE_BYTES_MAX:
        raise ToolFailure(f"The message has {escaped_bytes} bytes; a room takes {MESSAGE_BYTES_MAX}. Send it in parts.")
    call.activity = "waiting for the room"
    room = await call.state.room.say(message)
    sent = {"sent": True, "to": room, "message": message}
    return text(dumps(sent), structured=sent)
