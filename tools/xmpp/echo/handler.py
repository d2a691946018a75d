"""echo: gives a message back."""

from __future__ import annotations

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.xmpp._catalog import EchoArguments
    from tools.xmpp.state import XmppState


def handle(arguments: EchoArguments, call: Call[XmppState]) -> ToolResult:
    return text(f"Echo: {arguments['message']}")
