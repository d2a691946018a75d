"""What the tools keep of each client: its simulations, its files, the prerequisites it was told of."""

from __future__ import annotations

import os

from tools.everything import documents
from tools.everything.session_files import SessionFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.settings import Settings
    from scorpio.state.home import Home
    from scorpio.tool import StateLink
    from tools.everything.simulation import Simulations

DEMANDED_MAX = 1024
"""Prerequisites that clients were told of and have not come back for, the newest."""


class Everything:
    """One object a server process. Nothing of it is on the disk."""

    def __init__(self) -> None:
        self.link: StateLink
        self.files = SessionFiles()
        self._simulations: Simulations | None = None
        self.salt = os.urandom(8).hex()
        """What makes ids of this process unlike those of any other."""
        self._demanded: dict[tuple[str, str], None] = {}
        self.logging_in_calls: set[str] = set()
        """Owners without a session whose calls log while they run."""

    def connect(self, link: StateLink) -> None:
        self.link = link

    @property
    def simulations(self) -> Simulations:
        """For the slow lane: reading a document needs no event loop."""
        if self._simulations is None:
            from tools.everything.simulation import Simulations

            self._simulations = Simulations(self.link)
        return self._simulations

    def demand(self, owner: str, what: str) -> bool:
        """True when `owner` is to be told to do something first; False when it was, and has come back."""
        if (owner, what) in self._demanded:
            return False
        self._demanded[owner, what] = None
        while len(self._demanded) > DEMANDED_MAX:
            del self._demanded[next(iter(self._demanded))]
        return True

    def done(self, owner: str, what: str) -> None:
        """`owner` did it: the next time it is told again."""
        self._demanded.pop((owner, what), None)

    def resources(self, owner: str) -> list[dict[str, Any]]:
        return [*documents.resources(), *self.files.resources(owner)]

    def read(self, uri: str, owner: str) -> list[dict[str, Any]] | None:
        return documents.read(uri) or self.files.read(uri, owner)

    def client_gone(self, owner: str) -> None:
        if self._simulations is not None:
            self._simulations.stop_all(owner)
        for key in tuple(self._demanded):
            if key[0] == owner:
                self.done(*key)
        self.files.client_gone(owner)

    def close(self) -> None:
        if self._simulations is not None:
            self._simulations.stop_all()


def open_state(home: Home, settings: Settings) -> Everything:
    return Everything()
