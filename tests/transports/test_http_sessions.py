"""Streamable HTTP of the legacy era: sessions, streams that can be resumed, and what a client that leaves leaves."""

# mypy: disable-error-code="no-any-return, arg-type, truthy-bool, var-annotated"
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.http_requests import JSON, Events, call, get, open_session, post, request, send, start
from tests.judge import LEGACY

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http_requests import Headers, Message
    from tests.in_process_http import InProcessHttp

    Serve = Callable[..., InProcessHttp]

PRIMING, NEWER = "2025-11-25", {"MCP-Protocol-Version": "2025-11-25"}
WATCHED = "test://watched-resource"


@pytest.fixture
def port(serve: Serve) -> int:
    port: int = serve("conformance", "sum").port
    return port


def stream(port: int, session: Headers, last: str = "") -> Events:
    """The stream that listens, or the one that an event belongs to."""
    return Events(port, "/mcp", {**session, **({"Last-Event-ID": last} if last else {})})


def calling(port: int, session: Headers, message: Message) -> Events:
    return Events(port, "/mcp", session, json.dumps(message).encode(), "POST")


def counts(port: int, session: Headers) -> str:
    said: str = post(port, call("test_counts"), session).json()["result"]["content"][0]["text"]
    return said


def change(port: int, session: Headers, uri: str = WATCHED) -> None:
    assert post(port, call("test_trigger_resource_change", {"uri": uri}), session).status == 200


# -- ids


@pytest.mark.requirement("http:session-id")
def test_session_ids_are_long_visible_and_never_the_same(port: int) -> None:
    ids = {open_session(port)["Mcp-Session-Id"] for _ in range(20)}
    assert len(ids) == 20
    assert all(len(id_) >= 43 and id_.isascii() and id_.isprintable() and " " not in id_ for id_ in ids)


@pytest.mark.requirement("http:session-id")
def test_request_without_a_session_is_bad_and_with_an_unknown_one_not_found(port: int) -> None:
    for message in (request("tools/list"), request("ping"), {"jsonrpc": "2.0", "method": "notifications/initialized"}):
        assert post(port, message).status == 400
        assert post(port, message, {"Mcp-Session-Id": "deadbeef"}).status == 404
    assert post(port, request("initialize", {}), {"Mcp-Session-Id": "deadbeef"}).status == 404
    for method in ("GET", "DELETE"):
        accept = {"Accept": "text/event-stream"}
        assert send(port, method, "/mcp", accept).wait().status == 400
        assert send(port, method, "/mcp", {**accept, "Mcp-Session-Id": "deadbeef"}).wait().status == 404


@pytest.mark.requirement("http:session-id")
@pytest.mark.parametrize("id_", ["x" * 10_000, "%00", "../../etc", "a b"])
def test_id_of_any_other_form_is_unknown_too(port: int, id_: str) -> None:
    assert post(port, request("ping"), {"Mcp-Session-Id": id_}).status == 404


@pytest.mark.requirement("http:session-id")
def test_initialize_that_fails_makes_no_session(port: int) -> None:
    for params in ({}, {"protocolVersion": 7}, {"protocolVersion": "2025-11-25", "capabilities": []}):
        reply = post(port, request("initialize", params))
        assert reply.json()["error"]["code"] == -32602
        assert "mcp-session-id" not in reply.headers


@pytest.mark.requirement("http:session-version")
@pytest.mark.parametrize("agreed", LEGACY)
def test_session_speaks_what_it_agreed_on_with_and_without_the_header(port: int, agreed: str) -> None:
    session = open_session(port, agreed)
    del session["MCP-Protocol-Version"]
    for header in ("", agreed, "2025-03-26"):
        tools = post(port, request("tools/list"), {**session, "MCP-Protocol-Version": header}).json()["result"]["tools"]
        assert ("title" in tools[0]) == (agreed in ("2025-06-18", "2025-11-25"))
    assert post(port, request("tools/list"), {**session, "MCP-Protocol-Version": "1999-01-01"}).status == 400


