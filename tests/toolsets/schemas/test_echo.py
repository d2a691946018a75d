"""echo gives a payload back letter for letter, over every transport, in every revision and spelling of the request."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.protocol import strict_json
from tests.links import InProcess, clean_environment
from tests.protocol.json_values import UNICODE, values
from tests.server_process import ServerProcess
from tests.wire import LEGACY, MODERN, Connect

Start = Callable[..., ServerProcess]

SPELLINGS = [
    "1.0",
    "1e2",
    "1E+2",
    "-0",
    "-0.0",
    "0.10",
    "18446744073709551616",
    "-" + "9" * 400,
    "3.14159265358979323846264338327950288",
    '"{\\"a\\": 1}"',
    '"\\u00e9\\/\\u20ac \\ud83d\\ude00 é"',
    '"\u2028\u0085"',
    '{"z":1,"a":2,"":{"b":[ ]}}',
    '{ "a" : [ 1 , 2.50 ,\ttrue ] }',
    '["payload",{"payload":{"payload":1}},"}"]',
    '{"\\u0061":1}',
    "null",
    "false",
    '""',
]


def envelope(payload: str, schema_id: str = "__schemaless__", meta: str = "") -> bytes:
    arguments = f'{{"schema_id":"{schema_id}","payload":{payload}}}'
    params = f'{{"name":"echo","arguments":{arguments}{meta}}}'
    return f'{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{params}}}\n'.encode()


def said(payload: str) -> str:
    return f'{{"ok":true,"schema_id":"__schemaless__","payload":{payload}}}'


def meta_of(revision: str) -> str:
    if revision != MODERN:
        return ""
    prefix = "io.modelcontextprotocol/"
    return f',"_meta":{{"{prefix}protocolVersion":"{MODERN}","{prefix}clientCapabilities":{{}}}}'


@pytest.mark.requirement("schemas:verbatim")
@pytest.mark.revisions("2024-11-05", "2025-11-25", MODERN)
@pytest.mark.parametrize("payload", SPELLINGS, ids=lambda payload: payload[:20])
def test_payload_comes_back_as_it_was_spelled(connect: Connect, revision: str, payload: str) -> None:
    wire = connect("schemas")
    wire.send(envelope(payload, meta=meta_of(revision)))
    result = wire.answer(77)["result"]
    assert result["content"][0]["text"] == said(payload)
    if revision != "2024-11-05":
        assert json.dumps(result["structuredContent"]["payload"]) == json.dumps(json.loads(payload))


@pytest.mark.requirement("schemas:verbatim")
@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-11-25")
@pytest.mark.parametrize(
    "line",
    [
        (
            b'{"params":{"arguments":{"payload":1.50,"schema_id":"__schemaless__"},"name":"echo"},'
            b'"method":"tools/call","jsonrpc":"2.0","id":77}'
        ),
        (
            b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"echo",'
            b'"arguments":"{\\"schema_id\\": \\"__schemaless__\\", \\"payload\\":1.50}"}}'
        ),
        (
            b'{ "jsonrpc": "2.0", "id": 77, "method": "tools/call",\t"params": { "name": "echo", '
            b'"arguments": { "schema_id": "__schemaless__", "pa\\u0079load" : 1.50 } } }\r'
        ),
        (
            b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"echo","payload":2,'
            b'"arguments":{"x":{"payload":3},"schema_id":"__schemaless__","payload":1.50}}}'
        ),
    ],
)
def test_payload_is_found_however_the_request_is_written(connect: Connect, line: bytes) -> None:
    wire = connect("schemas")
    wire.send(line + b"\n")
    assert wire.answer(77)["result"]["content"][0]["text"] == said("1.50")


@pytest.mark.requirement("schemas:verbatim")
@pytest.mark.revisions("2025-03-26")
def test_each_payload_of_a_batch_comes_back_as_it_was_spelled(connect: Connect) -> None:
    wire = connect("schemas")
    one, two = (
        envelope(payload).strip().replace(b'"id":77', b'"id":%d' % n) for n, payload in ((1, "1.0"), (2, "1e0"))
    )
    wire.send(b"[" + one + b', {"jsonrpc":"2.0","method":"x"} ,' + two + b"]\n")
    answers = wire.message(lambda message: isinstance(message, list), "batch")
    assert {answer["id"]: answer["result"]["content"][0]["text"] for answer in answers} == {
        1: said("1.0"),
        2: said("1e0"),
    }


@pytest.mark.requirement("schemas:verbatim")
@pytest.mark.transports("in-process")
@pytest.mark.parametrize(
    "payload", ['{"a":1,"a":2}', '[{"b":{"c":1,"\\u0063":1}}]'], ids=["at the top", "further down, by an escape"]
)
def test_payload_that_two_parsers_would_read_differently_is_refused(
    connect: Connect, revision: str, payload: str
) -> None:
    wire = connect("schemas")
    wire.send(envelope(payload, meta=meta_of(revision)))
    assert wire.answer(77)["error"]["code"] == -32600


@pytest.mark.requirement("schemas:bounds")
@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ("[" * 513 + "]" * 513, "The payload is nested more than 512 levels deep. Make it flatter."),
        ('"' + "é" * 2_097_152 + '"', "The payload has 4194306 bytes; 4194304 are the most. Send it in parts."),
    ],
    ids=["depth", "size"],
)
def test_payload_beyond_a_bound_is_too_large(start: Start, payload: str, message: str) -> None:
    server = start("schemas").open()
    server.send(envelope(payload))
    [answer] = server.answers(1)
    assert answer["result"]["isError"]
    assert answer["result"]["structuredContent"]["error"] == {
        "code": "PAYLOAD_TOO_LARGE",
        "message": message,
        "schema_id": "__schemaless__",
        "details": [],
    }


@pytest.mark.requirement("schemas:bounds")
def test_payload_of_the_bounds_comes_back(start: Start) -> None:
    server = start("schemas").open()
    payload = "[" * 512 + '"' + "x" * (4_194_304 - 1026) + '"' + "]" * 512
    server.send(envelope(payload))
    [line] = server.lines(1)
    assert b'"structuredContent":' + said(payload).encode() + b"}" in line


@pytest.mark.requirement("schemas:bounds")
def test_payload_of_a_million_faults_has_its_first_told(start: Start, environ: dict[str, str], tmp_path: Path) -> None:
    config = tmp_path / "schemas.json"
    config.write_text('{"schemas": [{"schema_id": "texts", "schema": {"items": {"type": "string"}}}]}')
    server = start("schemas", environ={**environ, "BUILTIN_SCHEMAS_CONFIG": str(config)}).open()
    for count in (10_001, 1_000_000):
        server.send(envelope("[" + ",".join(["1"] * count) + "]", "texts"))
        [answer] = server.answers(1)
        error = answer["result"]["structuredContent"]["error"]
        if count == 10_001:
            assert len(error["details"]) == count
        else:
            assert error["details"] == [{"path": "/0", "message": "must be string"}]
            assert error["message"] == (
                "Payload does not conform to schema 'texts': 1 fault or more: "
                "it has over 10000 values, so the first alone is told."
            )


@pytest.mark.requirement("schemas:bounds")
@pytest.mark.parametrize("depth", [900, 3000, 100_000])
def test_payload_deeper_than_parsers_go_is_answered(start: Start, depth: int) -> None:
    server = start("schemas").open()
    server.send(envelope("[" * depth + "]" * depth))
    [answer] = server.answers(1)
    assert "error" in answer or answer["result"]["isError"]
    assert server.request("ping")["result"] == {}


@pytest.mark.requirement("schemas:faults")
@pytest.mark.transports("in-process")
@pytest.mark.revisions("2025-11-25")
def test_a_payload_with_a_fault_in_every_item_has_all_of_them_told(connect: Connect) -> None:
    wire = connect("schemas")
    payload = {"stage": "x", "extra": 1, "stage_status": 2, "next_stage": 3}
    result = wire.call("echo", {"schema_id": "zenlix-agent-stage-v1", "payload": payload})
    assert [fault["path"] for fault in result["structuredContent"]["error"]["details"]] == [
        "/extra",
        "/stage_status",
        "/next_stage",
    ]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[bytes], bytes]]:
    """`lines(request)`: the line a server in this process answers with."""
    home = tmp_path_factory.mktemp("home")
    link = InProcess(("schemas",), clean_environment(home), Path(home / "stderr"))
    came: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    link.start(came.put, lambda: None)

    def exchange(line: bytes) -> bytes:
        link.send(line)
        return came.get(timeout=60)

    exchange(
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}\n'
    )
    yield exchange
    link.close_input()
    link.wait(60)


NUMERALS = st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)


def spelled(value: Any, numerals: Iterator[str], ascii_only: bool) -> str:
    """JSON of a value in which each number is the next of `numerals`."""
    if isinstance(value, dict):
        members = (
            f"{json.dumps(k, ensure_ascii=ascii_only)}:{spelled(v, numerals, ascii_only)}" for k, v in value.items()
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(spelled(item, numerals, ascii_only) for item in value) + "]"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return next(numerals)
    return json.dumps(value, ensure_ascii=ascii_only)


@pytest.mark.requirement("schemas:verbatim")
@given(value=values(UNICODE, st.integers()), numerals=st.lists(NUMERALS, min_size=13), ascii_only=st.booleans())
def test_what_goes_in_comes_out(
    lines: Callable[[bytes], bytes], value: Any, numerals: list[str], ascii_only: bool
) -> None:
    payload = spelled(value, iter(numerals), ascii_only)
    answer = lines(envelope(payload))
    assert b'"structuredContent":' + said(payload).encode() + b"}" in answer
    assert strict_json.loads(answer)["result"]["content"][0]["text"] == said(payload)


@pytest.mark.requirement("schemas:resources")
@pytest.mark.revisions(LEGACY[-1], MODERN)
def test_each_schema_is_a_resource(connect: Connect) -> None:
    wire = connect("schemas")
    schemas = wire.call("list_schemas")["structuredContent"]["schemas"]
    resources = {item["name"]: item for item in wire.result("resources/list")["resources"]}
    assert resources.pop("echo")["uri"] == "skill://echo/SKILL.md"
    assert list(resources) == [schema["schema_id"] for schema in schemas]
    for name, resource in resources.items():
        assert resource["uri"] == f"schema://{name}"
        [content] = wire.result("resources/read", {"uri": resource["uri"]})["contents"]
        shown = wire.call("get_schema", {"schema_id": name})["structuredContent"]["schema"]
        assert json.loads(content["text"]) == shown
        assert len(content["text"]) == resource["size"]
    assert wire.error("resources/read", {"uri": "schema://nope"})["data"] == {"uri": "schema://nope"}
