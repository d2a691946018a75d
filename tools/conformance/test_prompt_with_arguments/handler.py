"""test_prompt_with_arguments: two arguments, both completed."""

from __future__ import annotations

from scorpio.tool import text_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.tool import Call

CITIES = ("paris", "park", "party", "perth", "porto")
NUMBERS = tuple(f"value-{number:03}" for number in range(150))
"""More than one completion may answer."""


def handle(arguments: dict[str, str], call: Call[None]) -> dict[str, Any]:
    said = f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
    return {"messages": [{"role": "user", "content": text_block(said)}]}


def complete(argument: str, value: str, context: dict[str, str]) -> list[str]:
    """arg1: cities; arg2: what was chosen for arg1, if anything, then numbered values."""
    if argument == "arg1":
        return [city for city in CITIES if city.startswith(value)]
    if argument == "arg2":
        chosen = [f"{context['arg1']}-too"] if "arg1" in context else []
        return [known for known in (*chosen, *NUMBERS) if known.startswith(value)]
    return []
