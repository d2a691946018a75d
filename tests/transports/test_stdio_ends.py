"""Every way a server on stdio ends: with status 0, soon, with its answers written and nothing left behind."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from scorpio.limits import STALL_MS_MAX
from tests.server_process import BOUND_S, END_BOUND_S, PING, PONG, ended, processes_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server_process import ServerProcess

DRIP_S = 0.1
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def slow_call(id_: str, ms: int) -> bytes:
    params = {"name": "test_slow", "arguments": {"ms": ms}}
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}).encode() + b"\n"


# -- the end of input


def test_end_of_input_before_anything_ends_it(start: Callable[..., ServerProcess]) -> None:
    server = start()
    server.close_stdin()
    assert (server.status(), server.rest(), server.stderr()) == (0, b"", "")


def test_end_of_input_after_the_handshake_ends_it(start: Callable[..., ServerProcess]) -> None:
    server = start().open()
    server.close_stdin()
    assert (server.status(), server.rest(), server.stderr()) == (0, b"", "")


@pytest.mark.parametrize("handshake", [True, False])
def test_requests_that_were_read_before_the_end_are_answered(
    start: Callable[..., ServerProcess], handshake: bool
) -> None:
    server = start()
    if handshake:
        server.open()
    server.send(*(PING % i for i in range(500)))
    server.close_stdin()
    assert server.rest() == b"".join(PONG % i for i in range(500))
    assert server.status() == 0


@pytest.mark.parametrize("handshake", [True, False])
@pytest.mark.parametrize("half", [b'{"jsonrpc":"2.0",', b"\xff", b"  ", b'{"jsonrpc":"2.0","id":1,"method":"ping"'])
def test_half_a_line_at_the_end_is_dropped(start: Callable[..., ServerProcess], half: bytes, handshake: bool) -> None:
    server = start()
    if handshake:
        server.open()
    server.send(half)
    server.close_stdin()
    assert (server.status(), server.rest()) == (0, b"")


@pytest.mark.parametrize("handshake", [True, False])
def test_a_whole_message_without_its_newline_at_the_end_is_served(
    start: Callable[..., ServerProcess], handshake: bool
) -> None:
    server = start()
    if handshake:
        server.open()
    server.send((PING % 7).rstrip())
    server.close_stdin()
    assert (server.rest(), server.status()) == (PONG % 7, 0)


def test_a_call_that_ends_soon_is_answered_after_the_end_of_input(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open()
    server.send(slow_call("soon", 100))
    server.close_stdin()
    assert json.loads(server.rest())["result"]["content"][0]["text"] == "Slept for 100 ms."
    assert server.status() == 0


def test_a_call_that_does_not_end_is_given_up(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open()
    server.start_slow()
    server.close_stdin()
    assert b'"id":"slow"' not in server.rest()
    assert server.status() == 0


def test_a_question_that_nobody_will_answer_does_not_hold_the_end(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance")
    info = {"name": "tests", "version": "1"}
    capabilities = {"protocolVersion": "2025-11-25", "capabilities": {"sampling": {}}, "clientInfo": info}
    server.request("initialize", capabilities)
    params = {"name": "test_sampling", "arguments": {"prompt": "?"}}
    server.send({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params})
    assert server.answers(1)[0]["method"] == "sampling/createMessage"
    server.close_stdin()
    answer = [message for message in map(json.loads, server.rest().splitlines()) if message.get("id") == 5]
    assert answer[0]["result"]["isError"] is True
    assert server.status() == 0


def test_an_open_subscription_is_answered_at_the_end(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance")
    prefix = "io.modelcontextprotocol/"
    meta = {prefix + "protocolVersion": "2026-07-28", prefix + "clientCapabilities": {}}
    params = {"_meta": meta, "notifications": {"toolsListChanged": True}}
    server.send({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params})
    assert server.answers(1)[0]["method"] == "notifications/subscriptions/acknowledged"
    server.close_stdin()
    answer = json.loads(server.rest())
    assert (answer["id"], answer["result"]["_meta"][prefix + "subscriptionId"]) == ("l", "l")
    assert server.status() == 0


# -- asked to go


def test_shutdown_is_answered_null_and_nothing_after_it_is_served(start: Callable[..., ServerProcess]) -> None:
    server = start().open()
    server.send({"jsonrpc": "2.0", "id": 1, "method": "shutdown"}, PING % 2)
    assert server.rest() == b'{"jsonrpc":"2.0","id":1,"result":null}\n'
    assert server.status() == 0


def test_exit_ends_it_without_a_word(start: Callable[..., ServerProcess]) -> None:
    server = start().open()
    server.send({"jsonrpc": "2.0", "method": "exit"}, PING % 2)
    assert (server.rest(), server.status()) == (b"", 0)


def test_exit_as_the_first_message_ends_it(start: Callable[..., ServerProcess]) -> None:
    server = start()
    server.send({"jsonrpc": "2.0", "method": "exit"})
    assert (server.rest(), server.status()) == (b"", 0)


# -- signals


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_it(start: Callable[..., ServerProcess], number: signal.Signals, busy: bool) -> None:
    server = start("conformance").open()
    if busy:
        server.start_slow()
    os.kill(server.pid, number)
    assert server.status() == 0
    assert "Traceback" not in server.stderr()


def test_signals_one_after_the_other_end_it_once(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open()
    server.start_slow()
    for number in (*SIGNALS, *SIGNALS):
        os.kill(server.pid, number)
    assert server.status() == 0
    assert "Traceback" not in server.stderr()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_it_starts_ends_it(
    start: Callable[..., ServerProcess], environ: dict[str, str], number: signal.Signals
) -> None:
    """The signal may come before there is anything to end in order."""
    for wait_for in (lambda server: True, lambda server: server.is_serving()):
        server = start()
        while not wait_for(server):
            os.sched_yield()
        os.kill(server.pid, number)
        assert server.status() in (0, -number, 130)
        assert server.rest() == b""
        assert not list(processes_with(environ["SCORPIO_HOME"]))


def test_a_signal_at_any_moment_of_a_call_ends_it(start: Callable[..., ServerProcess]) -> None:
    """Also while asyncio is imported for the first slow call."""
    for _ in range(5):
        server = start("conformance").open()
        server.send(slow_call("s", 60_000))
        os.kill(server.pid, signal.SIGTERM)
        assert server.status() == 0


def test_after_sigkill_nothing_is_left(start: Callable[..., ServerProcess], environ: dict[str, str]) -> None:
    server = start("conformance").open()
    server.start_slow()
    os.kill(server.pid, signal.SIGKILL)
    assert server.status() == -signal.SIGKILL
    assert not list(processes_with(environ["SCORPIO_HOME"]))


def test_a_signal_ends_a_server_that_is_stopped_and_goes_on(start: Callable[..., ServerProcess]) -> None:
    server = start().open()
    os.kill(server.pid, signal.SIGSTOP)
    os.kill(server.pid, signal.SIGTERM)
    os.kill(server.pid, signal.SIGCONT)
    assert server.status() == 0


# -- the client goes


@pytest.mark.parametrize("busy", [False, True])
def test_a_client_that_closes_stdout_ends_it(start: Callable[..., ServerProcess], busy: bool) -> None:
    server = start("conformance").open()
    if busy:
        server.start_slow()
    server.close_stdout()
    assert server.status() == 0


PARENT = """
import os, subprocess, sys
command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
server.stdin.flush()
assert server.stdout.readline()
holder = subprocess.Popen(["sleep", "600"], stdout=server.stdin, stderr=server.stdin, stdin=server.stdout)
print(server.pid, holder.pid, flush=True)
sys.stdin.read()
"""
"""A client that starts a server, and a third process that has the pipes too."""


def test_it_ends_with_its_parent_while_a_third_process_holds_the_pipes(
    command: Callable[..., list[str]], environ: dict[str, str]
) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *command("sum")],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    others: list[int] = []
    try:
        others += map(int, parent.stdout.readline().split())
        server, holder = others
        parent.kill()
        parent.wait(BOUND_S)
        assert ended(server)
        os.kill(holder, 0)  # it did hold the pipes until now
    finally:
        parent.kill()
        parent.wait(BOUND_S)
        parent.stdin.close()
        parent.stdout.close()
        for pid in others:
            if pid in processes_with(environ["SCORPIO_HOME"]):
                os.kill(pid, signal.SIGKILL)


# -- what hangs


HANGING = """
import sys, time
from scorpio.app import build_server
from scorpio.transports import stdio
from scorpio.transports.wire_guard import claim

