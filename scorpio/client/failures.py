"""What can go wrong between a client and a server."""

from __future__ import annotations

from typing import Any


class LinkFailure(Exception):
    """The server cannot be reached, or went away. A sentence."""


class LoginFailure(LinkFailure):
    """The server wants a log-in, and it did not come to one. A sentence; never with a token in it."""

    def __init__(self, sentence: str) -> None:
        """What a server said may stand in it, without what would steer a terminal."""
        super().__init__("".join(each if each.isprintable() else "\ufffd" for each in sentence))


class RpcFailure(Exception):
    """The server answered a request with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Refusal(Exception):
    """What we answer a server's request with when its person will not answer it. `code` of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
