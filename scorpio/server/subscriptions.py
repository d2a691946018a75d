"""Who hears of changes: subscriptions/listen (modern), resources/subscribe and list_changed (legacy).

Source: MCP 2026-07-28, basic/utilities/subscriptions: acknowledge first, tag every message, send only what was asked.
"""

from __future__ import annotations

from scorpio.limits import LISTENS_MAX, SUBSCRIPTIONS_MAX
from scorpio.protocol.errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError
from scorpio.protocol.messages import encode_result
from scorpio.protocol.meta import SUBSCRIPTION_ID
from scorpio.protocol.revisions import V2026_07_28
from scorpio.server.method import Method

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.messages import Request, RequestId
    from scorpio.protocol.meta import RequestMeta
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server

LIST_FILTERS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}


def listen(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> None:
    """Open a stream: the acknowledgement now, notifications until it is cancelled, its result when the server ends."""
    wanted = request.params.get("notifications")
    if type(wanted) is not dict:
        raise ProtocolError(INVALID_PARAMS, "subscriptions/listen needs notifications, an object")
    if len(peer.listens) >= LISTENS_MAX:
        raise ProtocolError(INTERNAL_ERROR, f"{LISTENS_MAX} subscriptions are open. Cancel one first.")
    honoured = _honoured(wanted)
    if "taskIds" not in wanted:
        _open(server, peer, request.id, honoured)
        return
    from scorpio.server import task_methods

    tasks = task_methods.watched(server, wanted["taskIds"], meta, peer)
    _open(server, peer, request.id, honoured | {"taskIds": [task.id for task in tasks]})
    task_methods.tell_beginner(server, peer, request.id, tasks)


def _open(server: Server, peer: Peer, id_: RequestId, honoured: dict[str, Any]) -> None:
    peer.listens[id_] = honoured
    _send(server, peer, id_, "notifications/subscriptions/acknowledged", {"notifications": honoured})
    server.subscribed(honoured.get("resourceSubscriptions", ()), peer.owner)


def _honoured(wanted: dict[str, Any]) -> dict[str, Any]:
    honoured: dict[str, Any] = {name: True for name in LIST_FILTERS.values() if wanted.get(name) is True}
    uris = wanted.get("resourceSubscriptions")
    if uris is not None:
        if type(uris) is not list or not all(type(uri) is str for uri in uris):
            raise ProtocolError(INVALID_PARAMS, "resourceSubscriptions must be an array of strings")
        if len(uris) > SUBSCRIPTIONS_MAX:
            raise ProtocolError(INVALID_PARAMS, f"resourceSubscriptions has more than {SUBSCRIPTIONS_MAX} URIs")
        if uris:
            honoured["resourceSubscriptions"] = uris
    return honoured


def _send(server: Server, peer: Peer, id_: RequestId, method: str, params: dict[str, Any]) -> None:
    peer.notify(method, server.encode(params | tag(id_)))


def tag(id_: RequestId) -> dict[str, Any]:
    """The member of `params` that says which stream a notification belongs to."""
    return {"_meta": {SUBSCRIPTION_ID: id_}}


def changed_list(server: Server, kind: str, owner: str | None = None) -> None:
    """`kind` is tools, prompts or resources. Drops the cached answers and tells every client that wants to know.

    Only `owner`'s clients where one is given.
    """
    server.list_answers = {}  # not cleared: an answer that another thread is making now lands in the old one
    method = f"notifications/{kind}/list_changed"
    for peer in tuple(server.peers):
        if owner is not None and peer.owner != owner:
            continue
        if peer.session is not None:
            peer.notify(method, b"{}")
        for id_, wanted in tuple(peer.listens.items()):
            if wanted.get(LIST_FILTERS[kind]):
                _send(server, peer, id_, method, {})


def changed_resource(server: Server, uri: str, owner: str | None = None) -> None:
    """Tell those who subscribed to `uri`; only `owner`'s clients where one is given."""
    method = "notifications/resources/updated"
    for peer in tuple(server.peers):
        if owner is not None and peer.owner != owner:
            continue
        if peer.session is not None and uri in peer.session.subscriptions:
            peer.notify(method, server.encode({"uri": uri}))
        for id_, wanted in tuple(peer.listens.items()):
            if uri in wanted.get("resourceSubscriptions", ()):
                _send(server, peer, id_, method, {"uri": uri})


def end_listens(server: Server, peer: Peer) -> None:
    """Answer every open stream: the server ends, deliberately."""
    while peer.listens:
        id_, _ = peer.listens.popitem()
        result = server.encode_result({"_meta": {SUBSCRIPTION_ID: id_}}, V2026_07_28)
        peer.write(encode_result(id_, result))


METHODS = {"subscriptions/listen": Method(listen, legacy=False)}
