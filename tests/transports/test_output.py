"""The queue of lines to the client, on real pipes: order, memory, and who waits how long."""

from __future__ import annotations

import os
import threading
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from scorpio.limits import QUEUED_BYTES_MAX
from scorpio.transports.stdio import Output
from scorpio.transports.wire_guard import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

BOUND_S = 60.0


class Pipes:
    """A wire and its other ends."""

    def __init__(self) -> None:
        stdin_read, self.stdin_fd = os.pipe()
        self.stdout_fd, stdout_write = os.pipe()
        self.output = Output(Wire(stdin_read, stdout_write))

    def read(self, size_bytes: int) -> bytes:
        parts = []
        while size_bytes:
            parts.append(os.read(self.stdout_fd, size_bytes))
            size_bytes -= len(parts[-1])
        return b"".join(parts)


@pytest.fixture
def pipes() -> Iterator[Pipes]:
    pipes = Pipes()
    yield pipes
    for descriptor in (pipes.stdin_fd, pipes.stdout_fd):
        try:
            os.close(descriptor)
        except OSError:  # the test closed it
            pass


def test_what_fits_is_written_at_once(pipes: Pipes) -> None:
    pipes.output.write(b"line\n")
    assert (pipes.output.queued_bytes, pipes.read(5)) == (0, b"line\n")


def test_short_lines_in_the_queue_cost_little_more_than_their_bytes(pipes: Pipes) -> None:
    lines = [b"%07d\n" % i for i in range(QUEUED_BYTES_MAX // 8)]
    tracemalloc.start()
    for line in lines:
        pipes.output.write(line)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < QUEUED_BYTES_MAX * 3 // 2
    assert pipes.read(QUEUED_BYTES_MAX) == b"".join(lines)


def test_long_and_short_lines_come_in_the_order_in_which_they_were_written(pipes: Pipes) -> None:
    lines = [b"%d" % i * size + b"\n" for i in range(10) for size in (1, 100_000, 3, 70_000, 65_536)]
    for line in lines:
        pipes.output.write(line)
    whole = b"".join(lines)
    assert pipes.read(len(whole)) == whole


def test_lines_of_many_threads_are_whole(pipes: Pipes) -> None:
    def write(name: bytes) -> None:
        for size in range(0, 20_000, 97):
            pipes.output.write(name * size + b"\n")

    threads = [threading.Thread(target=write, args=(b"%x" % i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    expected = 8 * sum(size + 1 for size in range(0, 20_000, 97))
    lines = pipes.read(expected).splitlines()
    for thread in threads:
        thread.join(BOUND_S)
    assert all(len(set(line)) <= 1 for line in lines)
    by_thread = [[len(line) for line in lines if line.startswith(b"%x" % i)] for i in range(8)]
    assert by_thread == [[*range(97, 20_000, 97)]] * 8


def test_waiting_ends_when_the_client_has_read_enough(pipes: Pipes) -> None:
    pipes.output.write(b"x" * 1_000_000)
    reader = threading.Thread(target=pipes.read, args=(700_000,))
    reader.start()
    assert pipes.output.wait_below(500_000)
    reader.join(BOUND_S)
    assert pipes.output.queued_bytes < 500_000


def test_waiting_ends_with_the_time_that_was_given(pipes: Pipes) -> None:
    pipes.output.write(b"x" * 1_000_000)
    assert not pipes.output.wait_below(1, time.monotonic() + 0.05)


def test_a_reader_that_goes_on_is_waited_for_past_the_time(pipes: Pipes) -> None:
    pipes.output.write(b"x" * 50_000_000)
    reader = threading.Thread(target=pipes.read, args=(50_000_000,))
    reader.start()
    assert pipes.output.wait_below(1, time.monotonic() + 0.001, stall_s=BOUND_S)
    reader.join(BOUND_S)


def test_waiting_without_a_time_ends_some_time_after_the_client_hung_up(pipes: Pipes) -> None:
    pipes.output.write(b"x" * 1_000_000)
    os.close(pipes.stdin_fd)
    assert not pipes.output.wait_below(1)


def test_a_client_that_closed_its_end_is_not_written_to(pipes: Pipes) -> None:
    pipes.output.write(b"x" * 1_000_000)
    os.close(pipes.stdout_fd)
    assert pipes.output.wait_below(1)
    assert (pipes.output.broken, pipes.output.queued_bytes) == (True, 0)
    pipes.output.write(b"line\n")
    assert pipes.output.queued_bytes == 0


def test_what_may_be_lost_is_not_queued_behind_a_full_queue(pipes: Pipes) -> None:
    pipes.output.write(b"x" * (QUEUED_BYTES_MAX + 100_000))
    queued_bytes = pipes.output.queued_bytes
    pipes.output.offer(b"progress\n")
    assert pipes.output.queued_bytes == queued_bytes
    pipes.output.write(b"answer\n")
    assert pipes.output.queued_bytes == queued_bytes + len(b"answer\n")