@pytest.mark.requirement("http:session-version")
@pytest.mark.parametrize("asked", ["2026-07-28", "2099-01-01", "x"])
def test_initialize_for_what_has_no_sessions_is_answered_with_the_newest_that_has(port: int, asked: str) -> None:
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    reply = post(port, request("initialize", params))
    assert reply.json()["result"]["protocolVersion"] == "2025-11-25"
    assert "mcp-session-id" in reply.headers


@pytest.mark.requirement("http:session-end")
def test_deleted_session_is_gone_with_its_calls_and_streams(port: int) -> None:
    session, other = open_session(port), open_session(port)
    listening, waiting = stream(port, session), start(port, call("test_slow", {"ms": 60_000}), session)
    while counts(port, other) == "started 0, finished 0, cancelled 0":
        pass
    assert send(port, "DELETE", "/mcp", session).wait().status == 204
    assert [m for m in listening.rest() if "method" in m] == []
    assert listening.response.whole
    waiting.wait()
    assert counts(port, other) == "started 1, finished 0, cancelled 1"
    for method, body in (("POST", b'{"jsonrpc":"2.0","id":1,"method":"ping"}'), ("GET", b""), ("DELETE", b"")):
        headers = {**session, **(JSON if body else {"Accept": "text/event-stream"})}
        assert send(port, method, "/mcp", headers, body).wait().status == 404


@pytest.mark.requirement("http:session-end")
def test_shutdown_and_exit_end_the_session_and_not_the_server(port: int) -> None:
    first, second = open_session(port), open_session(port)
    assert post(port, request("shutdown"), first).json()["result"] is None
    assert post(port, {"jsonrpc": "2.0", "method": "exit"}, second).status == 202
    for session in (first, second):
        assert post(port, request("ping"), session).status == 404
    assert open_session(port)


@pytest.mark.requirement("http:session-end")
def test_session_that_nobody_uses_ends_and_one_with_a_stream_or_a_call_does_not(serve: Serve) -> None:
    server = serve()
    idle, listening, busy = (open_session(server.port) for _ in range(3))
    held = stream(server.port, listening)
    held.next()
    waiting = start(server.port, call("test_slow", {"ms": 60_000}), busy)
    while counts(server.port, listening) == "started 0, finished 0, cancelled 0":
        pass
    sessions = server.http.site.legacy.sessions
    server.in_loop(lambda: sessions.look(server.loop.time() + 1799))
    assert post(server.port, request("ping"), idle).status == 200
    server.in_loop(lambda: sessions.look(server.loop.time() + 1801))
    assert post(server.port, request("ping"), idle).status == 404
    assert [post(server.port, request("ping", id_=2), session).status for session in (listening, busy)] == [200, 200]
    for each in (held, waiting):
        each.close()


@pytest.mark.requirement("http:session-bound")
def test_session_beyond_the_bound_takes_the_place_of_one_that_is_not_used_or_must_wait(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scorpio.transports.http import sessions

    monkeypatch.setattr(sessions, "HTTP_SESSIONS_MAX", 3)
    port = serve().port
    held = [open_session(port) for _ in range(3)]
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    refused = post(port, request("initialize", params))
    assert (refused.status, refused.headers["retry-after"]) == (503, "60")
    monkeypatch.setattr(sessions, "HTTP_SESSION_SPARE_S", 0.0)
    assert post(port, request("ping"), held[0]).status == 200  # so the second is the one not used for longest
    assert post(port, request("initialize", params)).status == 200
    assert [post(port, request("ping"), session).status for session in held] == [200, 404, 200]


# -- what is whose


@pytest.mark.requirement("http:isolation")
def test_each_session_has_its_own_subscriptions_log_level_and_ids(port: int) -> None:
    one, other = open_session(port), open_session(port)
    streams = stream(port, one), stream(port, other)
    post(port, request("resources/subscribe", {"uri": WATCHED}), one)
    post(port, request("logging/setLevel", {"level": "emergency"}), one)
    change(port, other)
    change(port, other, "test://static-text")
    post(port, call("test_trigger_tool_change"), other)
    assert [streams[0].message()["method"] for _ in range(2)] == [
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ]
    assert streams[1].message()["method"] == "notifications/tools/list_changed"
    logged = [len(calling(port, session, call("test_logging_tool")).rest()) for session in (one, other)]
    assert logged == [2, 8]  # emergency alone, or from info on; and the answer
    slow = [start(port, call("test_slow", {"ms": 30}, "same"), session) for session in (one, other)]
    assert [reply.wait().status for reply in slow] == [200, 200]
    for each in streams:
        each.close()


@pytest.mark.requirement("http:isolation")
def test_cancel_reaches_the_calls_of_its_own_session_only(port: int) -> None:
    one, other = open_session(port), open_session(port)
    slow = start(port, call("test_slow", {"ms": 60_000}, "id"), one)
    while counts(port, other) == "started 0, finished 0, cancelled 0":
        pass
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "id"}}
    assert post(port, told, other).status == 202
    assert counts(port, other) == "started 1, finished 0, cancelled 0"
    assert post(port, told, one).status == 202
    assert slow.wait().status in (200, 202)
    assert counts(port, other) == "started 1, finished 0, cancelled 1"


