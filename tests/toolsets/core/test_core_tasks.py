"""Tools of the core toolset as tasks: a command, and a question to the user."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.commands import living, wait_until
from tests.tasks import CORE, DECLARED, begun, outcome, said, state, until
from tests.wire import MODERN

if TYPE_CHECKING:
    from pathlib import Path

    from tests.wire import Connect, Message

pytestmark = pytest.mark.revisions(CORE, MODERN)
CANCEL_S_MAX = 2.0
"""What is promised; the tree gets 0.5 s between TERM and KILL."""


@pytest.fixture(autouse=True)
def _started_here(environ: dict[str, str], supervisor_path: str) -> None:
    environ["SCORPIO_SUPERVISOR"] = supervisor_path


def released(path: Path) -> str:
    """A command that goes on when `path` is there."""
    return f"until [ -e {path} ]; do sleep 0.02; done; echo done; "


@pytest.mark.requirement("tasks:bash")
def test_client_that_asks_for_a_command_as_a_task_gets_one(connect: Connect, tmp_path: Path) -> None:
    wire = connect("core", capabilities=DECLARED)
    go = tmp_path / "go"
    task = begun(wire, "Bash", {"command": f"echo begun; {released(go)}"})
    shown = until(wire, task, lambda shown: "begun" in shown.get("statusMessage", ""))
    assert shown["status"] == "working"
    go.touch()
    assert said(outcome(wire, task)) == "begun\ndone"
    assert state(wire, task)["status"] == "completed"


@pytest.mark.requirement("tasks:bash")
def test_command_that_fails_as_a_task_tells_its_output_and_its_exit_code(connect: Connect, tmp_path: Path) -> None:
    wire = connect("core", capabilities=DECLARED)
    go = tmp_path / "go"
    task = begun(wire, "Bash", {"command": f"{released(go)} exit 3"})
    go.touch()
    result = outcome(wire, task)
    assert (result["isError"], said(result)) == (True, "done\n[exit code: 3]")
    assert state(wire, task)["statusMessage"] == "done\n[exit code: 3]"


@pytest.mark.requirement("tasks:bash")
def test_command_of_a_cancelled_task_is_gone_with_all_it_started(connect: Connect, tag: str) -> None:
    wire = connect("core", capabilities=DECLARED)
    task = begun(wire, "Bash", {"command": f"trap '' TERM; sleep {tag} & setsid sleep {tag} & sleep {tag}"})
    assert wait_until(lambda: len(living(tag)) == 3)
    wire.result("tasks/cancel", {"taskId": task["taskId"]})
    assert wait_until(lambda: not living(tag))
    assert state(wire, task)["status"] == "cancelled"


@pytest.mark.alone
@pytest.mark.requirement("tasks:bash")
@pytest.mark.transports("frozen")
def test_command_of_a_cancelled_task_is_gone_within_two_seconds(connect: Connect, tag: str) -> None:
    wire = connect("core", capabilities=DECLARED)
    task = begun(wire, "Bash", {"command": f"trap '' TERM; sleep {tag} & setsid sleep {tag} & sleep {tag}"})
    assert wait_until(lambda: len(living(tag)) == 3)
    started_s = time.monotonic()
    wire.result("tasks/cancel", {"taskId": task["taskId"]})
    assert wait_until(lambda: not living(tag))
    assert time.monotonic() - started_s < CANCEL_S_MAX


@pytest.mark.not_over("http", "2026-07-28")  # there a request leaves its tasks: it has no session to end
@pytest.mark.requirement("tasks:gone-with-client")
def test_command_of_a_task_is_gone_with_the_client(connect: Connect, tag: str) -> None:
    wire = connect("core", capabilities=DECLARED)
    begun(wire, "Bash", {"command": f"sleep {tag} & sleep {tag}"})
    assert wait_until(lambda: len(living(tag)) == 2)
    assert wire.close() == 0
    assert wait_until(lambda: not living(tag))


@pytest.mark.requirement("tasks:server-decides")
@pytest.mark.revisions(MODERN)
def test_short_command_is_answered_at_once(connect: Connect) -> None:
    wire = connect("core", capabilities=DECLARED)
    results = [wire.result("tools/call", {"name": "Bash", "arguments": {"command": "echo hi"}}) for _ in range(10)]
    assert "complete" in {result["resultType"] for result in results}  # a busy machine may make a task of some


FORM: dict[str, Any] = {"questions": [{"question": "Which port?", "options": ["80", "8080"]}]}


@pytest.mark.requirement("tasks:ask")
def test_user_is_asked_by_a_task_too(connect: Connect) -> None:
    wire = connect("core", capabilities={**DECLARED, "elicitation": {}})
    wire.answers["elicitation/create"] = lambda params: {"action": "accept", "content": {"q1": "8080"}}
    call: Message = {"questions_json": json.dumps(FORM)}
    if wire.revision == CORE:
        shown = said(outcome(wire, begun(wire, "AskUserQuestion", call)))
    else:
        shown = wire.text("AskUserQuestion", call)
    assert re.search(r'"selected": ?"8080"', shown), shown
