"""demo://resource/dynamic/text/{resourceId}: made up when it is read."""

from __future__ import annotations

from tools.everything.fabricated import TEXT, completed_number, content, number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.everything.state import Everything


def handle(variables: dict[str, str], call: Call[Everything]) -> list[dict[str, Any]]:
    return [{**content(TEXT, number_of(variables["resourceId"])), "uri": variables["uri"]}]


def complete(argument: str, value: str, others: dict[str, str]) -> list[str]:
    return completed_number(value) if argument == "resourceId" else []
