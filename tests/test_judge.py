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


TASK = {
    "taskId": "0" * 32,
    "status": "working",
    "createdAt": "2026-07-28T10:00:00.000Z",
    "ttlMs": 1,
    "pollIntervalMs": 1,
}
TASK |= {"lastUpdatedAt": TASK["createdAt"]}
DONE = {**TASK, "status": "completed", "result": {"resultType": "complete", "content": [BLOCK], "isError": False}}
CORE_TASK = {key: value for key, value in TASK.items() if not key.endswith("Ms")} | {"ttl": 1, "pollInterval": 1}


def asked(method: str, revision: str = MODERN, **params: Any) -> Judge:
    """A judge that knows of one request with the id 1."""
    judge = Judge(revision, {})
    if revision != MODERN:
        judge.sent(request(0, "initialize"))
        info = {"name": "s", "version": "1"}
        judge.fault(answer(0, {"protocolVersion": revision, "capabilities": {}, "serverInfo": info}))
    meta = {"_meta": {META + "protocolVersion": revision}} if revision == MODERN else {}
    judge.sent(request(1, method, **params, **meta))
    return judge


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/call", {**TASK, "resultType": "task"}),
        ("tasks/get", {**TASK, "resultType": "complete"}),
        ("tasks/get", {**DONE, "resultType": "complete"}),
        ("tasks/update", {"resultType": "complete"}),
    ],
)
def test_proper_task_of_the_extension_has_no_fault(method: str, result: Message) -> None:
    assert asked(method).fault(answer(1, result)) == ""


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/call", {**TASK, "resultType": "task", "task": TASK}),
        ("tools/call", {**TASK, "resultType": "task", "requestState": "x"}),
        ("tools/call", {**TASK, "resultType": "task", "ttl": 1}),
        ("tools/call", {**TASK, "resultType": "task", "createdAt": "yesterday"}),
        ("tools/call", {**CORE_TASK, "resultType": "task"}),
        ("tasks/get", {**TASK, "resultType": "task"}),
        ("tasks/get", {**TASK, "resultType": "complete", "status": "input_required", "inputRequests": {}}),
        ("tasks/get", {**TASK, "resultType": "complete", "status": "completed"}),
        ("tasks/get", {**TASK, "resultType": "complete", "status": "failed"}),
        ("tasks/get", {**DONE, "resultType": "complete", "result": {"content": "x"}}),
        ("tasks/cancel", {**TASK, "resultType": "complete"}),
    ],
)
def test_task_of_the_extension_that_breaks_a_rule_is_a_fault(method: str, result: Message) -> None:
    assert asked(method).fault(answer(1, result)) != ""


def test_core_task_is_judged_by_the_official_models() -> None:
    assert asked("tools/call", "2025-11-25", task={}).fault(answer(1, {"task": CORE_TASK})) == ""
    assert asked("tools/call", "2025-11-25", task={}).fault(answer(1, {"task": TASK})) != ""
    assert asked("tools/call", "2025-11-25", task={}).fault(answer(1, {"content": [BLOCK]})) != ""
    assert asked("tasks/result", "2025-11-25", taskId="x").fault(answer(1, {"content": [BLOCK]})) != ""


def test_task_that_lives_again_after_its_end_is_a_fault() -> None:
    judge = asked("tasks/get")
    assert judge.fault(answer(1, {**DONE, "resultType": "complete"})) == ""
    tag = {META + "subscriptionId": 1}
    assert judge.fault(notification("notifications/tasks", **TASK, _meta=tag)) == ""  # on its way since before
    later = {**TASK, "lastUpdatedAt": "2026-07-28T10:00:00.001Z"}
    assert judge.fault(notification("notifications/tasks", **later, _meta=tag)) != ""
