"""Streamable HTTP of 2026-07-28: headers that repeat the body, statuses, streams, and cancelling by going away."""

# mypy: disable-error-code="no-any-return, arg-type, truthy-bool, var-annotated"
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.http_requests import (
    Events,
    ask,
    ask_soon,
    call,
    get,
    modern,
    modern_call,
    modern_headers,
    open_session,
    post,
    request,
    send,
    start,
)
from tests.judge import META, MODERN

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http_link import HttpResponse
    from tests.http_requests import Headers, Message
    from tests.in_process_http import InProcessHttp

    Serve = Callable[..., InProcessHttp]

MISMATCH = (400, -32020)


@pytest.fixture
def port(serve: Serve) -> int:
    port: int = serve("conformance", "sum").port
    return port


def outcome(reply: HttpResponse) -> tuple[int, int]:
    """Status, and the code of the error; 0 for a result."""
    return reply.status, reply.json().get("error", {}).get("code", 0)


def counts(port: int) -> str:
    said: str = ask(port, modern_call("test_counts")).json()["result"]["content"][0]["text"]
    return said


# -- headers


@pytest.mark.requirement("http:mirrored")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, (200, 0)),
        ({"Mcp-Method": ""}, MISMATCH),
        ({"Mcp-Method": "tools/list"}, MISMATCH),
        ({"Mcp-Method": "TOOLS/CALL"}, MISMATCH),
        ({"Mcp-Method": "=?base64?dG9vbHMvY2FsbA==?="}, MISMATCH),
        ({"Mcp-Name": ""}, MISMATCH),
        ({"Mcp-Name": "SUM"}, MISMATCH),
        ({"Mcp-Name": "other"}, MISMATCH),
        ({"Mcp-Name": "=?base64?c3Vt?="}, (200, 0)),
        ({"Mcp-Name": "=?BASE64?c3Vt?="}, MISMATCH),
        ({"Mcp-Name": "=?base64?c3Vt"}, MISMATCH),
        ({"Mcp-Name": "=?base64?c3V?="}, MISMATCH),
        ({"Mcp-Name": "=?base64?c3Vu?="}, MISMATCH),
        ({"Mcp-Name": "sum, sum"}, MISMATCH),
        ({"MCP-Protocol-Version": ""}, MISMATCH),
        ({"MCP-Protocol-Version": "2025-11-25"}, MISMATCH),
        ({"MCP-Protocol-Version": "2099-01-01"}, MISMATCH),
        ({"Mcp-Session-Id": "whatever"}, (200, 0)),
        ({"Mcp-Param-Region": "north"}, (200, 0)),
        ({"Last-Event-ID": "1-1"}, (200, 0)),
    ],
    ids=str,
)
def test_header_says_what_the_body_says_or_the_request_is_refused(
    port: int, headers: Headers, expected: tuple[int, int]
) -> None:
    assert outcome(ask(port, modern_call("sum", {"a": 3, "b": 4}, "id"), headers)) == expected


@pytest.mark.requirement("http:mirrored")
def test_refusal_carries_the_id_and_says_which_header(port: int) -> None:
    error = ask(port, modern_call("sum", {"a": 3, "b": 4}, "mine"), {"Mcp-Name": "other"}).json()
    assert error["id"] == "mine"
    assert error["error"]["message"] == "Header mismatch: Mcp-Name says 'other', the body says 'sum'"


@pytest.mark.requirement("http:mirrored")
@pytest.mark.parametrize("header", ["Mcp-Method: tools/call", "Mcp-Name: sum", f"MCP-Protocol-Version: {MODERN}"])
def test_header_that_stands_there_twice_is_refused_though_it_says_the_same(port: int, header: str) -> None:
    message = modern_call("sum", {"a": 3, "b": 4})
    name, _, value = header.partition(": ")
    assert outcome(ask(port, message, {name.upper(): value})) == MISMATCH


@pytest.mark.requirement("http:mirrored")
@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("prompts/get", {"name": "test_simple_prompt"}, "test_simple_prompt"),
        ("resources/read", {"uri": "test://static-text"}, "test://static-text"),
    ],
)
def test_prompts_and_resources_are_named_in_a_header_too(port: int, method: str, params: Message, name: str) -> None:
    message = modern(method, params)
    assert outcome(ask(port, message)) == (200, 0)
    assert outcome(ask(port, message, {"Mcp-Name": ""})) == MISMATCH
    assert outcome(ask(port, message, {"Mcp-Name": name + "x"})) == MISMATCH


