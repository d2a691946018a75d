"""A server of the xmpp toolset in a process of its own, by what its tools say."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server_process import Message, ServerProcess

BOUND_S = 60.0
LOOK_S = 0.02


class Agent:
    """After the handshake of the legacy era."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self._count = 0
        server.open()

    def _call(self, name: str, arguments: Message) -> Message:
        self._count += 1
        answer: Message = self.server.call(name, arguments, self._count)["result"]
        return answer

    def status(self) -> Message:
        result = self._call("xmppStatus", {})
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]  # type: ignore[no-any-return]

    def send(self, message: str) -> Message:
        """What was sent; fails where it was not."""
        result = self._call("xmppSend", {"message": message})
        assert result["isError"] is False, result
        return result["structuredContent"]  # type: ignore[no-any-return]

    def refusal(self, message: str = "is anybody there?") -> str:
        """Why it cannot be sent; fails where it can."""
        result = self._call("xmppSend", {"message": message})
        assert result["isError"] is True, result
        return str(result["content"][0]["text"])

    def until(self, accept: Callable[[Message], Any], what: str) -> Message:
        """The first accepted status. Nothing tells of a change of it, so it is asked for again and again."""
        end_s = time.monotonic() + BOUND_S
        while not accept(status := self.status()):
            assert time.monotonic() < end_s, f"never {what}: {status}; stderr: {self.server.stderr()}"
            time.sleep(LOOK_S)
        return status

    def in_room(self) -> Message:
        return self.until(lambda status: status["connected"], "in the room")

    def hears(self, body: str) -> Message:
        """The message, once it is the last one."""

        def is_it(status: Message) -> bool:
            return status["lastIncoming"] is not None and status["lastIncoming"]["body"] == body

        heard: Message = self.until(is_it, f"hears {body!r}")["lastIncoming"]
        return heard
