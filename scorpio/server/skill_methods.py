"""skills/list, skills/get, resources/directory/read, and skills among the resources.

Source: extension io.modelcontextprotocol/skills. Which folders are skills is a toolset's to say (`"dynamic":
["skills"]`: `skill_folders()` of its state); what is made of them is the same for all. Imported with the first of them.
"""

from __future__ import annotations

from scorpio.protocol.errors import INVALID_PARAMS, METHOD_NOT_FOUND, ProtocolError
from scorpio.protocol.revisions import MODERN
from scorpio.server import calls
from scorpio.server.lists import LIST_TTL_MS, list_result, one_page
from scorpio.server.resource_methods import READ_TTL_MS, not_found
from scorpio.skill_folder import Refused
from scorpio.skill_shelf import Shelf, Unknown
from scorpio.toolset import made_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.protocol.revisions import Revision
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.skill_folder import SkillFolder
    from scorpio.tool import Call


def list_skills(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> None:
    _exist(server, request, meta.revision)
    cursor = request.params.get("cursor")
    if cursor is not None and type(cursor) is not str:
        raise ProtocolError(INVALID_PARAMS, "skills/list: cursor must be a string")
    folders, shelf = _folders(server), _shelf(server)

    def listed() -> dict[str, Any]:
        entries, more, left_out = shelf.page(folders, cursor)
        for name, why in left_out.items():
            server.log.debug(f"The skill {name} is not served as a resource: its folder {why}.")
        return {"skills": entries} | ({"nextCursor": more} if more else {}) | _fresh(meta.revision, LIST_TTL_MS)

    _start(server, request, meta, peer, listed, _refused)


def get_skill(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> None:
    _exist(server, request, meta.revision)
    uri, folders, shelf = _uri(request), _folders(server), _shelf(server)

    def got() -> dict[str, Any]:
        return {"skill": shelf.skill(folders, uri)} | _fresh(meta.revision, READ_TTL_MS)

    _start(server, request, meta, peer, got, _refused)


def read_directory(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> None:
    _exist(server, request, meta.revision)
    one_page(request)
    uri, folders, shelf = _uri(request), _folders(server), _shelf(server)
    _start(server, request, meta, peer, lambda: {"resources": shelf.directory(folders, uri)}, _refused)


def read_file(server: Server, request: Request, meta: RequestMeta, peer: Peer, uri: str) -> None:
    """What `resources/read` does with a URI of a skill."""
    folders, shelf = _folders(server), _shelf(server)

    def read() -> dict[str, Any]:
        return {"contents": shelf.contents(folders, uri)} | _fresh(meta.revision, READ_TTL_MS)

    _start(server, request, meta, peer, read, lambda why: not_found(uri, meta.revision, str(why)))


def list_resources(
    server: Server, request: Request, meta: RequestMeta, peer: Peer, made: list[dict[str, Any]]
) -> bytes | None:
    """`resources/list` with the SKILL.md of each skill behind all others."""
    one_page(request)
    folders, shelf = _folders(server), _shelf(server)
    entries = server.features.resources.values()
    if not folders:
        return list_result(server, request, meta, entries, "resources", made)

    def listed() -> list[dict[str, Any]]:
        shown = []
        for folder in folders:
            try:
                shown.append(shelf.resource(folder))
            except Refused:
                continue
        return shown

    async def work(call: Call[Any]) -> calls.Encode:
        import asyncio

        skills = await asyncio.to_thread(listed)
        return lambda: list_result(server, request, meta, entries, "resources", made + skills)

    calls.start(server, request, meta, peer, made_entry(server.features.skills[0], request.method), work)
    return None


def _start(
    server: Server,
    request: Request,
    meta: RequestMeta,
    peer: Peer,
    make: Callable[[], dict[str, Any]],
    refuse: Callable[[Unknown], ProtocolError],
) -> None:
    """Answer later, with what `make` finds on the disk in a thread of its own."""

    async def work(call: Call[Any]) -> calls.Encode:
        import asyncio

        try:
            result = await asyncio.to_thread(make)
        except Unknown as why:
            raise refuse(why) from None
        return lambda: server.encode_result(result, meta.revision)

    calls.start(server, request, meta, peer, made_entry(server.features.skills[0], request.method), work)


def _exist(server: Server, request: Request, revision: Revision) -> None:
    if not server.features.skills:
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {request.method}")
    if not revision.extensions:
        raise ProtocolError(METHOD_NOT_FOUND, f"{request.method} does not exist in {revision.name}")


def _folders(server: Server) -> list[SkillFolder]:
    """Of all toolsets; where two have a skill of one name, the first toolset's counts."""
    found: dict[str, SkillFolder] = {}
    for toolset in server.features.skills:
        for folder in server.state(toolset).skill_folders():
            found.setdefault(folder.name, folder)
    return list(found.values())


def _shelf(server: Server) -> Shelf:
    if server.shelf is None:
        server.shelf = Shelf()
    return server.shelf


def _fresh(revision: Revision, ttl_ms: int) -> dict[str, Any]:
    return {"ttlMs": ttl_ms, "cacheScope": "private"} if revision.era == MODERN else {}


def _refused(why: Unknown) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, str(why))


def _uri(request: Request) -> str:
    uri = request.params.get("uri")
    if type(uri) is not str:
        raise ProtocolError(INVALID_PARAMS, f"{request.method} needs a uri that is a string")
    return uri
