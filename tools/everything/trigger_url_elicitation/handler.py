"""trigger-url-elicitation: sends the user to a web address, by a question or by an error that names it."""

from __future__ import annotations

from scorpio.protocol.errors import URL_ELICITATION_REQUIRED, ProtocolError
from scorpio.tool import ToolResult, text_block
from tools.everything.answers import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.everything._catalog import TriggerUrlElicitationArguments
    from tools.everything.state import Everything

MESSAGE_DEFAULT = "Please open the link to complete this action."


async def handle(arguments: TriggerUrlElicitationArguments, call: Call[Everything]) -> ToolResult:
    question = {
        "mode": "url",
        "message": arguments.get("message", MESSAGE_DEFAULT),
        "url": arguments["url"],
        "elicitationId": arguments.get("elicitationId") or _id_of(arguments, call),
    }
    by_error = arguments.get("errorPath", False) and call.revision.asks_by_request  # the modern era has no such error
    if by_error and call.supports("elicitation.url") and call.state.demand(call.owner, shown(arguments)):
        said = f"{call.name} needs the user to go to a web address first. Then call it again with the same arguments."
        raise ProtocolError(URL_ELICITATION_REQUIRED, said, {"elicitations": [question]})
    answer = call.ask("visit", "elicitation/create", question)
    call.state.done(call.owner, shown(arguments))
    return ToolResult(_blocks(answer, question))


def _id_of(arguments: TriggerUrlElicitationArguments, call: Call[Everything]) -> str:
    """As random as one that is drawn; the same each time the handler runs for one call."""
    import hashlib

    return hashlib.sha256(f"{call.state.salt} {call.owner} {shown(arguments)}".encode()).hexdigest()[:32]


def _blocks(answer: dict[str, Any], question: dict[str, str]) -> list[dict[str, Any]]:
    where = f"Elicitation ID: {question['elicitationId']}\nURL: {question['url']}"
    said = {
        "accept": f"✅ User agreed to open the URL.\n{where}",
        "decline": f"❌ User declined to open the URL.\n{where}",
    }.get(str(answer.get("action")), f"⚠️ User cancelled the URL elicitation.\n{where}")
    return [text_block(said), text_block(f"\nRaw result: {shown(answer)}")]
