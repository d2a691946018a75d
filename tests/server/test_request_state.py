"""`requestState` of 2026-07-28: what the client carries between rounds, and cannot change."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.wire import MODERN

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.wire import Connect, Message, Wire

IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""

pytestmark = pytest.mark.revisions(MODERN)

TOOL = "test_input_required_result_multi_round"
ALICE = {"action": "accept", "content": {"name": "Alice"}}
BLUE = {"action": "accept", "content": {"color": "blue"}}


def asked(connect: Connect) -> tuple[Wire, str]:
    """A client that has been asked for step1, and the state it holds."""
    wire = connect(capabilities={"elicitation": {}})
    result = wire.result("tools/call", {"name": TOOL, "arguments": {}})
    assert list(result["inputRequests"]) == ["step1"]
    return wire, result["requestState"]


def retry(wire: Wire, state: object, **more: Any) -> Message:
    params = {"name": TOOL, "arguments": {}, "inputResponses": {"step1": ALICE}, "requestState": state, **more}
    return wire.request("tools/call", params)


@pytest.mark.requirement("state:round-trip")
def test_answers_of_earlier_rounds_come_back_in_the_state(connect: Connect) -> None:
    wire, first = asked(connect)
    second = retry(wire, first)["result"]
    assert list(second["inputRequests"]) == ["step2"]
    assert second["requestState"] != first
    third = retry(wire, second["requestState"], inputResponses={"step2": BLUE})["result"]
    assert third["content"][0]["text"] == "Alice likes blue."


@pytest.mark.requirement("state:round-trip")
def test_answer_of_a_megabyte_comes_back_too(connect: Connect) -> None:
    wire, first = asked(connect)
    long = {"action": "accept", "content": {"name": "A" * 1_000_000}}
    second = retry(wire, first, inputResponses={"step1": long})["result"]
    third = retry(wire, second["requestState"], inputResponses={"step2": BLUE})["result"]
    assert len(third["content"][0]["text"]) == 1_000_000 + len(" likes blue.")


@pytest.mark.requirement("state:optional")
def test_answers_without_a_state_are_taken(connect: Connect) -> None:
    wire, _ = asked(connect)
    params = {"name": TOOL, "arguments": {}, "inputResponses": {"step1": ALICE, "step2": BLUE}}
    assert wire.result("tools/call", params)["content"][0]["text"] == "Alice likes blue."


def _flipped(state: str) -> str:
    return state[:-2] + ("A" if state[-2] != "A" else "B") + state[-1]


def _other_answer(state: str) -> str:
    mac, _, body = state.partition(".")
    content = json.loads(_bytes(body))
    content["answers"] = {"step1": {"action": "accept", "content": {"name": "Mallory"}}}
    return f"{mac}.{_text(json.dumps(content).encode())}"


@IN_PROCESS
@pytest.mark.requirement("state:tampered")
@pytest.mark.parametrize(
    "change",
    [
        lambda state: state + "-TAMPERED",
        _flipped,
        _other_answer,
        lambda state: state.partition(".")[2],
        lambda state: "." + state.partition(".")[2],
        lambda state: "",
        lambda state: ".",
        lambda state: "\u00e9.\u00e9",
        lambda state: "A" * 300_000,
        lambda state: state + "====",
        lambda state: state + "!!!!",
        lambda state: state.replace(".", ".\n\n\n\n"),
        lambda state: state + ".",
        lambda state: None,
        lambda state: 7,
        lambda state: [state],
        lambda state: {"state": state},
    ],
)
def test_state_that_is_not_as_it_was_given_is_invalid_params(connect: Connect, change: Callable[[str], object]) -> None:
    wire, state = asked(connect)
    error = retry(wire, change(state))["error"]
    assert error["code"] == -32602
    assert error["message"] == "requestState is not a state of this server. Send the request again without it."


@pytest.mark.requirement("state:other-request")
@pytest.mark.parametrize(
    "change",
    [
        {"name": "test_input_required_result_elicitation"},
        {"arguments": {"other": 1}},
    ],
)
def test_state_of_one_request_is_refused_with_another(connect: Connect, change: Message) -> None:
    wire, state = asked(connect)
    answer = retry(wire, state, **change)
    if "arguments" in change:  # refused by the schema before any state is looked at
        assert answer["result"]["isError"] is True
    else:
        assert answer["error"]["code"] == -32602
        assert "belongs to another request" in answer["error"]["message"]


@pytest.mark.requirement("state:other-request")
def test_state_of_a_tool_is_refused_with_a_prompt(connect: Connect) -> None:
    wire, state = asked(connect)
    error = wire.error("prompts/get", {"name": "test_input_required_result_prompt", "requestState": state})
    assert error["code"] == -32602


@pytest.mark.requirement("state:tampered")
def test_forged_state_is_refused_by_a_tool_that_never_asks(connect: Connect) -> None:
    wire, _ = asked(connect)
    assert wire.error("tools/call", {"name": "test_simple_text", "requestState": "forged"})["code"] == -32602


@pytest.mark.requirement("state:expires")
def test_state_past_its_time_is_refused(connect: Connect, environ: dict[str, str]) -> None:
    wire, state = asked(connect)
    key = (Path(environ["SCORPIO_HOME"]) / "key").read_bytes()
    content = json.loads(_bytes(state.partition(".")[2]))
    fresh = _sealed(key, content)
    assert "result" in retry(wire, fresh)  # so it is the time that is refused below
    error = retry(wire, _sealed(key, {**content, "expires": int(time.time()) - 1}))["error"]
    assert error["message"] == "requestState is older than 600 s. Send the request again without it."


@pytest.mark.requirement("state:key")
def test_key_is_private_and_another_process_of_the_installation_takes_the_state(
    connect: Connect, environ: dict[str, str]
) -> None:
    _, state = asked(connect)
    path = Path(environ["SCORPIO_HOME"]) / "key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_size == 32
    other = connect(capabilities={"elicitation": {}})
    assert list(retry(other, state)["result"]["inputRequests"]) == ["step2"]


@IN_PROCESS
@pytest.mark.requirement("state:missing-answers")
@pytest.mark.parametrize("responses", [{}, {"wrong_key": ALICE}, {"step1": 12345}, {"step1": None}, {"step1": [ALICE]}])
def test_missing_answer_is_asked_for_again(connect: Connect, responses: Message) -> None:
    wire, state = asked(connect)
    result = retry(wire, state, inputResponses=responses)["result"]
    assert result["resultType"] == "input_required"
    assert list(result["inputRequests"]) == ["step1"]


@IN_PROCESS
@pytest.mark.requirement("state:missing-answers")
@pytest.mark.parametrize("responses", [None, [], "step1", 7])
def test_input_responses_that_are_no_object_are_invalid_params(connect: Connect, responses: object) -> None:
    wire, state = asked(connect)
    assert retry(wire, state, inputResponses=responses)["error"]["code"] == -32602


@pytest.mark.requirement("state:extra-answers")
def test_answer_to_a_question_that_was_not_asked_is_ignored(connect: Connect) -> None:
    wire, state = asked(connect)
    responses = {"step1": ALICE, "unknown": {"action": "accept", "content": {"foo": "bar"}}, "another": ALICE}
    assert list(retry(wire, state, inputResponses=responses)["result"]["inputRequests"]) == ["step2"]


@pytest.mark.requirement("ask:only-three-methods")
@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
def test_no_other_request_is_answered_with_questions(connect: Connect, method: str) -> None:
    assert connect(capabilities={"elicitation": {}}).result(method)["resultType"] == "complete"


def _sealed(key: bytes, content: Message) -> str:
    body = json.dumps(content).encode()
    return f"{_text(hmac.digest(key, body, hashlib.sha256))}.{_text(body)}"


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