@pytest.mark.requirement("http:mirrored")
def test_name_that_no_header_can_carry_comes_in_base64(port: int) -> None:
    message = modern("resources/read", {"uri": "test://žluť 😀"})
    assert modern_headers(message)["Mcp-Name"].startswith("=?base64?")
    assert outcome(ask(port, message)) == (400, -32602)  # nothing is called so
    assert outcome(ask(port, message, {"Mcp-Name": "test://?"})) == MISMATCH


@pytest.mark.requirement("http:mirrored")
def test_name_in_the_header_alone_is_refused(port: int) -> None:
    assert outcome(ask(port, modern("tools/call", {}), {"Mcp-Name": "sum"})) == MISMATCH
    assert outcome(ask(port, modern("tools/call", {"name": 7}), {"Mcp-Name": "7"})) == MISMATCH
    assert outcome(ask(port, modern("tools/call", {"name": 7}))) == (400, -32602)


@pytest.mark.requirement("http:param-headers")
@pytest.mark.parametrize(
    ("arguments", "header", "expected"),
    [
        ({"region": "north"}, "north", (200, 0)),
        ({"region": "north"}, "", MISMATCH),
        ({"region": "north"}, "south", MISMATCH),
        ({"region": "north"}, "North", MISMATCH),
        ({"region": "žluť"}, "=?base64?xb5sdcWl?=", (200, 0)),
        ({"region": "Hello"}, "=?base64?SGVsbG8=?=", (200, 0)),
        ({"region": "Hello"}, "=?base64?SGVsbG8?=", MISMATCH),
        ({"region": "Hello"}, "=?base64?SGVs!!!bG8=?=", MISMATCH),
        ({"region": "Hello"}, "=?base64?SGVsbG9=?=", MISMATCH),
        ({"region": "Hello"}, "=?base64?/w==?=", MISMATCH),
        ({"region": "SGVsbG8="}, "SGVsbG8=", (200, 0)),
        ({"region": "=?base64?literal?="}, "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", (200, 0)),
        ({"region": "=?base64?literal?="}, "=?base64?literal?=", MISMATCH),
        ({}, "north", MISMATCH),
        ({"region": None}, "", (200, 0)),
        ({"region": 5}, "5", (200, 0)),
        ('{"region": "north"}', "north", (200, 0)),
        ('{"region": "north"}', "south", MISMATCH),
        ('{"region": "north"}', "", MISMATCH),
        ("[", "north", MISMATCH),
    ],
    ids=str,
)
def test_parameter_with_a_header_of_its_own_stands_in_both(
    port: int, arguments: Any, header: str, expected: tuple[int, int]
) -> None:
    message = modern("tools/call", {"name": "test_header_parameter", "arguments": arguments})
    assert outcome(ask(port, message, {"mcp-param-region": header})) == expected


@pytest.mark.requirement("http:param-headers")
def test_numbers_are_compared_as_numbers_and_booleans_by_their_words() -> None:
    from scorpio.transports.http.mirrored import _says

    same = [("42", 42), ("42.0", 42), ("-7", -7), ("4.2e1", 42), ("true", True), ("false", False)]
    assert all(_says(said, value) for said, value in same)
    other = [
        ("42", 43),
        ("1_0", 10),
        ("True", True),
        ("1", True),
        ("٤٢", 42),
        ("nan", 1),
        ("inf", 1),
        ("", 0),
        ("9" * 5000, 1),
    ]
    assert not any(_says(said, value) for said, value in other)


@pytest.mark.requirement("http:param-headers")
def test_header_of_a_nested_parameter_is_found_and_of_an_unreachable_one_is_not() -> None:
    from scorpio.transports.http.mirrored import _declared

    inner = {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}}
    schema = {"properties": {"place": inner, "many": {"type": "array", "items": inner}}, "$defs": {"place": inner}}
    assert _declared(schema, ()) == [(b"mcp-param-city", ("place", "city"))]


# -- statuses


