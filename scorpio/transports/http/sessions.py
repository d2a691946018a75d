"""Legacy sessions over HTTP: their ids, whose they are, how many, and when one has ended.

Source: MCP 2025-11-25, basic/transports, "Session Management".
"""

from __future__ import annotations

import secrets

from scorpio.limits import HTTP_SESSION_IDLE_S_MAX, HTTP_SESSION_SPARE_S, HTTP_SESSIONS_MAX
from scorpio.server.peer import Peer
from scorpio.transports.http.streams import EventStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.server.server import Server
    from scorpio.transports.http.access import Principal
    from scorpio.transports.http.hub import Hub

ID_BYTES = 32
"""Of randomness in an id: it is all that a request needs to be taken for this client's."""


class HttpSession:
    """One client of the legacy era, from `initialize` to DELETE, or until it has not been heard of for long."""

    __slots__ = ("_hub", "general", "id", "last_used_s", "peer", "principal", "streams")

    def __init__(self, hub: Hub, store: EventStore, principal: Principal) -> None:
        self._hub = hub
        self.id = secrets.token_urlsafe(ID_BYTES).encode()
        self.principal = principal
        self.streams = store.opened()
        self.general = self.streams.new()
        self.last_used_s = hub.loop.time()
        # owner: another random name, for it stands in records on the disk, where the id must not
        self.peer = Peer(self._write, f"http-session:{secrets.token_hex(8)}", self._offer)

    def in_use(self) -> bool:
        return bool(self.peer.running or self.streams.carried())

    def _write(self, line: bytes) -> None:
        """What belongs to no request, from any thread."""
        self._hub.in_loop(self.general.send, line)

    def _offer(self, line: bytes) -> None:
        self._hub.in_loop(self.general.offer, line)


class Sessions:
    """All of one server's."""

    def __init__(self, server: Server, hub: Hub, idle_s: float = HTTP_SESSION_IDLE_S_MAX) -> None:
        self._server = server
        self._hub = hub
        self._idle_s = idle_s
        self._by_id: dict[bytes, HttpSession] = {}
        self.store = EventStore()

    def __len__(self) -> int:
        return len(self._by_id)

    def new(self, principal: Principal) -> HttpSession | None:
        """A session that `keep` makes known; None when there are too many that are in use."""
        if len(self._by_id) >= HTTP_SESSIONS_MAX:
            spare = min(self._unused(), key=lambda session: session.last_used_s, default=None)
            if spare is None or self._hub.loop.time() - spare.last_used_s < HTTP_SESSION_SPARE_S:
                return None
            self.end(spare)
        return HttpSession(self._hub, self.store, principal)

    def keep(self, session: HttpSession) -> None:
        self._by_id[session.id] = session
        self._server.open_peer(session.peer)
        self._hub.watch()

    def find(self, id_: bytes, principal: Principal) -> HttpSession | None:
        """Another principal's session is as unknown as one that never was."""
        session = self._by_id.get(id_)
        if session is None or session.principal is not principal:
            return None
        session.last_used_s = self._hub.loop.time()
        return session

    def end(self, session: HttpSession) -> None:
        """Its calls are cancelled, its streams are closed, its id is forgotten."""
        self._by_id.pop(session.id, None)
        self._server.close_peer(session.peer)
        self._server.forget(session.peer.owner)
        session.streams.close()

    def let_go(self) -> None:
        """Streams that only listen end; sessions and calls go on."""
        for session in self._by_id.values():
            session.general.let_go()

    def end_all(self) -> None:
        for session in tuple(self._by_id.values()):
            self.end(session)

    def look(self, now_s: float) -> None:
        """End those that nobody uses."""
        for session in tuple(self._by_id.values()):
            if session.in_use():
                session.last_used_s = now_s
            elif now_s - session.last_used_s >= self._idle_s:
                self.end(session)

    def _unused(self) -> list[HttpSession]:
        return [session for session in self._by_id.values() if not session.in_use()]
