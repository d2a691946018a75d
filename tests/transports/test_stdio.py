"""Messages over stdin and stdout: whole, in order, in as few writes as reads."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.server_process import PING, PONG

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server_process import ServerProcess


def test_the_answers_of_one_read_leave_in_one_write(start: Callable[..., ServerProcess]) -> None:
    server = start().open()
    server.send(b"".join(PING % i for i in range(200)))
    assert server.chunk() == b"".join(PONG % i for i in range(200))


def test_a_message_that_comes_byte_by_byte_is_one_message(start: Callable[..., ServerProcess]) -> None:
    server = start()
    for byte in PING % 7:
        server.send(bytes([byte]))
    assert server.lines(1) == [PONG % 7]


def test_many_first_messages_in_one_write_are_all_answered_in_order(start: Callable[..., ServerProcess]) -> None:
    server = start()
    server.send(b"".join(PING % i for i in range(1000)))
    assert server.lines(1000) == [PONG % i for i in range(1000)]


def test_a_line_of_ten_megabytes_is_served(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open()
    text = "ä" * 5_000_000
    server.send({"jsonrpc": "2.0", "id": text, "method": "ping"})
    assert server.answers(1) == [{"jsonrpc": "2.0", "id": text, "result": {}}]


def test_answers_larger_than_any_buffer_come_whole_and_what_follows_too(start: Callable[..., ServerProcess]) -> None:
    server = start().open()
    ids = [f"{i}" * 300_000 for i in range(9)]
    server.send(*({"jsonrpc": "2.0", "id": id_, "method": "ping"} for id_ in ids))
    assert [answer["id"] for answer in server.answers(9)] == ids


def test_a_quick_answer_overtakes_a_slow_call(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open()
    server.send(
        {
            "jsonrpc": "2.0",
            "id": "slow",
            "method": "tools/call",
            "params": {"name": "test_slow", "arguments": {"ms": 200}},
        },
        PING % 1,
    )
    assert [answer["id"] for answer in server.answers(2)] == [1, "slow"]


def test_text_on_the_wire_is_utf_8_whatever_the_locale(
    start: Callable[..., ServerProcess], environ: dict[str, str]
) -> None:
    server = start(environ={**environ, "LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "latin-1"}).open()
    server.send('{"jsonrpc":"2.0","id":"ä\N{GRINNING FACE}","method":"ping"}\n'.encode())
    assert server.answers(1) == [{"jsonrpc": "2.0", "id": "ä\N{GRINNING FACE}", "result": {}}]


def test_nothing_that_is_printed_reaches_the_client(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open()
    answer = server.call("test_stray_output", {})
    assert answer["result"]["content"] == [{"type": "text", "text": "Wrote everywhere, read b'' from stdin."}]
    server.close_stdin()
    assert server.rest() == b""
    assert server.status() == 0
    said = server.stderr()
    assert '[Server] {"jsonrpc":"2.0","id":1,"result":{}}\n' in said
    assert "stray bytes on 1\n" in said
    assert "a child that inherits 1\n" in said


@pytest.mark.parametrize("kind", ["exception", "exit"])
def test_a_bug_is_told_on_stderr_and_the_next_call_works(start: Callable[..., ServerProcess], kind: str) -> None:
    server = start("conformance").open()
    error = server.call("test_unexpected_exception", {"kind": kind})["error"]
    assert error["code"] == -32603
    assert "secret" not in json.dumps(error)
    assert server.request("ping", id=2)["result"] == {}
    reference = error["message"].removeprefix("Internal error (ref ").removesuffix(")")
    lines = server.stderr().splitlines()
    assert f"[Server] Internal error (ref {reference})" in lines
    assert all(line.startswith("[Server] ") for line in lines)


def test_a_server_outlives_the_thread_that_started_it(start: Callable[..., ServerProcess]) -> None:
    """PDEATHSIG would fire when that thread ends."""
    import threading

    servers: list[ServerProcess] = []
    thread = threading.Thread(target=lambda: servers.append(start().open()))
    thread.start()
    thread.join()
    assert servers[0].request("ping")["result"] == {}


def test_the_wire_is_off_the_standard_descriptors(start: Callable[..., ServerProcess]) -> None:
    server = start().open()
    assert server.descriptor(0) == os.devnull
    assert server.descriptor(1) == server.descriptor(2) == str(server.stderr_path)