wire = claim()
server = build_server(["sum"])
server.close = {close}
stdio.serve(server, wire)
"""


@pytest.mark.builds("source")
@pytest.mark.parametrize("close", ["lambda: time.sleep(600)", "lambda: 1 / 0", "sys.exit"])
def test_a_state_that_hangs_or_fails_does_not_hold_the_end(
    start: Callable[..., ServerProcess], environ: dict[str, str], close: str
) -> None:
    server = start(wrapped=[sys.executable, "-c", HANGING.format(close=close)]).open()
    server.close_stdin()
    assert server.status() == 0


def test_a_client_that_never_reads_does_not_hold_the_end(start: Callable[..., ServerProcess]) -> None:
    server = start().open()
    server.send(b"".join(PING % i for i in range(50_000)))
    server.close_stdin()
    assert server.status() == 0


def test_a_client_that_reads_late_gets_all_after_the_end_of_input(start: Callable[..., ServerProcess]) -> None:
    server = start().open()
    server.send(b"".join(PING % i for i in range(50_000)))
    server.close_stdin()
    assert server.rest() == b"".join(PONG % i for i in range(50_000))
    assert server.status() == 0


@pytest.mark.slow
def test_a_slow_reader_is_waited_for_but_not_by_a_server_that_is_told_to_go(
    start: Callable[..., ServerProcess],
) -> None:
    def take_a_little() -> None:
        select.select([], [], [], DRIP_S)
        os.read(server.stdout_fd, 4096)

    server = start().open()
    server.send(b"".join(PING % i for i in range(100_000)))
    server.close_stdin()
    for _ in range(int(2 * STALL_MS_MAX / 1000 / DRIP_S)):
        take_a_little()
    assert server.process.poll() is None
    os.kill(server.pid, signal.SIGTERM)
    end_s = time.monotonic() + END_BOUND_S
    while server.process.poll() is None:
        assert time.monotonic() < end_s, "it stays as long as somebody reads"
        take_a_little()
    assert server.status() == 0