@pytest.mark.requirement("http:isolation")
def test_answer_of_another_session_answers_no_question(port: int) -> None:
    able: Message = {"elicitation": {}}
    one, other = open_session(port, capabilities=able), open_session(port, capabilities=able)
    asking = calling(port, one, call("test_elicitation", {"message": "Who?"}))
    question = asking.message()
    given = {"action": "accept", "content": {"username": "eve", "email": "e@e"}}
    answer = {"jsonrpc": "2.0", "id": question["id"], "result": given}
    assert post(port, answer, other).status == 202
    answer["result"] = {"action": "decline"}
    assert post(port, answer, one).status == 202
    assert "decline" in asking.message()["result"]["content"][0]["text"]


# -- JSON or a stream


@pytest.mark.requirement("http:json-or-events")
def test_legacy_answer_is_json_unless_something_comes_before_it(port: int) -> None:
    session = open_session(port)
    assert post(port, call("test_slow", {"ms": 10}), session).kind == "application/json"
    logged = calling(port, session, call("test_tool_with_logging"))
    assert [m.get("method", "answer") for m in logged.rest()] == ["notifications/message"] * 3 + ["answer"]
    silent = calling(port, session, call("sum", {"a": 1, "b": 2}))
    assert silent.response.wait().json()["result"]["content"][0]["text"] == "1 + 2 = 3"
    message = call("sum", {"a": 1, "b": 2})
    forced = calling(port, {**session, "Accept": "text/event-stream"}, message)
    assert forced.message()["result"]["content"][0]["text"] == "1 + 2 = 3"


@pytest.mark.requirement("http:json-or-events")
def test_question_of_a_call_without_events_comes_on_the_stream_that_listens(port: int) -> None:
    session = open_session(port, capabilities={"elicitation": {}})
    listening = stream(port, session)
    plain = {**session, "Accept": "application/json"}
    waiting = start(port, call("test_elicitation", {"message": "Who?"}), plain)
    question = listening.message()
    assert question["method"] == "elicitation/create"
    post(port, {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}, session)
    assert "decline" in waiting.wait().json()["result"]["content"][0]["text"]
    listening.close()


@pytest.mark.requirement("http:json-or-events")
def test_cancelled_request_ends_without_an_answer(port: int) -> None:
    session = open_session(port, "2025-06-18")
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "id"}}
    waiting = start(port, call("test_slow", {"ms": 60_000}, "id"), session)
    while counts(port, session) == "started 0, finished 0, cancelled 0":
        pass
    assert post(port, told, session).status == 202
    assert (waiting.wait().status, waiting.body) == (202, b"")
    streaming = calling(port, session, call("test_slow", {"ms": 60_000, "steps": 1000}, "id", progressToken="p"))
    streaming.message()
    post(port, told, session)
    assert [m for m in streaming.rest() if "method" not in m] == []
    assert streaming.response.whole


# -- streams that can be resumed


@pytest.mark.requirement("http:priming")
@pytest.mark.parametrize("agreed", LEGACY)
def test_stream_begins_with_an_event_to_come_back_with_where_the_revision_has_it(port: int, agreed: str) -> None:
    session = open_session(port, agreed)
    post(port, request("resources/subscribe", {"uri": WATCHED}), session)
    listening = stream(port, session)
    change(port, session)
    first = listening.next()
    if agreed == PRIMING:
        assert (first["data"], int(first["retry"]) > 0, first["id"]) == ("", True, "0-0")
    else:
        assert json.loads(first["data"])["method"] == "notifications/resources/updated"
    listening.close()
    slow = start(port, call("test_slow", {"ms": 400}), session).wait()
    assert slow.kind == ("text/event-stream" if agreed == PRIMING else "application/json")


