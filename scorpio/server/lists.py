"""The four list methods: one page each, encoded once and kept.

Source: MCP server/utilities/pagination (a cursor we never gave is -32602), caching of 2026-07-28.
"""

from __future__ import annotations

from scorpio.protocol.errors import INVALID_PARAMS, ProtocolError
from scorpio.protocol.meta import has_capability
from scorpio.protocol.revisions import MODERN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.protocol.revisions import Revision
    from scorpio.server.server import Server
    from scorpio.toolset import Entry

LIST_TTL_MS = 60_000
"""How long a modern client may keep a list without asking; changes are announced on subscriptions/listen."""


def list_result(
    server: Server,
    request: Request,
    meta: RequestMeta,
    entries: Iterable[Entry],
    member: str,
    made: list[dict[str, Any]] | None = None,
) -> bytes:
    """The encoded result of one list method, from the cache where this revision and client were served before.

    `made`: wire objects that a toolset's state adds to this one answer, which is then not kept.
    """
    one_page(request)
    revision = meta.revision
    key: object = (request.method, revision.name)
    if revision.era != MODERN and request.method in server.features.varying:
        # modern lists do not vary by client: calls are refused with -32021 instead
        entries = tuple(entries)
        able = meta.client_capabilities
        lacking = tuple(e.name for e in entries if not all(has_capability(able, need) for need in e.requires))
        entries = [e for e in entries if e.name not in lacking] if lacking else entries
        key = (request.method, revision.name, lacking)
    answers = server.list_answers
    answer = answers.get(key) if not made else None
    if answer is None:
        items = [_descriptor(server, entry, revision, member) for entry in entries]
        if made:
            return encoded(server, revision, member, items + [_said(item, revision) for item in made])
        answer = encoded(server, revision, member, items)
        answers[key] = answer
    return answer


def one_page(request: Request) -> None:
    """Raises ProtocolError for a cursor: none was given."""
    if request.params.get("cursor") is not None:  # some clients write null for none
        raise ProtocolError(INVALID_PARAMS, "Unknown cursor: this server gives its lists in one page")


def encoded(server: Server, revision: Revision, member: str, items: list[dict[str, Any]]) -> bytes:
    result: dict[str, Any] = {member: items}
    if revision.era == MODERN:
        result |= {"ttlMs": LIST_TTL_MS, "cacheScope": "private"}
    return server.encode_result(result, revision)


def _descriptor(server: Server, entry: Entry, revision: Revision, member: str) -> dict[str, Any]:
    """The wire object with only the members that the revision defines."""
    from scorpio.protocol.strict_json import loads

    descriptor: dict[str, Any] = loads(entry.descriptor)
    if member == "tools":
        if "describe" in entry.toolset.dynamic:
            descriptor = server.state(entry.toolset).describe(descriptor) or descriptor
        descriptor["name"] = entry.name
        return {key: value for key, value in descriptor.items() if key in revision.tool_keys}
    if member == "prompts":
        descriptor["name"] = entry.name
    return _said(descriptor, revision)


def _said(descriptor: dict[str, Any], revision: Revision) -> dict[str, Any]:
    return descriptor if revision.titles else {k: v for k, v in descriptor.items() if k != "title"}
