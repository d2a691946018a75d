"""`scorpio tools`: what the chosen toolsets offer, as a table or as the protocol's lists."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

from scorpio.app import build_server
from scorpio.client.render import table
from scorpio.protocol.revisions import NAMES_NEWEST_FIRST, REVISIONS
from scorpio.server.peer import Peer
from scorpio.toolset import ToolsetError

if TYPE_CHECKING:
    from collections.abc import Sequence

LISTS = (
    ("tools", "tools/list"),
    ("prompts", "prompts/list"),
    ("resources", "resources/list"),
    ("resourceTemplates", "resources/templates/list"),
)
NARROWEST = 60
"""Columns; a terminal that is narrower gets lines that wrap."""


def run(toolsets: Sequence[str], *, as_json: bool) -> int:
    """Exit status 2 for a toolset that does not exist."""
    try:
        lists = _lists(toolsets)
    except ToolsetError as error:
        sys.stderr.write(f"scorpio: {error}\n")
        return 2
    if as_json:
        sys.stdout.write(json.dumps(lists, ensure_ascii=False, indent=2) + "\n")
    else:
        _table(lists)
    return 0


def _lists(toolsets: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """As a client with every capability sees them: by the server's own answers."""
    server = build_server(toolsets)
    peer = Peer(lambda line: None, "stdio", local=True)
    legacy = next(name for name in NAMES_NEWEST_FIRST if REVISIONS[name].era != "modern")
    capabilities: dict[str, Any] = {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}
    server.open_peer(peer)
    try:
        hello = {
            "protocolVersion": legacy,
            "capabilities": capabilities,
            "clientInfo": {"name": "scorpio", "version": "1"},
        }
        _ask(server, peer, "initialize", hello)
        server.warm()
        return {key: _ask(server, peer, method, {})[key] for key, method in LISTS}
    finally:
        server.close_peer(peer)
        server.close()


def _ask(server: Any, peer: Peer, method: str, params: dict[str, Any]) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    result: dict[str, Any] = json.loads(server.receive(json.dumps(request).encode() + b"\n", peer))["result"]
    return result


def _table(lists: dict[str, list[dict[str, Any]]]) -> None:
    width = max(shutil.get_terminal_size().columns, NARROWEST) if sys.stdout.isatty() else 0
    for title, items in (
        ("Tools", lists["tools"]),
        ("Prompts", lists["prompts"]),
        ("Resources", lists["resources"] + lists["resourceTemplates"]),
    ):
        if items:
            sys.stdout.write(f"{title} ({len(items)})\n{table(items, width)}")
