"""completion/complete: values for an argument of a prompt or a resource template.

Source: MCP server/utilities/completion.
"""

from __future__ import annotations

from scorpio.limits import COMPLETION_VALUES_MAX
from scorpio.protocol.errors import INVALID_PARAMS, ProtocolError
from scorpio.server.method import Method

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.toolset import Entry


def complete(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    entry = _referenced(server, request.params.get("ref"))
    argument = request.params.get("argument")
    if type(argument) is not dict or not all(type(argument.get(key)) is str for key in ("name", "value")):
        raise ProtocolError(INVALID_PARAMS, "argument must be an object with name and value, both strings")
    context = request.params.get("context")
    others = context.get("arguments") if type(context) is dict else None
    function = entry.complete
    values: list[str] = []
    if function is not None:
        values = function(argument["name"], argument["value"], others if type(others) is dict else {})
    completion: dict[str, Any] = {
        "values": values[:COMPLETION_VALUES_MAX],
        "total": len(values),
        "hasMore": len(values) > COMPLETION_VALUES_MAX,
    }
    return server.encode_result({"completion": completion}, meta.revision)


def _referenced(server: Server, reference: Any) -> Entry:
    kind = reference.get("type") if type(reference) is dict else None
    if kind == "ref/prompt":
        found = server.features.prompts.get(str(reference.get("name")))
    elif kind == "ref/resource":
        uri = str(reference.get("uri"))
        found = server.features.templates.get(uri) or server.features.resources.get(uri)
    else:
        raise ProtocolError(INVALID_PARAMS, "ref must be an object of type ref/prompt or ref/resource")
    if found is None:
        raise ProtocolError(INVALID_PARAMS, f"Nothing here is called {reference.get('name') or reference.get('uri')}")
    return found


METHODS = {"completion/complete": Method(complete)}
