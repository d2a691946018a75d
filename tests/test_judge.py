"""The judge that every connection of the tests carries: it must be able to say no."""

from __future__ import annotations

from typing import Any

import pytest

from tests.judge import META, MODERN, Judge, Message, strict

BLOCK = {"type": "text", "text": "x"}


def request(id_: int, method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def answer(id_: int, result: Any) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def notification(method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def called(revision: str = "2025-11-25") -> Judge:
    """A judge that knows of one call with the id 1 and the progress token p."""
    judge = Judge(revision, {"roots": {}})
    judge.sent(request(1, "tools/call", name="t", _meta={"progressToken": "p"}))
    return judge


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":1}',
        b'{"a":1}\r\n',
        b'{"a":\n1}\n',
        b'{"a":1,"a":2}\n',
        b'{"a":NaN}\n',
        b'{"a":"\xff"}\n',
        b'{"a":"\\ud800"}\n',
        b"{}{}\n",
    ],
)
def test_line_that_is_not_strict_json_is_a_fault(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict(line)


def test_proper_answer_has_no_fault() -> None:
    assert called().fault(answer(1, {"content": [BLOCK], "isError": False})) == ""


@pytest.mark.parametrize(
    "message",
    [
        answer(2, {"content": []}),
        answer(1, {"content": [{"type": "text"}]}),
        answer(1, {"content": "x"}),
        {"id": 1, "result": {"content": []}},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": []}, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "x"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1}},
        notification("notifications/progress", progressToken="other", progress=1),
        notification("notifications/unknown"),
        notification("notifications/message", level="loud", data="x"),
        {"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}},
        {"jsonrpc": "2.0", "id": "s", "method": "tools/list"},
        [],
        7,
    ],
)
def test_message_that_breaks_a_rule_is_a_fault(message: Any) -> None:
    assert called().fault(message) != ""


def test_second_answer_is_a_fault() -> None:
    judge = called()
    judge.fault(answer(1, {"content": []}))
    assert judge.fault(answer(1, {"content": []})) == "an answer that nobody waits for"


def test_progress_that_stays_is_a_fault() -> None:
    judge = called()
    step = notification("notifications/progress", progressToken="p", progress=1)
    assert judge.fault(step) == ""
    assert judge.fault(step) != ""


def test_modern_result_without_its_type_is_a_fault() -> None:
    judge = Judge(MODERN, {})
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    judge.sent(request(1, "tools/list", _meta=meta))
    assert judge.fault(answer(1, {"tools": [], "ttlMs": 0, "cacheScope": "private"})) != ""


def test_request_of_the_server_in_the_modern_era_is_a_fault() -> None:
    asked = {"jsonrpc": "2.0", "id": "s", "method": "roots/list"}
    assert Judge(MODERN, {"roots": {}}).fault(asked) == "a server of the modern era sends no requests"
