"""tools/call: one answer each, whatever happens, and none of it in the way of anything else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.wire import MODERN

if TYPE_CHECKING:
    from tests.wire import Connect

IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""

LONG_MS = 600_000
"""A call that ends only when it is told to."""


@pytest.mark.requirement("calls:every-revision")
def test_tool_is_listed_and_called_in_every_revision(connect: Connect) -> None:
    wire = connect("sum")
    assert [tool["name"] for tool in wire.result("tools/list")["tools"]] == ["sum"]
    assert wire.text("sum", {"a": 3, "b": 4}) == "3 + 4 = 7"
    assert wire.close() == 0


@pytest.mark.requirement("calls:concurrent")
def test_slow_call_delays_neither_list_nor_quick_call(connect: Connect) -> None:
    wire = connect()
    slow = wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": LONG_MS}})
    assert wire.result("tools/list")["tools"]
    assert wire.text("test_simple_text") == "This is a simple text response for testing."
    assert wire.answers_to(slow) == []
    wire.cancel(slow)


@pytest.mark.requirement("calls:overtake")
def test_quicker_of_two_slow_calls_is_answered_first(connect: Connect) -> None:
    wire = connect()
    long = wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": LONG_MS}})
    short = wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": 1}})
    assert wire.answer(short)["result"]["content"][0]["text"] == "Slept for 1 ms."
    assert wire.answers_to(long) == []
    wire.cancel(long)


@pytest.mark.requirement("calls:exactly-once")
def test_every_one_of_many_calls_is_answered_exactly_once(connect: Connect) -> None:
    wire = connect()
    ids = [wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": n % 7}}) for n in range(100)]
    for id_ in ids:
        wire.answer(id_)
    wire.settle()
    assert [len(wire.answers_to(id_)) for id_ in ids] == [1] * 100


@pytest.mark.requirement("ids:echoed-with-type")
@pytest.mark.parametrize(
    "id_", [0, -1, 2**53, 2**63 - 1, 2**63, 10**40, "", "1", "a b", 'quote " \\ and \n', "žluť 😀"]
)
def test_id_comes_back_as_it_was_sent(connect: Connect, id_: int | str) -> None:
    wire = connect()
    answer = wire.request("tools/call", {"name": "test_simple_text"}, id=id_)
    assert answer["id"] == id_
    assert type(answer["id"]) is type(id_)
    slow = wire.request("tools/call", {"name": "test_slow", "arguments": {"ms": 0}}, id=id_)
    assert slow["id"] == id_
    assert type(slow["id"]) is type(id_)


@pytest.mark.requirement("ids:echoed-with-type")
def test_number_and_its_numeral_are_two_ids(connect: Connect) -> None:
    wire = connect()
    number = wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": LONG_MS}}, id=77)
    numeral = wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": 1}}, id="77")
    assert "result" in wire.answer(numeral)
    assert wire.answers_to(number) == []
    wire.cancel(number)


@pytest.mark.requirement("ids:refused")
@pytest.mark.parametrize("id_", [None, 1.5, 1.0, True, {}, []])
def test_id_that_is_neither_string_nor_integer_is_refused_without_an_id(connect: Connect, id_: object) -> None:
    wire = connect()
    wire.send({"jsonrpc": "2.0", "id": id_, "method": "tools/list"})
    assert [error["error"]["code"] for error in wire.unaddressed()] == [-32600]
    assert wire.result("tools/list")["tools"]


@pytest.mark.requirement("ids:in-flight")
@pytest.mark.not_over("http", MODERN)  # where every request stands for itself
def test_id_in_flight_is_refused_and_the_first_call_goes_on(connect: Connect) -> None:
    wire = connect()
    id_ = wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": LONG_MS}}, id="twice")
    again = wire.request("tools/call", {"name": "test_simple_text"}, id=id_)
    assert again["error"] == {"code": -32600, "message": "A request with this id is still in progress"}
    wire.cancel(id_)
    wire.settle()
    assert "result" in wire.request("tools/call", {"name": "test_simple_text"}, id=id_)


@pytest.mark.requirement("errors:tool-failure")
def test_tool_that_cannot_do_it_answers_the_model(connect: Connect) -> None:
    result = connect().call("test_error_handling")
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "This tool intentionally returns an error for testing"}]


@pytest.mark.requirement("errors:bad-arguments")
def test_every_wrong_argument_is_told_to_the_model_by_path(connect: Connect) -> None:
    result = connect("sum").call("sum", {"a": "x"})
    assert result["isError"] is True
    assert sorted(result["content"][0]["text"].removeprefix("Invalid arguments for sum: ").split("\n")) == [
        "/a must be number",
        "/b is required",
    ]


@IN_PROCESS
@pytest.mark.requirement("errors:unknown-tool")
@pytest.mark.parametrize("name", ["nothing", "", 7, None, ["sum"]])
def test_unknown_tool_is_invalid_params(connect: Connect, name: object) -> None:
    assert connect("sum").error("tools/call", {"name": name, "arguments": {}})["code"] == -32602


@pytest.mark.requirement("errors:bug")
@pytest.mark.parametrize("tool", ["test_unexpected_exception", "test_unexpected_exception_slow"])
@pytest.mark.parametrize("kind", ["exception", "exit"])
def test_bug_in_a_tool_is_an_internal_error_whose_reference_finds_the_traceback(
    connect: Connect, tool: str, kind: str
) -> None:
    wire = connect()
    error = wire.error("tools/call", {"name": tool, "arguments": {"kind": kind}})
    assert error["code"] == -32603
    reference = re.fullmatch(r"Internal error \(ref ([0-9a-f]+)\)", error["message"])
    assert reference is not None
    assert "data" not in error
    assert wire.text(tool, {"kind": "none"}) == "Nothing went wrong."
    wire.close()
    assert f"Internal error (ref {reference[1]})" in wire.stderr()
    assert {"exception": "a bug with a secret in its text", "exit": "SystemExit: 3"}[kind] in wire.stderr()


@pytest.mark.requirement("errors:bug")
@pytest.mark.parametrize("kind", ["cancelled", "nothing"])
def test_handler_that_ends_without_a_result_is_answered_all_the_same(connect: Connect, kind: str) -> None:
    wire = connect()
    call: dict[str, Any] = {"name": "test_unexpected_exception_slow", "arguments": {"kind": kind}}
    assert wire.error("tools/call", call)["code"] == -32603


@pytest.mark.requirement("bounds:running-calls")
@pytest.mark.revisions(MODERN, "2025-11-25")
def test_call_beyond_the_bound_fails_at_once_and_the_others_go_on(connect: Connect) -> None:
    wire = connect()
    ids = [wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": LONG_MS}}) for _ in range(256)]
    error = wire.error("tools/call", {"name": "test_slow", "arguments": {"ms": 1}})
    assert error["message"] == "256 calls are in progress. Send the request again when one has ended."
    assert [wire.answers_to(id_) for id_ in ids] == [[]] * 256
    for id_ in ids:
        wire.cancel(id_)
    assert wire.text("test_slow", {"ms": 1}) == "Slept for 1 ms."


@pytest.mark.requirement("bounds:running-calls")
@pytest.mark.transports("stdio", "frozen")
@pytest.mark.revisions(MODERN)
def test_a_client_whose_calls_are_all_in_use_can_still_end_a_task(connect: Connect) -> None:
    wire = connect("core", "conformance")
    wire.text("BackgroundBash", {"command": "sleep 600"})
    ids = [wire.start("tools/call", {"name": "test_slow", "arguments": {"ms": LONG_MS}}) for _ in range(256)]
    assert wire.error("tools/call", {"name": "test_slow", "arguments": {"ms": 1}})["code"] == -32603
    assert "Killed" in wire.text("KillBgTask", {"task_id": 1})
    for id_ in ids:
        wire.cancel(id_)


@pytest.mark.requirement("stdio:only-messages")
@pytest.mark.transports("stdio", "frozen")
def test_what_a_tool_prints_goes_to_stderr_and_never_to_the_client(connect: Connect) -> None:
    wire = connect()
    assert wire.text("test_stray_output") == "Wrote everywhere, read b'' from stdin."
    wire.close()
    for stray in ("a line on sys.stdout", "stray bytes on 1", "a child that inherits 1", '"result":{}'):
        assert stray in wire.stderr()


@pytest.mark.requirement("text:surrogates")
def test_lone_surrogates_of_a_tool_become_replacement_characters(connect: Connect) -> None:
    wire = connect()
    assert wire.text("test_surrogates") == "lone \ufffd surrogate, and a whole \U0001f600"


@pytest.mark.requirement("text:surrogates")
@pytest.mark.revisions(MODERN)
def test_lone_surrogates_in_the_first_answer_of_the_process_become_replacement_characters(connect: Connect) -> None:
    wire = connect(handshake=False)
    assert wire.text("test_surrogates") == "lone \ufffd surrogate, and a whole \U0001f600"


@pytest.mark.requirement("aliases")
def test_alias_is_served_before_the_handshake_with_its_params_as_arguments(connect: Connect) -> None:
    wire = connect(handshake=False)
    assert wire.result("test/structured", {"value": 21}) == {"value": 21, "doubled": 42}
    assert wire.result("test/simpleText")["content"][0]["text"] == "This is a simple text response for testing."
    assert wire.result("test/slow", {"ms": 1})["content"][0]["text"] == "Slept for 1 ms."
    assert wire.error("test/structured", {"value": "x"})["code"] == -32602


@pytest.mark.requirement("aliases")
@pytest.mark.not_over("http", MODERN)  # where every request stands for itself
def test_alias_does_not_share_an_id_with_a_call_in_progress(connect: Connect) -> None:
    wire = connect()
    slow = wire.start("test/slow", {"ms": LONG_MS}, id=5)
    assert wire.request("test/slow", {"ms": 1}, id=5)["error"]["code"] == -32600
    wire.cancel(slow)


@pytest.mark.requirement("results:is-error")
def test_is_error_is_always_there(connect: Connect) -> None:
    assert connect().call("test_simple_text")["isError"] is False


@pytest.mark.requirement("content:by-revision")
def test_revision_without_a_kind_of_content_gets_text_that_says_the_same(connect: Connect, revision: str) -> None:
    wire = connect()
    audio = wire.call("test_audio_content")["content"][0]
    link = wire.call("test_resource_link")["content"][0]
    assert audio["type"] == ("text" if revision == "2024-11-05" else "audio")
    assert link["type"] == ("text" if revision in ("2024-11-05", "2025-03-26") else "resource_link")
    assert ("text" not in link) or "test://static-text" in link["text"]


@pytest.mark.requirement("content:structured")
def test_structured_content_is_sent_where_the_revision_has_it(connect: Connect, revision: str) -> None:
    result = connect().call("test_structured_content", {"value": 21})
    assert result["content"] == [{"type": "text", "text": "21 doubled is 42"}]
    structured = None if revision in ("2024-11-05", "2025-03-26") else {"value": 21, "doubled": 42}
    assert result.get("structuredContent") == structured