@pytest.mark.requirement("http:modern-status")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (modern("nothing/here"), (404, -32601)),
        (modern("initialize"), (404, -32601)),
        (modern("ping"), (404, -32601)),
        (modern("logging/setLevel"), (404, -32601)),
        (modern_call("nope"), (400, -32602)),
        (modern("resources/read", {"uri": "test://nothing"}), (400, -32602)),
        (modern_call("test_missing_capability"), (400, -32021)),
        (modern_call("test_unexpected_exception", {"kind": "exception"}), (200, -32603)),
        (modern_call("test_unexpected_exception_slow", {"kind": "exception"}), (200, -32603)),
        (modern_call("test_error_handling"), (200, 0)),
        (modern_call("test_slow", {"ms": -1}), (200, 0)),
    ],
    ids=lambda value: value["method"] if isinstance(value, dict) else "",
)
def test_error_has_the_status_that_the_specification_gives_it(
    serve: Serve, message: Message, expected: tuple[int, int]
) -> None:
    server = serve()
    assert outcome(ask(server.port, message)) == expected
    server.stop()
    server.wait(30)
    server.stderr_path.write_text("")  # the traceback of the bug that this asks for


@pytest.mark.requirement("http:modern-status")
def test_revision_is_told_by_the_body_and_the_header_together(port: int) -> None:
    def said(version: object, header: str) -> tuple[int, int]:
        meta = {META + "protocolVersion": version, META + "clientCapabilities": {}}
        message = request("server/discover", {} if version is None else {"_meta": meta})
        return outcome(post(port, message, {"MCP-Protocol-Version": header, "Mcp-Method": "server/discover"}))

    assert said(MODERN, MODERN) == (200, 0)
    assert said(None, MODERN) == (400, -32602)
    assert said("v999", "v999") == (400, -32022)
    assert said(None, "v999") == (400, -32022)
    assert said("2025-11-25", "2025-11-25") == (400, -32022)
    assert said(7, MODERN) == (400, -32602)
    assert said(MODERN, "v999") == MISMATCH
    assert said(None, "2025-11-25") == (400, -32002)  # a legacy request without its session


@pytest.mark.requirement("http:modern-status")
def test_unknown_revision_is_answered_with_those_that_are_known(port: int) -> None:
    message = modern("server/discover", **{META + "protocolVersion": "2099-01-01"})
    error = ask(port, message, {"MCP-Protocol-Version": "2099-01-01"}).json()["error"]
    assert error["data"]["requested"] == "2099-01-01"
    assert MODERN in error["data"]["supported"]


@pytest.mark.requirement("http:modern-methods")
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_modern_client_may_only_post(port: int, method: str) -> None:
    reply = send(port, method, "/mcp", {"MCP-Protocol-Version": MODERN, "Accept": "text/event-stream"}).wait()
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


@pytest.mark.requirement("http:modern-methods")
def test_modern_notification_is_taken_and_changes_nothing(port: int) -> None:
    slow = ask_soon(port, modern_call("test_slow", {"ms": 60_000}, "victim"))
    while counts(port) == "started 0, finished 0, cancelled 0":
        pass
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "victim"}}
    reply = post(port, told, {"MCP-Protocol-Version": MODERN})
    assert (reply.status, reply.body) == (202, b"")
    assert counts(port) == "started 1, finished 0, cancelled 0"
    slow.close()


@pytest.mark.requirement("http:modern-methods")
@pytest.mark.parametrize("body", [[], [modern("server/discover")], {"jsonrpc": "2.0", "id": 1, "result": {}}])
def test_modern_body_is_one_request_or_notification(port: int, body: object) -> None:
    assert outcome(post(port, body, {"MCP-Protocol-Version": MODERN})) == (400, -32600)


# -- answers and streams


@pytest.mark.requirement("http:json-or-events")
def test_answer_is_json_unless_something_comes_before_it(port: int) -> None:
    assert ask(port, modern_call("test_slow", {"ms": 20})).kind == "application/json"
    quiet = modern_call("test_tool_with_logging")
    assert ask(port, quiet).kind == "application/json"
    telling = modern_call("test_tool_with_logging", **{META + "logLevel": "info"})
    stream = Events(port, "/mcp", modern_headers(telling), _body(telling), "POST")
    messages = stream.rest()
    assert [message.get("method", "answer") for message in messages] == ["notifications/message"] * 3 + ["answer"]
    assert stream.response.kind == "text/event-stream"
    assert stream.response.whole


@pytest.mark.requirement("http:json-or-events")
def test_client_without_events_gets_the_answer_alone(port: int) -> None:
    message = modern_call("test_slow", {"ms": 20, "steps": 2}, progressToken="p")
    reply = ask(port, message, {"Accept": "application/json"})
    assert (reply.kind, reply.json()["result"]["isError"]) == ("application/json", False)
    refused = ask(port, modern("subscriptions/listen", {"notifications": {}}), {"Accept": "application/json"})
    assert outcome(refused) == (400, -32600)


