"""simulate-research-query: a task of several stages, which may ask the user what was meant."""

from __future__ import annotations

import asyncio

from scorpio.tool import InputRequired, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.everything._catalog import SimulateResearchQueryArguments
    from tools.everything.state import Everything

STAGES = ("Gathering sources", "Analyzing content", "Synthesizing findings", "Generating report")
STAGE_S = 0.5
"""Long enough to be seen by a client that looks twice a second."""

ASKED_AFTER = 3
"""Stages before the question."""

MEANINGS = {
    "technical": "Technical and scientific",
    "historical": "Historical",
    "current": "Current events",
}


async def handle(arguments: SimulateResearchQueryArguments, call: Call[Everything]) -> ToolResult:
    topic = arguments["topic"]
    if not (arguments.get("ambiguous", False) and call.supports("elicitation")):
        await _work(call, 0, len(STAGES))
        return text(_report(topic, ""))
    question = {
        "message": f'"{topic}" may mean several things. Which of them should the research be about?',
        "requestedSchema": {
            "type": "object",
            "properties": {"interpretation": _choice(call)},
            "required": ["interpretation"],
        },
    }
    try:
        answer = call.ask("interpretation", "elicitation/create", question)
    except InputRequired:  # not asked yet: the stages before the question
        await _work(call, 0, ASKED_AFTER)
        raise
    given = (answer.get("content") or {}).get("interpretation") if answer["action"] == "accept" else None
    await _work(call, ASKED_AFTER, len(STAGES))
    return text(_report(topic, str(given or f"no choice was made ({answer['action']})")))


async def _work(call: Call[Everything], first: int, end: int) -> None:
    for number in range(first, end):
        call.activity = f"{STAGES[number]}..."
        call.progress(number, len(STAGES), call.activity)
        await asyncio.sleep(STAGE_S)


def _choice(call: Call[Everything]) -> dict[str, object]:
    about: dict[str, object] = {"type": "string", "title": "Interpretation", "description": "What the topic means"}
    if call.revision.enum_titles == "const":
        return about | {"oneOf": [{"const": name, "title": title} for name, title in MEANINGS.items()]}
    return about | {"enum": list(MEANINGS), "enumNames": list(MEANINGS.values())}


def _report(topic: str, meaning: str) -> str:
    stages = "\n".join(f"- Stage {number}: {stage} ✓" for number, stage in enumerate(STAGES, 1))
    about = f"# Research Report: {topic}" + (f" ({meaning})" if meaning else "")
    clarified = f"\n- **Clarification**: {meaning}" if meaning else ""
    return f"""{about}

## Research Parameters
- **Topic**: {topic}{clarified}

## Synthesis
Nothing was looked up: this report shows how a long call goes by.
{stages}

## How it went by
A client that asked for a task was given one at once, could look at its status and message meanwhile, was asked
through it{" what the topic means" if meaning else " nothing"}, and fetched this text when it was done."""
