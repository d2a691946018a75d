"""A client that does not read: what the server keeps, when it stops, and that nothing of it is lost."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from scorpio.limits import QUEUED_BYTES_MAX
from tests.server_process import BOUND_S, PING, PONG

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server_process import ServerProcess

STUCK_S = 1.0
"""A server that takes nothing for this long has stopped reading; one that is only slow makes a test weaker."""

GREW_BYTES_MAX = 20_000_000
ANSWERS_BYTES_MIN = QUEUED_BYTES_MAX * 3 // 2


class Writer:
    """Writes until the server takes no more, and the rest when it does again."""

    def __init__(self, descriptor: int, data: bytes, write_bytes: int) -> None:
        self.descriptor = descriptor
        self._left = memoryview(data)
        self._write_bytes = write_bytes
        self.taken_bytes = 0
        os.set_blocking(descriptor, False)

    def until_stuck(self) -> None:
        poll = select.poll()
        poll.register(self.descriptor, select.POLLOUT)
        while self._left and poll.poll(STUCK_S * 1000):
            self._write()

    def to_the_end(self) -> None:
        poll = select.poll()
        poll.register(self.descriptor, select.POLLOUT)
        while self._left:
            assert poll.poll(BOUND_S * 1000), "the server does not read on"
            self._write()

    def _write(self) -> None:
        try:
            written = os.write(self.descriptor, self._left[: self._write_bytes])
        except BlockingIOError:
            return
        self.taken_bytes += written
        self._left = self._left[written:]


def pings(count: int) -> bytes:
    return b"".join(PING % i for i in range(count))


def pongs(count: int) -> bytes:
    return b"".join(PONG % i for i in range(count))


ENOUGH = ANSWERS_BYTES_MIN // 43
"""Pings whose answers are half as much again as a server keeps."""


@pytest.mark.parametrize("write_bytes", [1 << 16, len(PING % 100_000)], ids=["64 KiB a write", "one ping a write"])
def test_a_client_that_does_not_read_is_kept_waiting_and_gets_everything_later(
    start: Callable[..., ServerProcess], write_bytes: int
) -> None:
    server = start().open()
    before_bytes = server.peak_bytes()
    writer = Writer(server.stdin_fd, pings(ENOUGH), write_bytes)
    writer.until_stuck()
    assert writer.taken_bytes < QUEUED_BYTES_MAX * 3 // 2
    assert server.peak_bytes() - before_bytes < GREW_BYTES_MAX
    thread = threading.Thread(target=writer.to_the_end)
    thread.start()
    assert b"".join(server.lines(ENOUGH)) == pongs(ENOUGH)
    thread.join(BOUND_S)
    assert server.peak_bytes() - before_bytes < GREW_BYTES_MAX
    server.close_stdin()
    assert (server.rest(), server.status()) == (b"", 0)


def test_small_requests_with_large_answers_are_not_taken_without_end(start: Callable[..., ServerProcess]) -> None:
    """One read of requests can ask for more than the whole bound."""
    server = start("conformance").open()
    server.send({"jsonrpc": "2.0", "id": 0, "method": "tools/list"})
    [answer] = server.lines(1)
    before_bytes = server.peak_bytes()
    count = ANSWERS_BYTES_MIN // len(answer)
    requests = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n' % i for i in range(count))
    writer = Writer(server.stdin_fd, requests, 1 << 16)
    writer.until_stuck()
    assert server.peak_bytes() - before_bytes < GREW_BYTES_MAX
    thread = threading.Thread(target=writer.to_the_end)
    thread.start()
    assert [json.loads(line)["id"] for line in server.lines(count)] == [*range(count)]
    thread.join(BOUND_S)


@pytest.fixture
def stuck(start: Callable[..., ServerProcess]) -> ServerProcess:
    """A server that waits for its client to read."""
    server = start("conformance").open()
    Writer(server.stdin_fd, pings(ENOUGH), 1 << 16).until_stuck()
    return server


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_server_that_waits_for_its_client(stuck: ServerProcess, number: signal.Signals) -> None:
    os.kill(stuck.pid, number)
    assert stuck.status() == 0


def test_a_client_that_hangs_up_ends_a_server_that_waits_for_it(stuck: ServerProcess) -> None:
    stuck.close_stdin()
    assert stuck.status() == 0


def test_a_client_that_closes_stdout_ends_a_server_that_waits_for_it(stuck: ServerProcess) -> None:
    stuck.close_stdout()
    assert stuck.status() == 0


def test_a_client_that_has_hung_up_and_reads_gets_all_that_was_read_of_it(stuck: ServerProcess) -> None:
    """`producer | scorpio | slow consumer`: the producer ends while megabytes wait for the consumer."""
    stuck.close_stdin()
    lines = stuck.rest().splitlines(keepends=True)
    assert lines == [PONG % i for i in range(len(lines))]
    assert sum(map(len, lines)) > QUEUED_BYTES_MAX
    assert stuck.status() == 0


def test_a_file_of_requests_is_answered_whole_to_a_reader_that_begins_late(
    start: Callable[..., ServerProcess], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("requests") / "requests"
    path.write_bytes(pings(ENOUGH))
    with path.open("rb") as requests:
        server = start(stdin=requests.fileno())
        assert b"".join(server.lines(ENOUGH)) == pongs(ENOUGH)
        assert (server.rest(), server.status()) == (b"", 0)


def test_progress_is_dropped_and_answers_are_kept_for_a_client_that_does_not_read(
    start: Callable[..., ServerProcess],
) -> None:
    server = start("conformance").open()
    token = "t" * 100_000
    params = {"name": "test_slow", "arguments": {"ms": 1, "steps": 1000}, "_meta": {"progressToken": token}}
    before_bytes = server.peak_bytes()
    server.send({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params}, PING % 1)
    messages = {}
    progress = 0
    while "slow" not in messages:
        [message] = server.answers(1)
        if "id" in message:
            messages[message["id"]] = message
        else:
            progress += 1
    assert messages["slow"]["result"]["isError"] is False
    assert 0 < progress <= 1000
    assert server.peak_bytes() - before_bytes < 3 * QUEUED_BYTES_MAX


def test_a_client_that_does_not_read_stderr_is_served(start: Callable[..., ServerProcess]) -> None:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    server = start("conformance", stderr=theirs).open()
    os.close(theirs)
    for i in range(300):  # a traceback each: four times what a pipe holds
        assert server.call("test_unexpected_exception", {"kind": "exception"}, id=i)["error"]["code"] == -32603
    assert server.request("ping", id="after")["result"] == {}
    said = os.read(ours, 1 << 20)
    server.call("test_unexpected_exception", {"kind": "exception"}, id="again")
    said += os.read(ours, 1 << 20)
    os.close(ours)
    assert b" lines dropped: nobody read stderr)\n" in said
    assert all(line.startswith(b"[Server] ") for line in said.splitlines())
    server.close_stdin()
    assert server.status() == 0


def test_bad_lines_without_end_are_answered_twenty_times_a_second_and_counted(
    start: Callable[..., ServerProcess],
) -> None:
    server = start().open()
    server.send(b"{bad\n" * 1000, PING % 1)
    lines = server.lines(1)
    while lines[-1] != PONG % 1:
        lines += server.lines(1)
    assert 20 <= len(lines[:-1]) <= 200
    assert {json.loads(line)["error"]["code"] for line in lines[:-1]} == {-32700}
    assert "Too many broken messages at once" in server.stderr()


def test_a_socket_that_nobody_reads_holds_the_server_and_loses_nothing(start: Callable[..., ServerProcess]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = start(stdin=theirs.fileno(), stdout=theirs.fileno())
        server.stdin_fd = server.stdout_fd = os.dup(ours.fileno())
        server.open()
        before_bytes = server.peak_bytes()
        writer = Writer(server.stdin_fd, pings(ENOUGH), 1 << 16)
        writer.until_stuck()
        assert server.peak_bytes() - before_bytes < GREW_BYTES_MAX
        thread = threading.Thread(target=writer.to_the_end)
        thread.start()
        assert b"".join(server.lines(ENOUGH)) == pongs(ENOUGH)
        thread.join(BOUND_S)
        os.kill(server.pid, signal.SIGTERM)
        assert server.status() == 0
