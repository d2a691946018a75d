"""A question that the client answers by a task of its own (2025-11-25): looked at until it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tasks import CORE, said
from tests.wire import LEGACY, MODERN, AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.wire import Connect, Message, Wire

TOOL = "test_elicitation_as_task"
ABLE: Message = {"elicitation": {}, "tasks": {"requests": {"elicitation": {"create": {}}}}}
ANSWER: Message = {"action": "accept", "content": {"name": "Alice"}}
INSTANT = "2026-07-28T10:00:00Z"


def task(status: str, **more: Any) -> Message:
    times = {"createdAt": INSTANT, "lastUpdatedAt": INSTANT, "ttl": 600_000}
    return {"taskId": "of-the-client", "status": status, "pollInterval": 1, **times, **more}


def serving(wire: Wire, *looks: Message) -> Wire:
    """A client whose task is seen so, one look after the other."""
    left: Iterator[Message] = iter(looks)
    wire.answers["elicitation/create"] = lambda params: {"task": task("working")}
    wire.answers["tasks/get"] = lambda params: next(left)
    wire.answers["tasks/result"] = lambda params: ANSWER
    return wire


def methods(wire: Wire) -> list[str]:
    return [question["method"] for question in wire.questions]


@pytest.mark.requirement("tasks:of-the-client")
@pytest.mark.revisions(CORE)
def test_task_of_the_client_is_followed_to_its_result(connect: Connect) -> None:
    wire = serving(
        connect(capabilities=ABLE),
        task("working"),
        task("input_required", statusMessage="The user is thinking"),
        task("completed"),
    )
    assert wire.text(TOOL) == 'working then input_required then completed: action=accept, content={"name":"Alice"}'
    assert methods(wire) == ["elicitation/create", *["tasks/get"] * 3, "tasks/result"]
    assert wire.questions[0]["params"]["task"] == {"ttl": 600_000}
    assert {question["params"]["taskId"] for question in wire.questions[1:]} == {"of-the-client"}


@pytest.mark.requirement("tasks:of-the-client")
@pytest.mark.revisions(CORE)
def test_client_that_could_make_a_task_may_answer_at_once(connect: Connect) -> None:
    wire = connect(capabilities=ABLE)
    wire.answers["elicitation/create"] = lambda params: ANSWER
    assert wire.text(TOOL).startswith("At once: action=accept")


@pytest.mark.requirement("tasks:of-the-client")
@pytest.mark.revisions("2025-06-18", CORE, MODERN)
@pytest.mark.parametrize("tasks", [{}, {"tasks": {"requests": {"sampling": {"createMessage": {}}}}}, {"tasks": []}])
def test_client_that_did_not_declare_it_is_not_asked_for_a_task(connect: Connect, tasks: Message) -> None:
    wire = connect(capabilities={"elicitation": {}, **tasks})
    wire.answers["elicitation/create"] = lambda params: ANSWER
    assert wire.text(TOOL).startswith("At once: action=accept")
    assert ["task" in question["params"] for question in wire.questions] == [False]


@pytest.mark.requirement("tasks:of-the-client")
@pytest.mark.revisions(*(name for name in LEGACY if name in ("2025-06-18", CORE)))
def test_revision_without_tasks_is_not_asked_for_one_whatever_was_declared(connect: Connect, revision: str) -> None:
    wire = connect(capabilities=ABLE)
    wire.answers["elicitation/create"] = lambda params: ANSWER
    wire.text(TOOL)
    assert ["task" in question["params"] for question in wire.questions] == [revision == CORE]


@pytest.mark.requirement("tasks:of-the-client")
@pytest.mark.revisions(CORE)
@pytest.mark.parametrize(
    ("end", "why"),
    [
        (task("failed", statusMessage="The window was closed"), "failed: The window was closed"),
        (task("cancelled"), "cancelled: it did not say why"),
    ],
)
def test_task_of_the_client_that_came_to_nothing_fails_the_call(connect: Connect, end: Message, why: str) -> None:
    wire = serving(connect(capabilities=ABLE), end)
    result = wire.call(TOOL)
    assert result["isError"] is True
    assert said(result) == f"The client answered elicitation/create with an error: its task {why}"
    assert "tasks/result" not in methods(wire)


@pytest.mark.requirement("tasks:of-the-client")
@pytest.mark.revisions(CORE)
def test_client_that_forgot_its_task_fails_the_call_in_its_words(connect: Connect) -> None:
    wire = serving(connect(capabilities=ABLE))

    def forgotten(params: Message) -> Message:
        raise AnswerError(-32602, "no such task")

    wire.answers["tasks/get"] = forgotten
    result = wire.call(TOOL)
    assert (result["isError"], said(result).rpartition(": ")[2]) == (True, "no such task")


@pytest.mark.requirement("tasks:of-the-client")
@pytest.mark.revisions(CORE)
@pytest.mark.parametrize("made", [None, [], "x", {}, {"taskId": 1}, {"status": "working"}])
def test_task_that_is_none_is_no_answer(connect: Connect, made: Any) -> None:
    wire = connect(capabilities=ABLE)
    wire.answers["elicitation/create"] = lambda params: {"task": made}
    result = wire.call(TOOL)
    assert (result["isError"], "is none" in said(result)) == (True, True)
