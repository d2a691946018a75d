"""toggle-subscriber-updates: simulated changes of the resources this client subscribed to."""

from __future__ import annotations

from scorpio.tool import text
from tools.everything.simulation import PACE_S, UPDATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import ToggleSubscriberUpdatesArguments
    from tools.everything.state import Everything


async def handle(arguments: ToggleSubscriberUpdatesArguments, call: Call[Everything]) -> ToolResult:
    owner, link = call.owner, call.state.link

    def beat() -> None:
        for uri in link.watched(owner):
            link.changed_resource(uri, owner)

    if not call.state.simulations.toggle(owner, UPDATES, beat):
        return text(f"Stopped simulated resource updates for session {owner}")
    return text(
        f"Started simulated resource updated notifications for session {owner} at a {PACE_S:.0f} second pace. They "
        "come for each resource that this client subscribes to, as long as it does."
    )
