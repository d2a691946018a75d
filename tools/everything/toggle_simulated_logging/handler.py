"""toggle-simulated-logging: log messages of random levels, for this client, until it is called again."""

from __future__ import annotations

from scorpio.tool import text
from tools.everything.simulation import LOGGING, PACE_S, random_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import ToggleSimulatedLoggingArguments
    from tools.everything.state import Everything


async def handle(arguments: ToggleSimulatedLoggingArguments, call: Call[Everything]) -> ToolResult:
    if not call.revision.asks_by_request:
        return _in_calls(call)
    owner, link = call.owner, call.state.link
    if not call.state.simulations.toggle(owner, LOGGING, lambda: _say(link.message, owner)):
        return text(f"Stopped simulated logging for session {owner}")
    return text(
        f"Started simulated, random-leveled logging for session {owner} at a {PACE_S:.0f} second pace. Messages below "
        "the level that the client chose with logging/setLevel are not sent, so a higher level means fewer of them."
    )


def _say(message: object, owner: str) -> None:
    level, said = random_message()
    message(owner, level, said)  # type: ignore[operator]


def _in_calls(call: Call[Everything]) -> ToolResult:
    """The modern era has no session to log to: messages belong to a request, and it says from which level on."""
    owners = call.state.logging_in_calls
    if call.owner in owners:
        owners.discard(call.owner)
        return text(f"Stopped simulated logging for {call.owner}")
    owners.add(call.owner)
    call.log(*random_message())
    return text(
        f"Started simulated, random-leveled logging for {call.owner}. In this protocol revision a client is told while "
        "a request of its is in progress, from the level on that the request names: call "
        "trigger-long-running-operation with a log level to see more of it."
    )
