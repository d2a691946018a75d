"""JSON values to messages, ids and answers to bytes."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import example, given
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
    plain_request,
)
from tests.protocol.json_values import CODE_POINTS, UNICODE, values

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


PUNCTUATION = ["{", "}", "}}", "[", "]", ",", ":", '"', "\\", " ", "\n", "{}", '},"']
VALUES = ['"2.0"', "1", '"7"', '"x"', "2", "1e999", "null", "true"]
KEYS = ['"jsonrpc"', '"id"', '"method"', '"params"', '"params":{', '"\\u0069d"']
MEMBERS_OF_TEXT = ['{"jsonrpc":"2.0"', ',"id":1', ',"method":"x"', ',"params":{', ',"params":{}', '"a":1']
PIECES = st.sampled_from([*PUNCTUATION, *VALUES, *KEYS, *MEMBERS_OF_TEXT])
WHOLE = '{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1}}'


@st.composite
def nearly_requests(draw: st.DrawFn) -> bytes:
    """A request with pieces of requests put into it, or bytes taken out."""
    members = ['"jsonrpc":"2.0"', '"id":1', '"method":"x"', '"params":{"a":{"b":[]}}', '"id":"s"', '"params":{}']
    frame = "{" + ",".join(draw(st.lists(st.sampled_from(members), min_size=2, max_size=5))) + "}"
    frame = draw(st.sampled_from([WHOLE, frame]))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(frame)))
        end = draw(st.integers(start, min(start + 3, len(frame))))
        frame = frame[:start] + draw(st.one_of(PIECES, st.just(""))) + frame[end:]
    return frame.encode()


@given(st.one_of(nearly_requests(), st.lists(PIECES, max_size=12).map("".join).map(str.encode)))
@example(b'{"jsonrpc":"2.0","id":1,"method":"foo,"params":{},"}')
@example(b'{"jsonrpc":"2.0","id":1,"method":","params":{},"}')
@example(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1},"params":{"b":2}}')
@example(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{},"id":2}')
@example(WHOLE.encode())
def test_a_plain_request_is_what_a_whole_parse_says_and_stands_alone_in_its_frame(frame: bytes) -> None:
    request = plain_request(frame, orjson.loads)
    if request is not None:
        members: list[tuple[str, Any]] = []

        def outermost_last(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            members[:] = pairs
            return dict(pairs)

        value = json.loads(frame, object_pairs_hook=outermost_last)
        assert len(members) == len(value)
        assert value == {"jsonrpc": "2.0", "id": request.id, "method": request.method} | (
            {"params": request.params} if "params" in value else {}
        )
        assert type(request.id) in (int, str)
        assert "params" in value or request.params == {}


@given(st.one_of(st.integers(-(2**63), 2**63), UNICODE), UNICODE, values(), st.permutations(range(4)), st.booleans())
def test_a_plain_request_is_read_in_any_order_of_its_members(
    id_: int | str, method: str, value: Any, order: list[int], newline: bool
) -> None:
    members = [("jsonrpc", "2.0"), ("id", id_), ("method", method), ("params", {"value": value})]
    frame = orjson.dumps(dict(members[i] for i in order)) + b"\n" * newline
    request = plain_request(frame, orjson.loads)
    if request is not None:
        assert (request.id, request.method, request.params) == (id_, method, {"value": value})


def test_the_request_that_clients_send_is_plain() -> None:
    """Or the two tests above would prove nothing."""
    for frame in (WHOLE.encode(), WHOLE.encode() + b"\n", b'{"jsonrpc":"2.0","id":"s","method":"x"}'):
        assert plain_request(frame, orjson.loads) is not None


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
