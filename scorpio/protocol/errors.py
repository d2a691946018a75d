"""JSON-RPC error codes and the one exception that becomes a JSON-RPC error object.

Failures of a tool are not here: they are results with `isError` (scorpio.tool.ToolFailure).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.messages import RequestId

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

NOT_INITIALIZED = -32002
"""Legacy: a request before `initialize`. The seeds' code and text."""

RESOURCE_NOT_FOUND = -32002
"""Legacy: MCP 2024-11-05 to 2025-11-25, server/resources. 2026-07-28 uses INVALID_PARAMS with `data.uri`."""

URL_ELICITATION_REQUIRED = -32042
"""2025-11-25: `data.elicitations` says where the user must go first."""

HEADER_MISMATCH = -32020
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022


class ProtocolError(Exception):
    """The peer's program did something the protocol forbids. Becomes a JSON-RPC error object, and nothing else does."""

    def __init__(self, code: int, message: str, data: Any = None, *, request_id: RequestId | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.request_id = request_id
        """The id to answer, when it could be read before the fault was found."""