@pytest.mark.requirement("http:json-or-events")
def test_error_after_a_message_is_an_event(port: int) -> None:
    message = modern_call("test_streaming_elicitation", {}, progressToken="p")
    told = Events(port, "/mcp", modern_headers(message), _body(message), "POST").rest()
    assert told[-1]["error"]["code"] == -32021


@pytest.mark.requirement("http:same-ids")
def test_same_id_of_two_clients_is_two_requests(port: int) -> None:
    both = [ask_soon(port, modern_call("test_slow", {"ms": ms}, 1)) for ms in (60, 40)]
    said = [reply.wait().json()["result"]["content"][0]["text"] for reply in both]
    assert said == ["Slept for 60 ms.", "Slept for 40 ms."]


@pytest.mark.requirement("http:disconnect-cancels")
@pytest.mark.parametrize("token", [{}, {"progressToken": "p"}], ids=["waiting for JSON", "on a stream"])
def test_client_that_goes_away_cancels_its_call(port: int, token: Message) -> None:
    reply = ask_soon(port, modern_call("test_slow", {"ms": 60_000, "steps": 1000}, **token))
    if token:
        while not reply.body and not reply.headers:
            reply.read()
    while counts(port) == "started 0, finished 0, cancelled 0":
        pass
    reply.close()
    while counts(port) != "started 1, finished 0, cancelled 1":
        pass


@pytest.mark.requirement("http:listen")
def test_listen_stream_is_acknowledged_first_and_hears_only_what_it_asked(port: int) -> None:
    wanted = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["test://watched-resource"]}}
    message = modern("subscriptions/listen", wanted, "L")
    stream = Events(port, "/mcp", modern_headers(message), _body(message), "POST")
    first = stream.message()
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"] == {**wanted, "_meta": {META + "subscriptionId": "L"}}
    ask(port, modern_call("test_trigger_prompt_change"))
    ask(port, modern_call("test_trigger_resource_change", {"uri": "test://static-text"}))
    ask(port, modern_call("test_trigger_resource_change", {"uri": "test://watched-resource"}))
    ask(port, modern_call("test_trigger_tool_change"))
    assert [stream.message()["method"] for _ in range(2)] == [
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ]
    stream.close()


@pytest.mark.requirement("http:listen")
def test_listen_stream_ends_with_its_result_when_the_server_does(serve: Serve) -> None:
    server = serve()
    message = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, "L")
    stream = Events(server.port, "/mcp", modern_headers(message), _body(message), "POST")
    stream.message()
    server.stop()
    assert [m["id"] for m in stream.rest()] == ["L"]
    assert stream.response.whole


@pytest.mark.requirement("http:keep-alive")
def test_silent_stream_is_kept_alive_by_comments(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    from scorpio.transports.http import exchange

    monkeypatch.setattr(exchange, "HTTP_KEEP_ALIVE_S", 0.1)
    port = serve().port
    message = modern("subscriptions/listen", {"notifications": {}})
    stream = Events(port, "/mcp", modern_headers(message), _body(message), "POST")
    stream.message()
    assert stream.comment() == b": "
    stream.close()
    silent = modern_call("test_slow", {"ms": 2500})
    waited = Events(port, "/mcp", modern_headers(silent), _body(silent), "POST")
    assert waited.comment() == b": "
    assert waited.message()["result"]["isError"] is False


@pytest.mark.requirement("http:listen")
def test_modern_and_legacy_clients_are_told_of_a_change_each_in_their_way(port: int) -> None:
    session = open_session(port)
    legacy = Events(port, "/mcp", session)
    message = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, "L")
    stream = Events(port, "/mcp", modern_headers(message), _body(message), "POST")
    stream.message()
    post(port, call("test_trigger_tool_change"), session)
    assert legacy.message()["method"] == "notifications/tools/list_changed"
    assert stream.message()["params"] == {"_meta": {META + "subscriptionId": "L"}}
    for each in (legacy, stream):
        each.close()


@pytest.mark.requirement("http:sessionless")
def test_method_of_a_toolset_needs_no_session(port: int) -> None:
    assert start(port, request("test/slow", {"ms": 1}, "x")).wait().json()["result"]["content"][0]["type"] == "text"
    assert outcome(post(port, request("tools/list"))) == (400, -32002)
    assert get(port, "/mcp", {"Accept": "text/event-stream"}).status == 400


def _body(message: Message) -> bytes:
    return json.dumps(message).encode()
