"""Bad input over stdio, case by case: sections A to C of the reliability matrix. A fresh server for each.

Every case ends with a ping: all that came before its answer is what the case was answered with.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.server_process import PING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server_process import Message, ServerProcess

PREFIX = "io.modelcontextprotocol/"
META = {
    PREFIX + "protocolVersion": "2026-07-28",
    PREFIX + "clientInfo": {"name": "tests", "version": "1"},
    PREFIX + "clientCapabilities": {},
}
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}
PROBE = b'{"jsonrpc":"2.0","id":"probe","method":"ping"}\n'


def request(method: str, params: Any = ..., **members: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": 7, "method": method} | ({} if params is ... else {"params": params})
    return json.dumps({**message, **members}).encode() + b"\n"


def call(name: str, arguments: Any = ..., **members: Any) -> bytes:
    return request("tools/call", {"name": name} | ({} if arguments is ... else {"arguments": arguments}), **members)


def modern(method: str, params: Message | None = None, **changes: Any) -> bytes:
    """A request of the modern era; `changes` replace members of `_meta`, `...` removes one."""
    meta = {**META, **{PREFIX + name: value for name, value in changes.items()}}
    meta = {name: value for name, value in meta.items() if value is not ...}
    return request(method, {**(params or {}), "_meta": meta})


def cancelled(params: Any = ...) -> bytes:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled"} | ({} if params is ... else {"params": params})
    return json.dumps(message).encode() + b"\n"


def token(message: Any) -> str:
    """`R@7` a result, `T@7` a tool's error, `E-32600@null` an error, `N:…` a notification."""
    if "method" in message:
        return f"N:{message['method']}"
    id_ = json.dumps(message["id"])
    if "error" in message:
        return f"E{message['error']['code']}@{id_}"
    is_error = isinstance(message["result"], dict) and message["result"].get("isError")
    return f"{'T' if is_error else 'R'}@{id_}"


def answered(server: ServerProcess, data: bytes) -> str:
    """What `data` was answered with, as tokens."""
    server.send(data, PROBE)
    tokens: list[str] = []
    while True:
        [line] = server.lines(1)
        message = json.loads(line)
        if message.get("id") == "probe":
            return " ".join(tokens)
        tokens.append(token(message))


