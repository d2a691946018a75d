"""completable-prompt: arguments that are completed, the second by what the first was chosen to be."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call
    from tools.everything.state import Everything

TEAMS = {
    "Engineering": ("Alice", "Bob", "Charlie"),
    "Sales": ("David", "Eve", "Frank"),
    "Marketing": ("Grace", "Henry", "Iris"),
    "Support": ("John", "Kim", "Lee"),
}
"""The reference server's, so that clients can be compared."""


def handle(arguments: dict[str, str], call: Call[Everything]) -> dict[str, Any]:
    said = f"Please promote {arguments['name']} to the head of the {arguments['department']} team."
    return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}


def complete(argument: str, value: str, others: dict[str, str]) -> list[str]:
    if argument == "department":
        return [team for team in TEAMS if team.startswith(value)]
    if argument == "name":
        return [name for name in TEAMS.get(others.get("department", ""), ()) if name.startswith(value)]
    return []
