"""protocol_error_job: a task that ends in an error of the protocol."""

from __future__ import annotations

import asyncio

from scorpio.protocol.errors import INTERNAL_ERROR, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.conformance._catalog import ProtocolErrorJobArguments


async def handle(arguments: ProtocolErrorJobArguments, call: Call[None]) -> ToolResult:
    await asyncio.sleep(0.1)
    raise ProtocolError(INTERNAL_ERROR, "The job broke the protocol, as it always does.", {"job": "protocol_error_job"})
