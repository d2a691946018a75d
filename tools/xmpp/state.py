"""What the handlers share: the room, which this agent enters when the server starts and leaves when it ends."""

from __future__ import annotations

from tools.xmpp.room import Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.settings import Settings
    from scorpio.state.home import Home
    from scorpio.tool import StateLink


class XmppState:
    """One object a server process."""

    def __init__(self, settings: Settings) -> None:
        self.room = Room(settings)

    def connect(self, link: StateLink) -> None:
        self.room.begin(link)

    def close(self) -> None:
        self.room.close()


def open_state(home: Home, settings: Settings) -> XmppState:
    return XmppState(settings)