@pytest.mark.requirement("http:resume")
def test_client_that_comes_back_gets_what_it_missed_and_nothing_twice(port: int) -> None:
    session = open_session(port)
    post(port, request("resources/subscribe", {"uri": WATCHED}), session)
    listening = stream(port, session)
    change(port, session)
    seen = listening.message()["event"]
    listening.close()
    for _ in range(3):
        change(port, session)
    back = stream(port, session, seen)
    events = [back.message()["event"] for _ in range(3)]
    assert len({seen, *events}) == 4
    change(port, session)
    assert back.message()["event"] not in events
    back.close()
    again = stream(port, session, events[0])  # an id may be used twice
    assert [again.message()["event"] for _ in range(2)] == events[1:]
    again.close()


@pytest.mark.requirement("http:resume")
def test_what_happens_before_a_client_listens_waits_for_it(port: int) -> None:
    session = open_session(port)
    post(port, request("resources/subscribe", {"uri": WATCHED}), session)
    change(port, session)
    change(port, session)
    listening = stream(port, session)
    assert [listening.message()["event"] for _ in range(2)] == ["0-1", "0-2"]
    listening.close()
    newly = stream(port, session)  # without an id: what it had is not sent again
    change(port, session)
    assert newly.message()["event"] == "0-3"
    newly.close()


@pytest.mark.requirement("http:disconnect-goes-on")
def test_call_goes_on_without_its_client_and_is_answered_when_it_comes_back(port: int) -> None:
    session = open_session(port)
    calling_ = calling(port, session, call("test_slow", {"ms": 400, "steps": 4}, "id", progressToken="p"))
    seen = calling_.message()["event"]
    calling_.close()
    while counts(port, session) != "started 1, finished 1, cancelled 0":
        pass
    back = stream(port, session, seen).rest()
    assert [message.get("id") for message in back][-1] == "id"
    assert back[-1]["result"]["isError"] is False
    assert stream(port, session, seen).rest() == back


@pytest.mark.requirement("http:disconnect-goes-on")
def test_quiet_call_can_be_resumed_too(port: int) -> None:
    session = open_session(port)
    quiet = calling(port, session, call("test_slow", {"ms": 400}, "id"))
    primed = quiet.next()
    assert primed["data"] == ""
    quiet.close()
    assert stream(port, session, primed["id"]).message()["id"] == "id"


@pytest.mark.requirement("http:disconnect-goes-on")
def test_question_to_a_client_that_was_away_is_asked_when_it_is_back(port: int) -> None:
    session = open_session(port, capabilities={"elicitation": {}})
    asking = calling(port, session, call("test_elicitation", {"message": "Who?"}, "id"))
    asked = asking.message()
    asking.close()
    back = stream(port, session, "1-0")
    assert back.message()["id"] == asked["id"]
    post(port, {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "cancel"}}, session)
    assert back.message()["id"] == "id"


@pytest.mark.requirement("http:resume")
def test_call_that_lets_go_is_answered_to_who_comes_back(port: int) -> None:
    session = open_session(port)
    let_go = calling(port, session, call("test_reconnection", None, "id"))
    primed = let_go.next()
    assert let_go.rest() == []
    assert let_go.response.whole
    assert stream(port, session, primed["id"]).message()["id"] == "id"
    older = open_session(port, "2025-06-18")
    assert post(port, call("test_reconnection", None, "id"), older).json()["id"] == "id"


@pytest.mark.requirement("http:resume")
@pytest.mark.parametrize("last", ["0-1", "1-9", "7-0", "x", "-1", "1-", "--", "9" * 50 + "-1", "1-0-0"])
def test_event_that_never_was_is_no_way_to_come_back(port: int, last: str) -> None:
    session = open_session(port)
    assert post(port, call("test_slow", {"ms": 400}), session).kind == "text/event-stream"
    reply = get(port, "/mcp", {**session, "Accept": "text/event-stream", "Last-Event-ID": last})
    assert reply.status == 400


