"""What toolset states tell the server, carried out. See scorpio.tool.StateLink."""

from __future__ import annotations

import time

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

    def changed_list(self, kind: str) -> None:
        changed_list(self._server, kind)

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

    def idle_s(self, owner: str) -> float:
        peers = [peer for peer in tuple(self._server.peers) if peer.owner == owner]
        if any(peer.busy() for peer in peers) or self._server.has_tasks(owner):
            return 0.0
        return time.monotonic() - max((peer.client.last_call_s for peer in peers), default=0.0)
