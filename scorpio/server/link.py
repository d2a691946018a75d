"""What toolset states tell the server, carried out. See scorpio.tool.StateLink."""

from __future__ import annotations

import time

from scorpio.protocol.meta import LOG_LEVELS
from scorpio.server.subscriptions import changed_list, changed_resource
from scorpio.tool import StateLink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from scorpio.server.peer import Peer
    from scorpio.server.server import Server


class Link(StateLink):
    """One for all toolsets of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def changed_list(self, kind: str, owner: str | None = None) -> None:
        changed_list(self._server, kind, owner)

    def changed_resource(self, uri: str, owner: str | None = None) -> None:
        changed_resource(self._server, uri, owner)

    def notify(self, owner: str | None, method: str, params: dict[str, Any]) -> bool:
        line = self._server.encode(params)
        took = [peer.hint(method, line) is not False for peer in self._with_session(owner)]
        return any(took)

    def can_notify(self, owner: str) -> bool:
        return bool(self._with_session(owner))

    def _with_session(self, owner: str | None) -> list[Peer]:
        return [
            peer
            for peer in tuple(self._server.peers)
            if owner in (None, peer.owner) and peer.session is not None and peer.client is peer
        ]

    def owners(self) -> set[str]:
        return {peer.owner for peer in tuple(self._server.peers)}

    def warn(self, text: str) -> None:
        self._server.log.warning(text)

    def log(self, level: str, text: str) -> None:
        log = self._server.log
        {"debug": log.debug, "info": log.info, "warning": log.warning, "error": log.error}[level](text)

    def background(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        server = self._server

        def failed(bug: Exception) -> None:
            server.internal_error(bug)

        async def guarded() -> None:
            try:
                await work()
            except Exception as bug:  # noqa: BLE001 nobody awaits it: the lane goes on
                failed(bug)

        try:
            server.lane.submit(guarded, failed)
        except RuntimeError as fault:  # no thread can be started
            failed(fault)

    def present(self, owner: str) -> bool:
        return any(peer.owner == owner for peer in tuple(self._server.peers))

    def watched(self, owner: str) -> list[str]:
        found: dict[str, None] = {}
        for peer in tuple(self._server.peers):
            if peer.owner == owner:
                found.update(dict.fromkeys(tuple(peer.session.subscriptions) if peer.session is not None else ()))
                for wanted in tuple(peer.listens.values()):
                    found.update(dict.fromkeys(wanted.get("resourceSubscriptions", ())))
        return list(found)

    def message(self, owner: str, level: str, data: object, logger: str | None = None) -> bool:
        sessions = [(p, p.session) for p in tuple(self._server.peers) if p.owner == owner and p.session is not None]
        params = self._server.encode({"level": level, "data": data} | ({"logger": logger} if logger else {}))
        for peer, session in sessions:
            least = session.log_level
            if least is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(least):
                peer.hint("notifications/message", params)
        return bool(sessions)

    def idle_s(self, owner: str) -> float:
        peers = [peer for peer in tuple(self._server.peers) if peer.owner == owner]
        if any(peer.busy() for peer in peers) or self._server.has_tasks(owner):
            return 0.0
        return time.monotonic() - max((peer.client.last_call_s for peer in peers), default=0.0)
