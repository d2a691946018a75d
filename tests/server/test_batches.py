"""JSON-RPC batches: received in 2025-03-26, refused everywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.wire import MODERN, REVISIONS

if TYPE_CHECKING:
    from tests.wire import Connect, Message, Wire

BATCHING = "2025-03-26"
LONG_MS = 600_000


def call(id_: int | str, name: str, **arguments: Any) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def batch_of(wire: Wire, messages: object) -> list[Message]:
    """The one array that answers `messages`."""
    wire.send(messages)
    found: list[Message] = wire.message(lambda message: isinstance(message, list), "batch")
    return found


@pytest.mark.requirement("batch:answered")
@pytest.mark.revisions(BATCHING)
def test_batch_is_answered_by_one_array(connect: Connect) -> None:
    wire = connect()
    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
    note = {"jsonrpc": "2.0", "method": "notifications/unknown"}
    answers = batch_of(wire, [ping, note, call(2, "test_simple_text"), {"jsonrpc": "2.0", "id": 3, "method": "none"}])
    assert {answer["id"] for answer in answers} == {"p", 2, 3}
    assert [answer["error"]["code"] for answer in answers if "error" in answer] == [-32601]


@pytest.mark.requirement("batch:answered")
@pytest.mark.revisions(BATCHING)
def test_batch_with_slow_calls_is_answered_when_the_last_is_done_and_delays_nothing_else(connect: Connect) -> None:
    wire = connect()
    wire.send([call("a", "test_slow", ms=200), call("b", "test_slow", ms=1), call("c", "test_simple_text")])
    wire.settle()
    assert [message for message in wire.received if isinstance(message, list)] == []
    answers = wire.message(lambda message: isinstance(message, list), "batch")
    assert sorted(answer["id"] for answer in answers) == ["a", "b", "c"]
    wire.settle()
    assert len([message for message in wire.received if isinstance(message, list)]) == 1


@pytest.mark.requirement("batch:empty")
@pytest.mark.revisions(BATCHING)
def test_empty_batch_is_an_invalid_request(connect: Connect) -> None:
    wire = connect()
    wire.send([])
    assert wire.unaddressed()[0]["error"] == {"code": -32600, "message": "The batch is empty"}


@pytest.mark.requirement("batch:junk")
@pytest.mark.revisions(BATCHING)
def test_junk_in_a_batch_is_refused_item_by_item(connect: Connect) -> None:
    wire = connect()
    answers = batch_of(wire, [1, None, [], {}, "x", {"jsonrpc": "2.0", "id": 9}, call(10, "test_simple_text")])
    assert [answer["id"] for answer in answers] == [None, None, None, None, None, 9, 10]
    assert [answer["error"]["code"] for answer in answers[:-1]] == [-32600] * 6


@pytest.mark.requirement("batch:initialize")
@pytest.mark.revisions(BATCHING)
def test_initialize_in_a_batch_is_refused_and_the_rest_is_served(connect: Connect) -> None:
    wire = connect()
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    answers = batch_of(wire, [hello, {"jsonrpc": "2.0", "id": 2, "method": "ping"}])
    assert answers[0]["error"]["code"] == -32600
    assert answers[1] == {"jsonrpc": "2.0", "id": 2, "result": {}}


@pytest.mark.requirement("batch:notifications-only")
@pytest.mark.revisions(BATCHING)
def test_batch_of_notifications_and_responses_is_not_answered(connect: Connect) -> None:
    wire = connect()
    note = {"jsonrpc": "2.0", "method": "notifications/unknown"}
    wire.send([note, note, {"jsonrpc": "2.0", "id": "nobody-asked", "result": {}}])
    before = len(wire.received)
    wire.settle()
    assert len(wire.received) == before + 1


@pytest.mark.requirement("batch:answered")
@pytest.mark.revisions(BATCHING)
@pytest.mark.transports("stdio")
def test_nothing_after_shutdown_in_a_batch_is_served(connect: Connect) -> None:
    wire = connect()
    wire.send([{"jsonrpc": "2.0", "id": "end", "method": "shutdown"}, {"jsonrpc": "2.0", "id": "p", "method": "ping"}])
    answers = wire.message(lambda message: isinstance(message, list), "batch")
    assert [answer["id"] for answer in answers] == ["end"]


@pytest.mark.requirement("batch:cancel")
@pytest.mark.revisions(BATCHING)
def test_call_that_is_cancelled_is_left_out_of_the_array(connect: Connect) -> None:
    wire = connect()
    wire.send([call("gone", "test_slow", ms=LONG_MS), call("here", "test_slow", ms=1)])
    wire.cancel("gone")
    answers = wire.message(lambda message: isinstance(message, list), "batch")
    assert [answer["id"] for answer in answers] == ["here"]


@pytest.mark.requirement("batch:cancel")
@pytest.mark.revisions(BATCHING)
def test_batch_whose_every_call_is_cancelled_in_it_is_not_answered(connect: Connect) -> None:
    wire = connect()
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "gone"}}
    wire.send([call("gone", "test_slow", ms=LONG_MS), cancel])
    before = len(wire.received)
    wire.settle()
    assert len(wire.received) == before + 1


@pytest.mark.requirement("batch:junk")
@pytest.mark.revisions(BATCHING)
def test_same_id_twice_in_a_batch_is_refused_once(connect: Connect) -> None:
    wire = connect()
    answers = batch_of(wire, [call("x", "test_slow", ms=20), call("x", "test_slow", ms=20)])
    assert [answer["id"] for answer in answers] == ["x", "x"]
    assert sorted("error" in answer for answer in answers) == [False, True]


@pytest.mark.requirement("batch:modern")
@pytest.mark.revisions(BATCHING)
def test_modern_request_in_a_batch_is_refused(connect: Connect) -> None:
    wire = connect()
    modern = wire.request_object(1, "tools/list", revision=MODERN)
    answers = batch_of(wire, [modern, {"jsonrpc": "2.0", "id": 2, "method": "ping"}])
    assert answers[0]["error"]["code"] == -32600
    assert answers[1]["result"] == {}


@pytest.mark.requirement("bounds:batch")
@pytest.mark.revisions(BATCHING)
def test_batch_beyond_the_bound_is_refused_whole(connect: Connect) -> None:
    wire = connect()
    wire.send([{"jsonrpc": "2.0", "method": "notifications/unknown"}] * 1001)
    assert wire.unaddressed()[0]["error"]["message"] == "The batch has more than 1000 messages"


@pytest.mark.requirement("batch:elsewhere")
@pytest.mark.revisions(*[name for name in REVISIONS if name != BATCHING])
def test_batch_is_refused_where_the_revision_has_none(connect: Connect) -> None:
    wire = connect()
    wire.send([{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}])
    error = wire.unaddressed()[0]["error"]
    assert error == {"code": -32600, "message": "A message must be a JSON object; this revision has no batches"}
    assert wire.text("test_simple_text")


@pytest.mark.requirement("batch:elsewhere")
@pytest.mark.revisions(BATCHING)
def test_batch_before_initialize_is_refused(connect: Connect) -> None:
    wire = connect(handshake=False)
    wire.send([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])
    assert wire.unaddressed()[0]["error"]["code"] == -32600


@pytest.mark.requirement("batch:end")
@pytest.mark.revisions(BATCHING)
@pytest.mark.not_over("http")  # has no end of input
def test_batch_in_progress_at_the_end_of_input_is_answered(connect: Connect) -> None:
    wire = connect()
    wire.send([call("a", "test_slow", ms=50), call("b", "test_simple_text")])
    assert wire.close() == 0
    (answers,) = [message for message in wire.received if isinstance(message, list)]
    assert sorted(answer["id"] for answer in answers) == ["a", "b"]
