"""Lines on stderr: one an event, never blocking, nothing that could forge another."""

from __future__ import annotations

import fcntl
import os
import threading
from typing import TYPE_CHECKING

import pytest

from scorpio.log import LEVELS, LINE_BYTES_MAX, Log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """What reads the log, without blocking, and what it is written to."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    yield ours, theirs
    for descriptor in (ours, theirs):
        try:
            os.close(descriptor)
        except OSError:  # the test closed it
            pass


def read(descriptor: int) -> bytes:
    parts = []
    try:
        while chunk := os.read(descriptor, 1 << 20):
            parts.append(chunk)
    except BlockingIOError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", b"[Server] plain\n"),
        ("two\nlines", b"[Server] two\\x0alines\n"),
        ("\x1b[31mred\x1b[0m\r\0\x7f\x9b", b"[Server] \\x1b[31mred\\x1b[0m\\x0d\\x00\\x7f\\x9b\n"),
        ("ä\N{GRINNING FACE}", "[Server] ä\N{GRINNING FACE}\n".encode()),
        ("\ud800", b"[Server] \\ud800\n"),
    ],
)
def test_an_event_is_one_line_of_printable_utf_8(pipe: tuple[int, int], text: str, line: bytes) -> None:
    Log(descriptor=pipe[1]).info(text)
    assert read(pipe[0]) == line


@pytest.mark.parametrize("character", ["x", "ä", "\N{GRINNING FACE}"])
def test_a_long_event_is_cut_to_what_one_write_takes(pipe: tuple[int, int], character: str) -> None:
    Log(descriptor=pipe[1]).info(character * 100_000)
    said = read(pipe[0])
    assert LINE_BYTES_MAX - 4 < len(said) <= LINE_BYTES_MAX
    assert said.decode().endswith(character + "\n")


@pytest.mark.parametrize("least", LEVELS)
def test_events_below_the_level_are_not_written(pipe: tuple[int, int], least: str) -> None:
    log = Log(least, pipe[1])
    written: dict[str, Callable[[str], None]] = {
        "debug": log.debug, "info": log.info, "warning": log.warning, "error": log.error
    }  # fmt: skip
    for level, write in written.items():
        write(level)
    expected = [level for level in written if LEVELS.index(level) >= LEVELS.index(least)]
    assert read(pipe[0]).decode().splitlines() == [f"[Server] {level}" for level in expected]


def test_a_block_is_lines_of_its_own(pipe: tuple[int, int]) -> None:
    Log(descriptor=pipe[1]).block("Traceback\n  a line\n")
    assert read(pipe[0]) == b"[Server] Traceback\n[Server]   a line\n"


def test_what_a_full_pipe_does_not_take_is_dropped_and_counted(pipe: tuple[int, int]) -> None:
    log = Log(descriptor=pipe[1])
    for i in range(1000):
        log.info(f"{i} " + "x" * 200)
    before = read(pipe[0]).splitlines()
    log.info("after")
    assert read(pipe[0]).splitlines() == [
        b"[Server] (%d lines dropped: nobody read stderr)" % (1000 - len(before)),
        b"[Server] after",
    ]


def test_threads_that_fill_the_last_bytes_of_a_pipe_do_not_block_each_other(pipe: tuple[int, int]) -> None:
    """Both see room for one line; another process that writes there cannot be locked out either."""
    logs = [Log(descriptor=pipe[1]) for _ in range(4)]
    threads = [threading.Thread(target=lambda log=log: [log.info("x" * 4000) for _ in range(200)]) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert all(line == b"[Server] " + b"x" * 4000 for line in read(pipe[0]).splitlines())


def test_the_descriptor_that_was_given_stays_blocking(pipe: tuple[int, int]) -> None:
    Log(descriptor=pipe[1]).info("x")
    assert not fcntl.fcntl(pipe[1], fcntl.F_GETFL) & os.O_NONBLOCK


def test_a_log_without_a_reader_is_silent(pipe: tuple[int, int]) -> None:
    log = Log(descriptor=pipe[1])
    log.info("x")
    os.close(pipe[0])
    log.info("nobody")


def test_a_log_whose_descriptor_is_closed_is_silent(pipe: tuple[int, int]) -> None:
    os.close(pipe[1])
    Log(descriptor=pipe[1]).error("nowhere")
