"""Arguments as the client spelled them, for the tools whose descriptor asks for it (`x-scorpio.verbatim`)."""

from __future__ import annotations

import json

from scorpio.protocol.errors import INVALID_PARAMS, INVALID_REQUEST, ProtocolError
from scorpio.protocol.json_text import at_path
from scorpio.protocol.strict_json import DuplicateKey
from scorpio.tool import Verbatim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.messages import Request
    from scorpio.toolset import ToolEntry


def with_verbatim(
    request: Request, entry: ToolEntry, arguments: dict[str, Any], place: tuple[str, ...]
) -> dict[str, Any]:
    """The arguments, those that the tool wants verbatim as they stand in the frame. Raises ProtocolError -32600."""
    given = request.params.get("arguments") if place else None
    source, path = request.frame, ("params", *place)
    found = {}
    for name in entry.verbatim:
        if name not in arguments:
            continue
        try:
            if type(given) is str:  # all arguments as one JSON text
                value, text = at_path(given, (name,))
            elif source is None:  # a transport that keeps no frames: what it means, if not how it was written
                value, text = arguments[name], json.dumps(arguments[name], ensure_ascii=False)
            else:
                value, text = at_path(source, (*(() if request.index is None else (request.index,)), *path, name))
        except DuplicateKey as twice:
            raise ProtocolError(INVALID_REQUEST, f"Not one value: {twice}") from None
        except ValueError as fault:
            raise ProtocolError(INVALID_PARAMS, f"{name}: {fault}") from None
        found[name] = Verbatim(text.replace("\n", "").replace("\r", ""), value)
    return {**arguments, **found}
