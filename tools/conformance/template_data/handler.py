"""test://template/{id}/data: one resource for each number."""

from __future__ import annotations

import json

from scorpio.tool import ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call


def handle(variables: dict[str, str], call: Call[None]) -> list[dict[str, Any]]:
    id_ = variables["id"]
    if not id_.isdigit():
        raise ToolFailure(f"There is no data for {id_}: ids are digits.")
    body = json.dumps({"id": id_, "templateTest": True, "data": f"Data for ID: {id_}"}, separators=(",", ":"))
    return [{"uri": variables["uri"], "mimeType": "application/json", "text": body}]


def complete(argument: str, value: str, context: dict[str, str]) -> list[str]:
    return [str(number) for number in range(30) if argument == "id" and str(number).startswith(value)]
