"""The reserved `_meta` keys of a request, read and checked.

Source: MCP 2026-07-28, basic ("Per-request protocol fields"); the progress token is older.
"""

from __future__ import annotations

from scorpio.protocol.errors import INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION, ProtocolError
from scorpio.protocol.revisions import MODERN, NAMES_NEWEST_FIRST, REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.revisions import Revision

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK = "io.modelcontextprotocol/related-task"
TASKS = "io.modelcontextprotocol/tasks"
"""The extension of 2026-07-28."""
SKILLS = "io.modelcontextprotocol/skills"
SKILL_SCHEME = "skill://"

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""RFC 5424 names, least severe first."""


class RequestMeta:
    """What one request says of itself: revision, client capabilities, log level, progress token."""

    __slots__ = ("client_capabilities", "log_level", "progress_token", "revision")

    def __init__(
        self,
        revision: Revision,
        client_capabilities: dict[str, Any],
        log_level: str | None,
        progress_token: str | int | None,
    ) -> None:
        self.revision = revision
        self.client_capabilities = client_capabilities
        self.log_level = log_level
        """None: no `notifications/message` for this request."""
        self.progress_token = progress_token


def progress_token(params: dict[str, Any]) -> str | int | None:
    """The token, or None where there is none or it is of a type no answer could carry."""
    meta = params.get("_meta")
    if type(meta) is dict:
        token = meta.get("progressToken")
        if type(token) in (str, int):
            return token
    return None


def modern_meta(params: dict[str, Any]) -> RequestMeta | None:
    """The `_meta` of a modern request; None when the request is not one.

    Raises ProtocolError -32602 (a field missing or of the wrong type), -32022 (a revision this server lacks).
    """
    meta = params.get("_meta")
    if type(meta) is not dict or PROTOCOL_VERSION not in meta:
        return None
    name = meta[PROTOCOL_VERSION]
    if type(name) is not str:
        raise ProtocolError(INVALID_PARAMS, f"_meta {PROTOCOL_VERSION} must be a string")
    revision = REVISIONS.get(name)
    if revision is None or revision.era != MODERN:
        raise unsupported_version(name)
    capabilities = meta.get(CLIENT_CAPABILITIES)
    if type(capabilities) is not dict:
        raise ProtocolError(INVALID_PARAMS, f"_meta {CLIENT_CAPABILITIES} must be an object, and be there")
    info = meta.get(CLIENT_INFO)
    if info is not None and type(info) is not dict:
        raise ProtocolError(INVALID_PARAMS, f"_meta {CLIENT_INFO} must be an object")
    level = meta.get(LOG_LEVEL)
    if level is not None and level not in LOG_LEVELS:
        raise ProtocolError(INVALID_PARAMS, f"_meta {LOG_LEVEL} must be one of {', '.join(LOG_LEVELS)}")
    return RequestMeta(revision, capabilities, level, progress_token(params))


def unsupported_version(requested: str) -> ProtocolError:
    return ProtocolError(
        UNSUPPORTED_PROTOCOL_VERSION,
        "Unsupported protocol version",
        {"supported": list(NAMES_NEWEST_FIRST), "requested": requested},
    )


def has_extension(capabilities: dict[str, Any], name: str) -> bool:
    """True when the extension `name` is declared, with settings or without."""
    extensions = capabilities.get("extensions")
    return type(extensions) is dict and type(extensions.get(name)) is dict


def has_capability(capabilities: dict[str, Any], name: str) -> bool:
    """True when `name` (`sampling`, `roots`, `elicitation.url`, `tasks.requests.sampling.createMessage`) is declared.

    An empty `elicitation` means forms: what it meant before modes existed (MCP 2025-11-25, client/elicitation).
    """
    feature, _, mode = name.partition(".")
    declared = capabilities.get(feature)
    if type(declared) is not dict:
        return False
    if feature == "elicitation":
        return "url" in declared if mode == "url" else "form" in declared or "url" not in declared
    for part in mode.split(".") if mode else ():
        if type(declared) is not dict or part not in declared:
            return False
        declared = declared[part]
    return True
