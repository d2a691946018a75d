"""The skill that teaches agents to emit messages: it can be invoked, and what it shows works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.links import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.wire import Wire

SKILL = ROOT / "tools/schemas/skills/echo/SKILL.md"


@pytest.mark.requirement("skill:echo")
@pytest.mark.transports("frozen")
@pytest.mark.revisions("2025-11-25")
def test_every_message_that_the_skill_shows_is_emitted_as_it_stands(connect: Callable[..., Wire]) -> None:
    wire = connect("schemas")
    shown = re.findall(r"^```json\n(.*?)^```$", SKILL.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(shown) == 3
    for text in shown:
        result = wire.request("tools/call", {"name": "echo", "arguments": json.loads(text)})["result"]
        assert result["structuredContent"] == {"ok": True, **json.loads(text)}


@pytest.mark.requirement("skill:echo")
def test_the_skill_names_tools_and_codes_that_there_are() -> None:
    text = SKILL.read_text("utf-8")
    tools = {path.parent.name for path in (ROOT / "tools/schemas").glob("*/tool.json")}
    assert {name for name in tools if f"`{name}`" not in text} == set()
    sources = "".join(path.read_text("utf-8") for path in Path(ROOT, "tools/schemas").rglob("*.py"))
    assert {code for code in re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE) if code not in sources} == set()


@pytest.mark.requirement("skill:echo")
@pytest.mark.transports("frozen")
@pytest.mark.revisions("2025-11-25")
def test_the_skill_is_in_the_executable_and_can_be_invoked(
    connect: Callable[..., Wire], environ: dict[str, str], unpacked: str
) -> None:
    environ["ADDITIONAL_SKILLS"] = str(SKILL.parent.parent)
    wire = connect("core")
    arguments = {"skill_name": "echo", "arguments": "zenlix-agent-stage-v1"}
    said = wire.request("tools/call", {"name": "InvokeSkill", "arguments": arguments})["result"]["content"][0]["text"]
    assert "that the user named (zenlix-agent-stage-v1)" in said
    shipped = list(Path(unpacked).rglob("tools/schemas/skills/echo/SKILL.md"))
    assert SKILL.read_bytes() in [path.read_bytes() for path in shipped]
