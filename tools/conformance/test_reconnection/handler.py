"""test_reconnection: the server closes the stream of a call, and the client comes back for the rest."""

from __future__ import annotations

import asyncio

from scorpio.tool import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import TestReconnectionArguments
    from tools.conformance.state import Counts

AWAY_S = 0.1
"""The stream is empty for this long, so that a client that stayed on it would notice."""


async def handle(arguments: TestReconnectionArguments, call: Call[Counts]) -> ToolResult:
    call.let_go()
    await asyncio.sleep(AWAY_S)
    return text("Answered after the connection was let go.")