@pytest.mark.requirement("http:isolation")
def test_event_of_another_session_is_none_of_this_one(port: int) -> None:
    one, other = open_session(port), open_session(port)
    assert post(port, call("test_slow", {"ms": 400}, "mine"), one).kind == "text/event-stream"
    reply = get(port, "/mcp", {**other, "Accept": "text/event-stream", "Last-Event-ID": "1-0"})
    assert reply.status == 400
    assert b"mine" not in reply.body


@pytest.mark.requirement("http:one-stream")
def test_second_stream_that_listens_takes_the_place_of_the_first(port: int) -> None:
    session = open_session(port)
    post(port, request("resources/subscribe", {"uri": WATCHED}), session)
    first = stream(port, session)
    first.next()
    second = stream(port, session)
    second.next()
    assert first.rest() == []
    change(port, session)
    assert second.message()["method"] == "notifications/resources/updated"
    second.close()


@pytest.mark.requirement("http:events-bound")
def test_events_that_are_kept_are_the_newest_ones(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    from scorpio.transports.http import streams

    monkeypatch.setattr(streams, "HTTP_EVENTS_MAX", 5)
    port = serve().port
    session = open_session(port)
    post(port, request("resources/subscribe", {"uri": WATCHED}), session)
    for _ in range(12):
        change(port, session)
    listening = stream(port, session, "0-2")
    assert [listening.message()["event"] for _ in range(5)] == [f"0-{number}" for number in range(8, 13)]
    listening.close()


@pytest.mark.requirement("http:events-bound")
def test_events_are_bounded_in_bytes_of_a_session_and_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    from scorpio.transports.http import streams

    monkeypatch.setattr(streams, "HTTP_EVENTS_BYTES_MAX", 1000)
    store = streams.EventStore(total_bytes_max=2500)
    sessions = [store.opened() for _ in range(5)]
    general = [session.new() for session in sessions]
    for _ in range(50):
        for each in general:
            each.send(b"x" * 200 + b"\n")
    assert all(session.bytes <= 1000 for session in sessions)
    assert store.bytes == sum(session.bytes for session in sessions) <= 2500
    for session in sessions[2:]:
        session.close()
    general[0].send(b"y" * 2000 + b"\n")
    assert 2000 < sessions[0].bytes <= 2500  # the newest is kept, where there is room for it at all
    call_ = sessions[1].new()
    call_.send(b"answer\n")
    call_.end()
    assert sessions[1].find(call_.number) is call_
    for _ in range(20):
        general[1].send(b"x" * 200 + b"\n")
    assert sessions[1].find(call_.number) is None
    for session in sessions[:2]:
        session.close()
    assert store.bytes == 0


# -- batches


@pytest.mark.requirement("http:batches")
def test_batch_is_answered_together_and_one_that_was_cancelled_is_left_out(port: int) -> None:
    session = open_session(port, "2025-03-26")
    batch = [call("test_slow", {"ms": 20}, "a"), call("test_slow", {"ms": 60_000}, "gone"), request("ping", id_="b")]
    waiting = start(port, batch, session)
    while counts(port, session) != "started 2, finished 1, cancelled 0":
        pass
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "gone"}}
    assert post(port, told, session).status == 202
    assert {answer["id"] for answer in waiting.wait().json()} == {"a", "b"}
    alone = start(port, [call("test_slow", {"ms": 60_000}, "gone")], session)
    while counts(port, session) != "started 3, finished 1, cancelled 1":
        pass
    post(port, told, session)
    assert (alone.wait().status, alone.body) == (202, b"")


@pytest.mark.requirement("http:batches")
def test_batch_of_notifications_is_taken_and_one_elsewhere_is_not(port: int) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/unknown"}
    assert post(port, [note, note], open_session(port, "2025-03-26")).status == 202
    for revision in ("2024-11-05", "2025-06-18", "2025-11-25"):
        reply = post(port, [request("ping")], open_session(port, revision))
        assert (reply.status, reply.json()["error"]["code"]) == (400, -32600)
    assert post(port, [request("ping")]).status == 400
    assert post(port, [], open_session(port, "2025-03-26")).status == 400
