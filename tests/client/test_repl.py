"""What the interactive client offers to complete a line with."""

from __future__ import annotations

import pytest

from scorpio.client.answers import Nobody
from scorpio.client.client import Client
from scorpio.client.dialog import Lines
from scorpio.client.render import Renderer
from scorpio.client.repl import Repl
from scorpio.client.stdio_link import StdioLink

SCHEMA = {"type": "object", "properties": {"unit": {"enum": ["metre", "mile"]}, "value": {"type": "number"}}}


@pytest.fixture
def repl() -> Repl:
    made = Repl(Client(StdioLink(["true"], lambda line: None), Nobody()), Lines("", lambda text: ()), Renderer())
    made.tools = {"convert": {"name": "convert", "inputSchema": SCHEMA}}
    made.prompts = {"greet": {"name": "greet"}}
    made.resources = [{"uri": "test://one"}]
    return made


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("con", "convert"),
        ("he", "help"),
        ("call c", "convert"),
        ("call convert u", "unit="),
        ("convert unit=m", "unit=mile"),
        ("prompt g", "greet"),
        ("read t", "test://one"),
        ("log w", "warning"),
    ],
)
def test_a_word_is_completed_by_what_may_stand_there(repl: Repl, text: str, offered: str) -> None:
    assert offered in list(repl.completions(text))