BYTES = [
    ("F01", "empty line", b"\n", ""),
    ("F05", "not JSON", b"{bad\n", "E-32700@null"),
    ("F06", "half an object and a line feed", b'{"jsonrpc":"2.0","id":7,\n', "E-32700@null"),
    ("F07", "two objects in one line", PING.rstrip() % 7 + b" " + PING % 8, "E-32700@null"),
    ("F07", "two objects in one line, nothing between", PING.rstrip() % 7 + PING % 8, "E-32700@null"),
    ("F11", "overlong UTF-8", b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\xc0\xaf"}}\n', "E-32700@null"),
    ("F11", "UTF-8 beyond Unicode", b'{"jsonrpc":"2.0","id":7,"method":"\xf4\x90\x80\x80"}\n', "E-32700@null"),
    ("F16", "a lone CR between two objects", PING.rstrip() % 7 + b"\r" + PING % 8, "E-32700@null"),
    ("F24", "UTF-16", (PING % 7).decode().rstrip().encode("utf-16") + b"\n", "E-32700@null"),
    ("F24", "UTF-16 without its mark", (PING % 7).decode().rstrip().encode("utf-16-le") + b"\n", "E-32700@null"),
    ("F24", "UTF-32", (PING % 7).decode().rstrip().encode("utf-32") + b"\n", "E-32700@null"),
    ("J03", "objects nested 100k deep", b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n", "E-32700@null"),
    ("J05", "1e400", b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":1e400}}\n', "E-32700@null"),
    ("J05", "1e400 as the id", b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}\n', "E-32700@null"),
    ("J11", "lone surrogate in a member", request("ping", {"x": "\ud800"}), "E-32600@7"),
    ("J11", "lone surrogate in the id", request("ping", id="\udfff"), "E-32600@null"),
    ("J11", "lone surrogate in the method", request("\ud800"), "E-32600@7"),
    ("J11", "a pair of surrogates", request("ping", {"x": "\N{GRINNING FACE}"}), "R@7"),
    ("J13", "a comment", b'{"jsonrpc":"2.0","id":7,/* */"method":"ping"}\n', "E-32700@null"),
    ("J13", "an unquoted key", b'{jsonrpc:"2.0","id":7,"method":"ping"}\n', "E-32700@null"),
    ("J17", "a million elements", request("ping", {"x": [1] * 1_000_000}), "R@7"),
    ("J17", "a million empty arrays", request("ping", {"x": [[]] * 1_000_000}), "R@7"),
    ("R05", "method is a number", request(7), "E-32600@7"),  # type: ignore[arg-type]
    ("R05", "method is an object", request({}), "E-32600@7"),  # type: ignore[arg-type]
    ("R09", "params is a string", request("ping", "x"), "E-32602@7"),
    ("R09", "params is false", request("ping", False), "E-32602@7"),
    ("R13", "id true", request("ping", id=True), "E-32600@null"),
    ("R13", "id false", request("ping", id=False), "E-32600@null"),
    ("R18", "id -1", request("ping", id=-1), "R@-1"),
    ("R18", "id -2**63-1", request("ping", id=-(2**63) - 1), "R@-9223372036854775809"),
    ("R34", "a batch", b"[" + PING.rstrip() % 7 + b"," + PING.rstrip() % 8 + b"]\n", "E-32600@null"),
    ("R34", "a batch of notifications", b'[{"jsonrpc":"2.0","method":"exit"}]\n', "E-32600@null"),
    ("J08", "id twice", b'{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}\n', "E-32600@null"),
    ("J08", "id twice, once in escapes", b'{"jsonrpc":"2.0","id":7,"method":"ping","\\u0069d":8}\n', "E-32600@null"),
    ("J08", "method twice", b'{"jsonrpc":"2.0","id":7,"method":"exit","method":"ping"}\n', "E-32600@7"),
]


@pytest.mark.parametrize("first", [True, False], ids=["first message", "in a session"])
@pytest.mark.parametrize(("data", "tokens"), [case[2:] for case in BYTES], ids=[" ".join(case[:2]) for case in BYTES])
def test_bytes(start: Callable[..., ServerProcess], data: bytes, tokens: str, first: bool) -> None:
    server = start() if first else start().open("2025-06-18")
    assert answered(server, data) == tokens


def test_f21_100_mb_without_a_line_feed_are_one_error_in_bounded_memory(start: Callable[..., ServerProcess]) -> None:
    server = start().open()
    before_bytes = server.peak_bytes()
    for _ in range(100):
        server.send(b"x" * 1_000_000)
    assert answered(server, b"\n") == "E-32600@null"
    assert server.peak_bytes() - before_bytes < 100_000_000


IN_A_SESSION = [
    ("M09", "initialize again", request("initialize", INITIALIZE) + call("sum", {"a": 1, "b": 2}, id=8), "R@7 R@8"),
    ("M11", "tool name is a number", call(5), "E-32602@7"),  # type: ignore[arg-type]
    ("M11", "tool name is null", call(None), "E-32602@7"),  # type: ignore[arg-type]
    ("M16", "arguments are null", call("sum", None), "T@7"),
    ("M16", "arguments are missing", call("sum"), "T@7"),
    ("M16", "an argument is missing", call("sum", {"a": 1}), "T@7"),
    ("M16", "an argument is of another type", call("sum", {"a": [], "b": {}}), "T@7"),
    ("M16", "arguments as JSON text are read", call("sum", '{"a":1,"b":2}'), "R@7"),
    ("M16", "an unknown argument is ignored", call("sum", {"a": 1, "b": 2, "c": 3}), "R@7"),
    ("M20", "cancelled without params", cancelled(), ""),
    ("M20", "cancelled, requestId an object", cancelled({"requestId": {}}), ""),
    ("M20", "cancelled, requestId null", cancelled({"requestId": None}), ""),
    ("M20", "cancelled, params an array", cancelled([7]), ""),
    ("M25", "a file as resource", request("resources/read", {"uri": "file:///etc/passwd"}), "E-32002@7"),
    ("M25", "no uri", request("resources/read", {}), "E-32602@7"),
    ("M25", "uri is a number", request("resources/read", {"uri": 5}), "E-32602@7"),
    ("M25", "prompt without name", request("prompts/get", {}), "E-32602@7"),
    ("C4", "an answer that nobody asked for, jsonrpc wrong", b'{"jsonrpc":"1.0","id":7,"result":{}}\n', ""),
    ("C4", "an answer with an object as id", b'{"jsonrpc":"2.0","id":{},"result":{}}\n', ""),
    ("C4", "an unknown notification with params of no kind", b'{"jsonrpc":"2.0","method":"nope","params":7}\n', ""),
]


@pytest.mark.parametrize(
    ("data", "tokens"), [case[2:] for case in IN_A_SESSION], ids=[" ".join(case[:2]) for case in IN_A_SESSION]
)
def test_in_a_session(start: Callable[..., ServerProcess], data: bytes, tokens: str) -> None:
    assert answered(start().open("2025-06-18"), data) == tokens


INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
INITIALIZE_8 = request("initialize", INITIALIZE, id=8)
SUM = {"name": "sum", "arguments": {"a": 1, "b": 2}}

WITHOUT_SESSION = [
    ("M05", "initialized, then a list", INITIALIZED + request("tools/list"), "E-32002@7"),
    ("M05", "prompts before initialize", request("prompts/list"), "E-32002@7"),
    ("M05", "log level before initialize", request("logging/setLevel", {"level": "debug"}), "E-32002@7"),
    ("M05", "shutdown before initialize", request("shutdown"), "E-32002@7"),
    ("M06", "initialize without params", request("initialize"), "E-32602@7"),
    ("M06", "initialize, version missing, then right", request("initialize", {}) + INITIALIZE_8, "E-32602@7 R@8"),
    ("D03", "a legacy version in _meta", modern("tools/list", protocolVersion="2025-11-25"), "E-32022@7"),
    ("D04", "no clientCapabilities", modern("tools/list", clientCapabilities=...), "E-32602@7"),
    ("D04", "clientCapabilities an array", modern("tools/list", clientCapabilities=[]), "E-32602@7"),
    ("D04", "clientInfo a string", modern("tools/list", clientInfo="x"), "E-32602@7"),
    ("D06", "initialize of the modern era", modern("initialize", INITIALIZE), "E-32601@7"),
    ("D06", "a session's method in the modern era", modern("resources/subscribe", {"uri": "x"}), "E-32601@7"),
    ("D10", "requestState that nobody sealed", modern("tools/call", {**SUM, "requestState": "x"}), "E-32602@7"),
    ("D10", "requestState of another type", modern("tools/call", {**SUM, "requestState": 7}), "E-32602@7"),
]


@pytest.mark.parametrize(
    ("data", "tokens"), [case[2:] for case in WITHOUT_SESSION], ids=[" ".join(case[:2]) for case in WITHOUT_SESSION]
)
def test_without_session(start: Callable[..., ServerProcess], data: bytes, tokens: str) -> None:
    assert answered(start(), data) == tokens


def test_d08_both_eras_live_in_one_process_and_share_nothing(start: Callable[..., ServerProcess]) -> None:
    server = start()
    assert answered(server, modern("tools/list") + request("tools/list", id=8)) == "R@7 E-32002@8"
    server.open("2025-06-18")
    assert answered(server, modern("ping") + request("ping", id=8) + modern("tools/list")) == "E-32601@7 R@8 R@7"


def test_m09_a_second_initialize_changes_the_revision_of_the_same_session(start: Callable[..., ServerProcess]) -> None:
    server = start().open("2025-11-25")
    again = server.request("initialize", {**INITIALIZE, "protocolVersion": "2025-03-26"})
    assert again["result"]["protocolVersion"] == "2025-03-26"
    server.send(b"[" + PING.rstrip() % 7 + b"," + PING.rstrip() % 8 + b"]\n")
    [line] = server.lines(1)
    assert [token(message) for message in json.loads(line)] == ["R@7", "R@8"]


def test_r23_an_id_in_flight_is_refused_and_the_first_call_goes_on(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open("2025-06-18")
    slow = call("test_slow", {"ms": 300}, id="s")
    server.send(slow, slow, call("test_simple_text", {}, id="s"), request("ping", id="s"))
    assert [token(message) for message in server.answers(4)] == ['E-32600@"s"'] * 3 + ['R@"s"']
    counts = server.call("test_counts", {})["result"]["content"][0]["text"]
    assert counts == "started 1, finished 1, cancelled 0"


def test_an_id_is_free_again_when_its_call_was_cancelled(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open("2025-06-18")
    server.start_slow("s")
    server.send(cancelled({"requestId": "s"}), call("test_slow", {"ms": 1}, id="s"))
    answers = [message for message in server.answers(1) if "id" in message]
    while not answers:
        answers = [message for message in server.answers(1) if "id" in message]
    assert answers[0]["result"]["content"][0]["text"] == "Slept for 1 ms."


def test_c18_a_token_of_two_calls_is_told_only_while_one_of_them_is_open(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open("2025-06-18")
    params = {"name": "test_slow", "_meta": {"progressToken": "shared"}}
    calls = [(8, {"ms": 60, "steps": 6}), (7, {"ms": 20, "steps": 2})]
    server.send(*(request("tools/call", {**params, "arguments": arguments}, id=id_) for id_, arguments in calls))
    came: list[Message] = []
    while not {7, 8} <= {message.get("id") for message in came}:
        came += server.answers(1)
    assert any(message.get("method") == "notifications/progress" for message in came)
    assert server.request("ping", id="nothing comes between")["result"] == {}


def test_r27_a_call_without_an_id_is_not_executed(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open("2025-06-18")
    server.send(b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"test_slow","arguments":{"ms":0}}}\n')
    assert server.call("test_slow", {"ms": 0})["result"]["isError"] is False
    counts = server.call("test_counts", {})["result"]["content"][0]["text"]
    assert counts == "started 1, finished 1, cancelled 0"


def test_a_message_whose_values_do_not_fit_in_memory_is_an_error_and_the_next_is_served(
    start: Callable[..., ServerProcess],
) -> None:
    server = start(wrapped=["sh", "-c", 'ulimit -v 400000 && exec "$@"', "sh"])
    assert answered(server, request("ping", {"x": [[]] * 8_000_000})) == "E-32603@null"
    assert "MemoryError" in server.stderr()
