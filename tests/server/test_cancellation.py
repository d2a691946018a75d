"""notifications/cancelled: the work stops and nothing more is heard of it."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.wire import LEGACY, MODERN

if TYPE_CHECKING:
    from tests.wire import Connect, Wire

LONG_MS = 600_000


def _started(wire: Wire, **options: Any) -> int | str:
    """A slow call that is running: its handler has been counted."""
    before = wire.text("test_counts")
    stubborn = {"stubborn_ms": options.pop("stubborn_ms")} if "stubborn_ms" in options else {}
    id_ = wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": LONG_MS, **stubborn}}, **options)
    while wire.text("test_counts") == before:  # each turn is a round trip, not a sleep
        pass
    return id_


@pytest.mark.requirement("cancel:no-answer")
def test_cancelled_call_is_stopped_and_never_answered(connect: Connect) -> None:
    wire = connect()
    id_ = _started(wire, meta={"progressToken": "p"})
    wire.cancel(id_)
    while "cancelled 1" not in wire.text("test_counts"):
        pass
    assert wire.answers_to(id_) == []
    assert wire.progress("p") == []
    assert [m for m in wire.notifications if "after the end" in str(m)] == []


@pytest.mark.requirement("cancel:no-answer")
@pytest.mark.not_over("http")  # where call and cancellation are two requests, and a call of 1 ms may end between them
def test_call_cancelled_in_the_same_write_is_never_answered(connect: Connect) -> None:
    wire = connect()
    request = wire.request_object("gone", "tools/call", {"name": "test_slow", "arguments": {"ms": 1}})
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "gone"}}
    wire.send(json.dumps(request).encode() + b"\n" + json.dumps(cancel).encode() + b"\n")
    assert wire.text("test_slow", {"ms": 50}) == "Slept for 50 ms."
    assert wire.answers_to("gone") == []


@pytest.mark.requirement("cancel:no-answer")
@pytest.mark.not_over("http", MODERN)  # where every request stands for itself
def test_tool_that_goes_on_after_its_cancellation_answers_nobody_who_uses_the_id_next(connect: Connect) -> None:
    wire = connect()
    id_ = _started(wire, id="again", stubborn_ms=50)
    wire.cancel(id_)
    call = {"name": "test_slow", "arguments": {"ms": LONG_MS}}
    wire.start("tools/call", call, id="again")
    while "finished 1" not in wire.text("test_counts"):
        pass
    wire.settle()
    assert wire.answers_to("again") == []
    assert wire.error("tools/call", {"name": "test_simple_text"}, id="again")["code"] == -32600
    wire.cancel("again")


@pytest.mark.requirement("cancel:no-answer")
@pytest.mark.requirement("calls:exactly-once")
@pytest.mark.parametrize("seed", range(3))
def test_calls_cancelled_at_any_moment_are_answered_once_or_never_and_the_others_once(
    connect: Connect, seed: int
) -> None:
    wire = connect()
    chance = random.Random(seed)
    ids: list[int | str] = []
    cancelled: set[int | str] = set()
    for _ in range(150):
        call = {"name": "test_slow", "arguments": {"ms": chance.randrange(5)}}
        ids.append(wire.start("tools/call", call, meta={"progressToken": len(ids)}))
        if chance.random() < 0.5:
            victim = chance.choice(ids)
            cancelled.add(victim)
            wire.cancel(victim)
    for id_ in set(ids) - cancelled:
        wire.answer(id_)
    assert wire.text("test_slow", {"ms": 20}) == "Slept for 20 ms."
    assert {len(wire.answers_to(id_)) for id_ in cancelled} <= {0, 1}
    assert {len(wire.answers_to(id_)) for id_ in set(ids) - cancelled} == {1}


@pytest.mark.requirement("cancel:silent")
@pytest.mark.parametrize(
    "params", [None, {}, {"requestId": 999}, {"requestId": None}, {"requestId": [1]}, {"requestId": 1.0}]
)
def test_cancel_of_nothing_is_silent(connect: Connect, params: dict[str, Any] | None) -> None:
    wire = connect()
    wire.notify("notifications/cancelled", params)
    assert wire.text("test_simple_text")
    assert wire.stderr() == ""


@pytest.mark.requirement("cancel:silent")
def test_cancel_of_a_finished_call_is_silent(connect: Connect) -> None:
    wire = connect()
    id_ = wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": 1}})
    wire.answer(id_)
    wire.cancel(id_)
    wire.settle()
    assert len(wire.answers_to(id_)) == 1


@pytest.mark.requirement("cancel:by-type")
@pytest.mark.not_over("http", MODERN)  # where every request stands for itself
def test_cancel_of_a_numeral_leaves_the_number_running(connect: Connect) -> None:
    wire = connect()
    id_ = _started(wire, id=4_000_041)
    wire.cancel("4000041")
    assert wire.error("tools/call", {"name": "test_simple_text"}, id=4_000_041)["code"] == -32600
    wire.cancel(id_)


@pytest.mark.requirement("cancel:questions-withdrawn")
@pytest.mark.revisions(*LEGACY)
def test_question_of_a_cancelled_call_is_withdrawn(connect: Connect) -> None:
    wire = connect(capabilities={"sampling": {}})
    id_ = wire.start("tools/call", {"name": "test_sampling", "arguments": {"prompt": "?"}})
    question = wire.message(lambda m: m.get("method") == "sampling/createMessage", "question")
    wire.cancel(id_)
    withdrawn = wire.notification("notifications/cancelled")
    assert withdrawn["requestId"] == question["id"]
    wire.send({"jsonrpc": "2.0", "id": question["id"], "result": {"role": "assistant", "content": {}, "model": "m"}})
    wire.settle()
    assert wire.answers_to(id_) == []


@pytest.mark.requirement("cancel:no-answer")
def test_id_that_is_used_again_gets_the_answer_of_the_new_call_only(connect: Connect) -> None:
    wire = connect()
    deaf = {"name": "test_unexpected_exception_slow", "arguments": {"kind": "deaf"}}
    wire.start("tools/call", deaf, id="again", meta={"progressToken": "started"})
    wire.message(lambda m: m.get("method") == "notifications/progress", "its start")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "again"}}
    request = wire.request_object("again", "tools/call", {"name": "test_slow", "arguments": {"ms": 100}})
    wire.send(json.dumps(cancel).encode() + b"\n" + json.dumps(request).encode() + b"\n")
    assert wire.answer("again")["result"]["content"][0]["text"] == "Slept for 100 ms."
    wire.settle()
    assert len(wire.answers_to("again")) == 1


@pytest.mark.requirement("cancel:by-type")
@pytest.mark.parametrize("id_", [2**53 + 1, 2**70, -(2**64)])
def test_call_with_an_integer_of_any_size_as_id_can_be_cancelled(connect: Connect, id_: int) -> None:
    wire = connect()
    _started(wire, id=id_)
    wire.cancel(id_)
    while "cancelled 1" not in wire.text("test_counts"):
        pass
    assert wire.answers_to(id_) == []


@pytest.mark.requirement("end:drain")
@pytest.mark.not_over("http")  # has no end of input
def test_call_in_progress_at_the_end_of_input_is_still_answered(connect: Connect) -> None:
    wire = connect()
    id_ = wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": 100}})
    assert wire.close() == 0
    assert wire.answers_to(id_)[0]["result"]["content"][0]["text"] == "Slept for 100 ms."


@pytest.mark.requirement("end:drain")
@pytest.mark.not_over("http")  # has no end of input
def test_call_that_takes_too_long_at_the_end_of_input_is_dropped_and_the_exit_is_clean(connect: Connect) -> None:
    wire = connect()
    id_ = _started(wire)
    assert wire.close() == 0
    assert wire.answers_to(id_) == []


@pytest.mark.requirement("end:drain")
@pytest.mark.revisions(*LEGACY)
@pytest.mark.not_over("http")  # has no end of input
def test_question_without_an_answer_at_the_end_of_input_fails_the_call(connect: Connect) -> None:
    wire = connect(capabilities={"sampling": {}})
    id_ = wire.start("tools/call", {"name": "test_sampling", "arguments": {"prompt": "?"}})
    wire.message(lambda m: m.get("method") == "sampling/createMessage", "question")
    assert wire.close() == 0
    result = wire.answers_to(id_)[0]["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"] == "The client went away before it answered sampling/createMessage."
