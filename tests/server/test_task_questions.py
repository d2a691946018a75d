"""What a task asks its client: through `tasks/result` (2025-11-25) or through `tasks/get` and `tasks/update`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.tasks import CORE, DECLARED, RELATED, begun, outcome, said, state, until
from tests.wire import MODERN, AnswerError, ErrorAnswer, never

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.wire import Connect, Message, Wire

BOTH = pytest.mark.revisions(CORE, MODERN)
IN_CORE = pytest.mark.revisions(CORE)
IN_EXTENSION = pytest.mark.revisions(MODERN)
ASKABLE: Message = {**DECLARED, "elicitation": {}}
CONFIRMED: Message = {"action": "accept", "content": {"confirm": True}}


def named(name: str) -> Message:
    return {"action": "accept", "content": {"name": name}}


def always(answer: Message) -> Callable[[Message], Message]:
    return lambda params: answer


def _is(method: str, message: Message) -> bool:
    return message.get("method") == method


def asked(wire: Wire, count: int = 1) -> list[Message]:
    """The first `count` elicitations that reached this client; waits for them."""
    while len(found := [m for m in wire.received if isinstance(m, dict) and _is("elicitation/create", m)]) < count:
        wire.pause(1.0)
    return found


def update(wire: Wire, task: Message, responses: object) -> Message:
    return wire.request("tasks/update", {"taskId": task["taskId"], "inputResponses": responses})


@pytest.mark.requirement("tasks:ask")
@BOTH
def test_question_in_a_task_reaches_the_user_and_the_answer_the_tool(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = always(CONFIRMED)
    task = begun(wire, "confirm_delete", {"filename": "a.txt"})
    assert until(wire, task, "input_required")["statusMessage"] == "Looked at a.txt"
    assert said(outcome(wire, task)) == "Deleted a.txt."
    (question,) = wire.questions
    assert question["params"]["message"] == "Delete a.txt?"


@pytest.mark.requirement("tasks:ask")
@BOTH
def test_task_whose_tool_says_nothing_says_what_it_waits_for(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    shown = until(wire, begun(wire, "multi_input"), "input_required")
    assert shown["statusMessage"] == "Waiting for the answer to elicitation/create, elicitation/create"


@pytest.mark.requirement("tasks:ask")
@IN_CORE
def test_tool_that_runs_again_with_the_answer_knows_what_is_behind_it(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = always(CONFIRMED)
    outcome(wire, begun(wire, "confirm_delete", {"filename": "a.txt"}, meta={"progressToken": "p"}))
    assert [p["message"] for p in wire.progress("p")] == ["Looked at a.txt", "Asked about a.txt"]


@pytest.mark.requirement("tasks:ask")
@BOTH
def test_user_who_declines_in_a_task_is_a_result(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = always({"action": "decline"})
    assert said(outcome(wire, begun(wire, "confirm_delete", {"filename": "a.txt"}))) == "Kept a.txt."


@pytest.mark.requirement("tasks:ask")
@BOTH
def test_task_that_waits_for_an_answer_can_be_cancelled(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    task = begun(wire, "confirm_delete", {"filename": "a.txt"})
    until(wire, task, "input_required")
    wire.result("tasks/cancel", {"taskId": task["taskId"]})
    shown = state(wire, task)
    assert shown["status"] == "cancelled"
    assert "inputRequests" not in shown


@pytest.mark.requirement("tasks:ask-undeclared")
@BOTH
def test_client_that_cannot_be_asked_is_not(connect: Connect) -> None:
    wire = connect(capabilities=DECLARED)
    task = begun(wire, "confirm_delete", {"filename": "a.txt"})
    if wire.revision == CORE:
        assert "did not declare elicitation" in said(outcome(wire, task))
    else:
        with pytest.raises(ErrorAnswer) as raised:
            outcome(wire, task)
        assert (raised.value.code, raised.value.data) == (-32021, {"requiredCapabilities": {"elicitation": {}}})
    assert wire.questions == []


# -- core: tasks/result is the way to the client


@pytest.mark.requirement("tasks:ask-core")
@IN_CORE
def test_question_comes_once_somebody_waits_for_the_result_and_names_its_task(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = always(CONFIRMED)
    task = begun(wire, "confirm_delete", {"filename": "a.txt"})
    outcome(wire, task)
    (question,) = wire.questions
    assert question["params"]["_meta"] == {RELATED: {"taskId": task["taskId"]}}


@pytest.mark.requirement("tasks:ask-core")
@IN_CORE
def test_question_goes_with_the_request_that_waited_and_comes_back_with_the_next(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = never
    task = begun(wire, "confirm_delete", {"filename": "a.txt"})
    first = wire.start("tasks/result", {"taskId": task["taskId"]})
    question = asked(wire)[0]
    wire.cancel(first)
    assert wire.notification("notifications/cancelled")["requestId"] == question["id"]
    assert state(wire, task)["status"] == "input_required"
    second = wire.start("tasks/result", {"taskId": task["taskId"]})
    again = asked(wire, 2)[1]
    assert again["params"] == question["params"]
    wire.send({"jsonrpc": "2.0", "id": again["id"], "result": CONFIRMED})
    assert said(wire.answer(second)["result"]) == "Deleted a.txt."
    assert wire.answers_to(first) == []


@pytest.mark.requirement("tasks:ask-core")
@IN_CORE
def test_two_that_wait_for_one_result_get_it_both_and_the_user_is_asked_once(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = never
    task = begun(wire, "confirm_delete", {"filename": "a.txt"})
    ids = [wire.start("tasks/result", {"taskId": task["taskId"]}) for _ in range(2)]
    question = asked(wire)[0]
    wire.settle()
    wire.send({"jsonrpc": "2.0", "id": question["id"], "result": CONFIRMED})
    assert [said(wire.answer(id_)["result"]) for id_ in ids] == ["Deleted a.txt."] * 2
    assert len(asked(wire)) == 1


@pytest.mark.requirement("tasks:ask-core")
@IN_CORE
def test_who_waits_beside_a_cancelled_one_asks_in_its_place(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = never
    task = begun(wire, "confirm_delete", {"filename": "a.txt"})
    first = wire.start("tasks/result", {"taskId": task["taskId"]})
    asked(wire)
    second = wire.start("tasks/result", {"taskId": task["taskId"]})
    wire.settle()
    wire.cancel(first)
    again = asked(wire, 2)[1]
    wire.send({"jsonrpc": "2.0", "id": again["id"], "result": CONFIRMED})
    assert said(wire.answer(second)["result"]) == "Deleted a.txt."


@pytest.mark.requirement("tasks:ask-core")
@IN_CORE
def test_question_of_a_cancelled_task_is_withdrawn_and_who_waited_is_told(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = never
    task = begun(wire, "confirm_delete", {"filename": "a.txt"})
    waiting = wire.start("tasks/result", {"taskId": task["taskId"]})
    question = asked(wire)[0]
    assert wire.result("tasks/cancel", {"taskId": task["taskId"]})["status"] == "cancelled"
    error = wire.answer(waiting)["error"]
    assert (error["code"], "was cancelled" in error["message"]) == (-32602, True)
    assert wire.notification("notifications/cancelled")["requestId"] == question["id"]


@pytest.mark.requirement("tasks:ask-core")
@IN_CORE
def test_client_that_answers_a_question_with_an_error_fails_the_task_in_its_words(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)

    def refuse(params: Message) -> Message:
        raise AnswerError(-1, "The user is out")

    wire.answers["elicitation/create"] = refuse
    result = outcome(wire, begun(wire, "confirm_delete", {"filename": "a.txt"}))
    assert (result["isError"], said(result)) == (
        True,
        "The client answered elicitation/create with an error: The user is out",
    )


@pytest.mark.requirement("tasks:ask-core")
@pytest.mark.not_over("http")  # a connection for each request: no order among them, no end of input
@IN_CORE
def test_result_that_is_waited_for_at_the_end_of_input_is_still_told(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = never
    task = begun(wire, "confirm_delete", {"filename": "a.txt"})
    waiting = wire.start("tasks/result", {"taskId": task["taskId"]})
    asked(wire)
    assert wire.close() == 0
    assert "went away" in said(wire.answers_to(waiting)[0]["result"])


@pytest.mark.requirement("tasks:ask-core")
@IN_CORE
def test_client_that_waits_for_no_result_is_asked_all_the_same(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = always(CONFIRMED)
    task = begun(wire, "confirm_delete", {"filename": "a.txt"})
    until(wire, task, "completed")
    (question,) = asked(wire)
    assert question["params"]["_meta"] == {RELATED: {"taskId": task["taskId"]}}
    assert said(outcome(wire, task)) == "Deleted a.txt."


@pytest.mark.requirement("tasks:ask-core")
@IN_CORE
def test_who_waits_after_all_takes_the_question_over_and_what_was_answered_stays(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    wire.answers["elicitation/create"] = never
    task = begun(wire, "multi_input")
    first, second = asked(wire, 2)
    wire.send({"jsonrpc": "2.0", "id": first["id"], "result": named("Alice")})
    wire.settle()
    waiting = wire.start("tasks/result", {"taskId": task["taskId"]})
    assert wire.notification("notifications/cancelled")["requestId"] == second["id"]
    again = asked(wire, 3)[2]
    assert again["params"] == second["params"]
    wire.send({"jsonrpc": "2.0", "id": again["id"], "result": named("Bob")})
    assert said(wire.answer(waiting)["result"]) == "Alice, then Bob."


# -- extension: tasks/update


@pytest.mark.requirement("tasks:ask-extension")
@IN_EXTENSION
def test_questions_are_answered_one_by_one(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    task = begun(wire, "multi_input")
    assert set(until(wire, task, "input_required")["inputRequests"]) == {"first", "second"}
    update(wire, task, {"first": named("Alice")})
    shown = state(wire, task)
    assert (shown["status"], set(shown["inputRequests"])) == ("input_required", {"second"})
    update(wire, task, {"second": named("Bob")})
    assert said(outcome(wire, task)) == "Alice, then Bob."


@pytest.mark.requirement("tasks:ask-extension")
@IN_EXTENSION
def test_answer_to_nothing_is_acknowledged_and_changes_nothing(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    task = begun(wire, "multi_input")
    until(wire, task, "input_required")
    update(wire, task, {"first": named("Alice")})
    for responses in ({}, {"third": named("Carol")}, {"first": named("Mallory")}, {"third": 5}):
        assert update(wire, task, responses)["result"]["resultType"] == "complete"
    update(wire, task, {"second": named("Bob")})
    assert said(outcome(wire, task)) == "Alice, then Bob."
    assert update(wire, task, {"second": named("Mallory")})["result"]["resultType"] == "complete"


@pytest.mark.requirement("tasks:ask-extension")
@IN_EXTENSION
@pytest.mark.parametrize("answer", [{}, {"action": "maybe"}, {"action": "accept", "content": []}, "yes", None, 5])
def test_answer_that_is_none_is_refused_and_the_whole_update_with_it(connect: Connect, answer: Any) -> None:
    wire = connect(capabilities=ASKABLE)
    task = begun(wire, "multi_input")
    until(wire, task, "input_required")
    error = update(wire, task, {"first": named("Alice"), "second": answer})["error"]
    assert (error["code"], error["message"].partition(":")[0]) == (-32602, "inputResponses/second")
    assert set(state(wire, task)["inputRequests"]) == {"first", "second"}


@pytest.mark.requirement("tasks:ask-extension")
@IN_EXTENSION
@pytest.mark.parametrize("responses", [None, [], "first", 1])
def test_update_without_an_object_of_responses_is_invalid_params(connect: Connect, responses: Any) -> None:
    wire = connect(capabilities=ASKABLE)
    task = begun(wire, "multi_input")
    assert update(wire, task, responses)["error"]["code"] == -32602


@pytest.mark.requirement("tasks:ask-before")
@IN_EXTENSION
def test_question_before_a_call_is_a_task_is_asked_as_ever_and_answered_by_a_task(connect: Connect) -> None:
    wire = connect(capabilities=ASKABLE)
    first = wire.result("tools/call", {"name": "test_tool_with_task"})
    assert first["resultType"] == "input_required"
    assert "taskId" not in first
    again = {"inputResponses": {"user_name": named("Alice")}, "requestState": first["requestState"]}
    task = wire.result("tools/call", {"name": "test_tool_with_task", **again})
    assert task["resultType"] == "task"
    assert "requestState" not in task
    assert said(outcome(wire, task)) == "Hello, Alice!"
