"""One row of the method table."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Handle = Callable[..., Any]


class Method:
    """Serves one MCP method: `handle(server, request, meta, peer)` returns the encoded result, or None when a slow
    call will answer later. `meta` is None only where `before_initialize` lets a legacy peer in without a session.
    """

    __slots__ = ("before_initialize", "handle", "legacy", "modern")

    def __init__(
        self, handle: Handle, *, legacy: bool = True, modern: bool = True, before_initialize: bool = False
    ) -> None:
        self.handle = handle
        self.legacy = legacy
        self.modern = modern
        self.before_initialize = before_initialize
