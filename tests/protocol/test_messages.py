"""JSON values to messages, ids and answers to bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.protocol.errors import INVALID_PARAMS, INVALID_REQUEST, ProtocolError
from scorpio.protocol.messages import (
    Notification,
    Request,
    Response,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    message_of,
)
from tests.protocol.json_values import CODE_POINTS, values

IDS = st.one_of(st.integers(), CODE_POINTS)

MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.one_of(st.just("2.0"), values()),
        "id": st.one_of(IDS, values()),
        "method": st.one_of(st.just("ping"), values()),
        "params": values(),
        "result": values(),
        "error": values(),
        "extra": values(),
    },
)


def read(value: Any) -> Request | Notification | Response | ProtocolError:
    try:
        return message_of(value)
    except ProtocolError as error:
        return error


@given(st.one_of(MEMBERS, MEMBERS.map(lambda value: {"jsonrpc": "2.0", **value}), values()))
def test_any_value_is_a_message_or_a_protocol_error(value: Any) -> None:
    message = read(value)
    if isinstance(message, ProtocolError):
        assert message.code in (INVALID_REQUEST, INVALID_PARAMS)
        assert message.request_id is None or message.request_id is value["id"]
    elif isinstance(message, Request):
        assert message.id is value["id"]
        assert type(message.id) in (int, str)
        assert message.method is value["method"]
        assert message.params == (value.get("params") or {})
    elif isinstance(message, Notification):
        assert "id" not in value
        assert type(message.params) is dict
    else:
        assert "method" not in value
        assert "result" in value or "error" in value


@pytest.mark.parametrize(
    ("value", "code", "request_id"),
    [
        (None, INVALID_REQUEST, None),
        (42, INVALID_REQUEST, None),
        ("ping", INVALID_REQUEST, None),
        ([], INVALID_REQUEST, None),
        ({}, INVALID_REQUEST, None),
        ({"id": 7, "method": "ping"}, INVALID_REQUEST, 7),
        ({"jsonrpc": "1.0", "id": 7, "method": "ping"}, INVALID_REQUEST, 7),
        ({"jsonrpc": 2.0, "id": "7", "method": "ping"}, INVALID_REQUEST, "7"),
        ({"jsonrpc": "2.0", "id": 7}, INVALID_REQUEST, 7),
        ({"jsonrpc": "2.0", "id": 7, "method": 1}, INVALID_REQUEST, 7),
        ({"jsonrpc": "2.0", "id": 7, "method": None}, INVALID_REQUEST, 7),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, INVALID_REQUEST, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, INVALID_REQUEST, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, INVALID_REQUEST, None),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, INVALID_REQUEST, None),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, INVALID_REQUEST, None),
        ({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}, INVALID_PARAMS, 7),
        ({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": "x"}, INVALID_PARAMS, 7),
    ],
)
def test_what_is_no_message_is_refused_with_the_id_that_can_be_read(value: Any, code: int, request_id: object) -> None:
    with pytest.raises(ProtocolError) as refused:
        message_of(value)
    assert (refused.value.code, refused.value.request_id) == (code, request_id)


@pytest.mark.parametrize("id_", [0, -1, 2**53 + 1, 2**70, "", "7", "ä\N{GRINNING FACE}"])
def test_every_string_and_integer_is_an_id(id_: int | str) -> None:
    message = message_of({"jsonrpc": "2.0", "id": id_, "method": "ping"})
    assert isinstance(message, Request)
    assert message.id is id_


def test_absent_and_null_params_are_empty() -> None:
    for extra in ({}, {"params": None}):
        message = message_of({"jsonrpc": "2.0", "id": 1, "method": "ping", **extra})
        assert isinstance(message, Request)
        assert message.params == {}


def test_an_answer_needs_no_jsonrpc_member_to_be_left_alone() -> None:
    """Answering an answer is how two peers start a storm."""
    assert isinstance(message_of({"id": 1, "result": {}}), Response)
    assert isinstance(message_of({"id": None, "error": {"code": -1}}), Response)


@given(IDS)
def test_ids_are_echoed_with_their_type(id_: int | str) -> None:
    error = ProtocolError(INVALID_REQUEST, "no \N{GRINNING FACE}", {"supported": ["x"]})
    for line in (encode_result(id_, b"{}"), encode_error(id_, error), encode_request(id_, "roots/list", b"{}")):
        echoed = json.loads(line)["id"]
        assert (type(echoed), echoed) == (type(id_), id_)
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1


@given(CODE_POINTS, values())
def test_errors_and_notifications_are_one_line_of_ascii_around_their_values(text: str, value: Any) -> None:
    line = encode_notification(text, json.dumps(value).encode())
    assert json.loads(line) == {"jsonrpc": "2.0", "method": text, "params": value}
    line += encode_error(None, ProtocolError(INVALID_PARAMS, text, {"uri": text}))
    assert line.isascii()
    assert line.count(b"\n") == 2


def test_an_error_without_data_has_no_data_member() -> None:
    assert encode_error(None, ProtocolError(-32700, "Parse error")) == (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'
    )
