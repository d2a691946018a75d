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
    reference = request.params.get("ref")
    argument = request.params.get("argument")
    if type(argument) is not dict or not all(type(argument.get(key)) is str for key in ("name", "value")):
        raise ProtocolError(INVALID_PARAMS, "argument must be an object with name and value, both strings")
    context = request.params.get("context")
    others = context.get("arguments") if type(context) is dict else None
    values = _of_state(server, reference, argument)
    if values is None:
        function = _referenced(server, reference).complete
        known = others if type(others) is dict else {}
        values = function(argument["name"], argument["value"], known) if function is not None else []
    completion: dict[str, Any] = {
        "values": values[:COMPLETION_VALUES_MAX],
        "total": len(values),
        "hasMore": len(values) > COMPLETION_VALUES_MAX,
    }
    return server.encode_result({"completion": completion}, meta.revision)


def _of_state(server: Server, reference: Any, argument: dict[str, str]) -> list[str] | None:
    """Values for a prompt that a toolset's state made; None when there is no such prompt."""
    if type(reference) is not dict or reference.get("type") != "ref/prompt":
        return None
    for toolset in server.features.dynamic("prompts"):
        values: list[str] | None = server.state(toolset).complete_prompt(
            str(reference.get("name")), argument["name"], argument["value"]
        )
        if values is not None:
            return values
    return None


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
