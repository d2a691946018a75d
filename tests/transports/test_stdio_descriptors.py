"""Every kind of thing a client may hand over as stdin, stdout and stderr, or not at all."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import socket
import subprocess
import tty
from typing import TYPE_CHECKING

import pytest

from scorpio.limits import QUEUED_BYTES_MAX
from tests.lacking import lacking
from tests.server_process import PING, PONG, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.server_process import ServerProcess

SH = ("sh", "-c")


def closed(descriptors: str) -> list[str]:
    """A shell that becomes the server with these descriptors closed."""
    return [*SH, f'exec "$@" {descriptors}', "sh"]


def is_non_blocking(descriptor: int) -> bool:
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_NONBLOCK)


# -- closed at start


def test_with_stderr_closed_it_serves_and_no_file_of_its_own_lands_there(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance", wrapped=closed("2>&-")).open()
    assert server.call("test_unexpected_exception", {"kind": "exception"})["error"]["code"] == -32603
    assert server.call("test_stray_output", {})["result"]["isError"] is False
    assert [server.descriptor(number) for number in (0, 1, 2)] == [os.devnull] * 3
    server.close_stdin()
    assert (server.rest(), server.status()) == (b"", 0)


@pytest.mark.parametrize("descriptors", ["<&-", "<&- 2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_with_stdin_closed_it_ends(start: Callable[..., ServerProcess], descriptors: str) -> None:
    server = start(wrapped=closed(descriptors))
    assert (server.status(), server.rest()) == (0, b"")


@pytest.mark.parametrize("descriptors", [">&-", ">&- 2>&-"])
def test_with_stdout_closed_it_ends_with_its_input(start: Callable[..., ServerProcess], descriptors: str) -> None:
    server = start(wrapped=closed(descriptors))
    server.send(PING % 1)
    server.close_stdin()
    assert (server.status(), server.rest()) == (0, b"")
    assert "Traceback" not in server.stderr()


# -- files and the null device


def test_with_the_null_device_as_stdin_it_ends(start: Callable[..., ServerProcess]) -> None:
    with open(os.devnull, "rb") as null:
        assert start(stdin=null.fileno()).status() == 0


def test_with_the_null_device_as_stdout_it_serves_until_the_end(start: Callable[..., ServerProcess]) -> None:
    with open(os.devnull, "wb") as null:
        server = start(stdout=null.fileno())
        server.send(b"".join(PING % i for i in range(100_000)))
        server.close_stdin()
        assert server.status() == 0


def test_a_file_of_requests_becomes_a_file_of_answers(start: Callable[..., ServerProcess], tmp_path: Path) -> None:
    requests, answers = tmp_path / "requests", tmp_path / "answers"
    requests.write_bytes(b"".join(PING % i for i in range(50_000)).rstrip())
    with requests.open("rb") as read, answers.open("wb") as written:
        assert start(stdin=read.fileno(), stdout=written.fileno()).status() == 0
    assert answers.read_bytes() == b"".join(PONG % i for i in range(50_000))


# -- sockets: what Node.js gives its children


def test_a_socket_pair_for_each_stream_is_served(start: Callable[..., ServerProcess]) -> None:
    our_stdin, stdin = socket.socketpair()
    our_stdout, stdout = socket.socketpair()
    with our_stdin, stdin, our_stdout, stdout:
        server = start(stdin=stdin.fileno(), stdout=stdout.fileno())
        stdin.close()
        stdout.close()
        server.stdin_fd, server.stdout_fd = our_stdin.detach(), our_stdout.detach()
        server.open()
        id_ = "i" * 1_000_000
        assert server.request("ping", id=id_)["id"] == id_
        server.close_stdin()
        assert (server.rest(), server.status()) == (b"", 0)


def test_one_socket_for_both_streams_is_served_until_its_writing_half_is_shut(
    start: Callable[..., ServerProcess],
) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = start(stdin=theirs.fileno(), stdout=theirs.fileno())
        theirs.close()
        ours.sendall(b"".join(PING % i for i in range(10_000)))
        ours.shutdown(socket.SHUT_WR)
        server.stdout_fd = os.dup(ours.fileno())
        assert server.rest() == b"".join(PONG % i for i in range(10_000))
        assert server.status() == 0


@pytest.mark.parametrize("busy", [False, True])
def test_a_client_that_closes_its_socket_ends_it(start: Callable[..., ServerProcess], busy: bool) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = start("conformance", stdin=theirs.fileno(), stdout=theirs.fileno())
        theirs.close()
        server.stdin_fd = server.stdout_fd = ours.detach()
        server.open()
        if busy:
            server.start_slow()
        server.close_stdin()
        server.stdout_fd = -1
        assert server.status() == 0


# -- a terminal


@pytest.fixture
def terminal(start: Callable[..., ServerProcess]) -> Iterator[ServerProcess]:
    """A server on a terminal in raw mode."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    server = start("conformance", stdin=slave, stdout=slave)
    os.close(slave)
    server.stdin_fd = server.stdout_fd = master
    yield server
    server.stdout_fd = -1  # one descriptor, closed once


def test_on_a_terminal_it_serves_and_ends_with_it(terminal: ServerProcess) -> None:
    terminal.open()
    assert terminal.call("test_simple_text", {})["result"]["isError"] is False
    terminal.close_stdin()
    assert terminal.status() == 0


def test_a_terminal_that_nobody_reads_does_not_hold_the_end(terminal: ServerProcess) -> None:
    terminal.open()
    os.set_blocking(terminal.stdin_fd, False)
    poll = select.poll()
    poll.register(terminal.stdin_fd, select.POLLOUT)
    for i in range(20_000):
        if not poll.poll(1000):
            break
        os.write(terminal.stdin_fd, PING % i)
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.status() == 0


# -- the client's end of a description


def test_no_inherited_pipe_becomes_non_blocking(start: Callable[..., ServerProcess]) -> None:
    """The flag belongs to the description: it would change the client's end, or its terminal, too."""
    pipes = [os.pipe() for _ in range(3)]
    (their_stdin, stdin_fd), (stdout_fd, their_stdout), (stderr_fd, their_stderr) = pipes
    try:
        server = start("conformance", stdin=their_stdin, stdout=their_stdout, stderr=their_stderr)
        server.stdin_fd, server.stdout_fd = os.dup(stdin_fd), os.dup(stdout_fd)
        server.open()
        server.call("test_unexpected_exception", {"kind": "exception"})
        server.send(b"".join(PING % i for i in range(20_000)))
        assert readable(stderr_fd, 0)
        assert not [end for pipe in pipes for end in pipe if is_non_blocking(end)]
    finally:
        for end in (end for pipe in pipes for end in pipe):
            os.close(end)


def test_no_inherited_socket_becomes_non_blocking(start: Callable[..., ServerProcess]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = start(stdin=theirs.fileno(), stdout=theirs.fileno())
        server.stdin_fd = server.stdout_fd = os.dup(ours.fileno())
        server.open()
        server.send(b"".join(PING % i for i in range(20_000)))
        assert not is_non_blocking(theirs.fileno())
        assert not is_non_blocking(ours.fileno())


def test_an_inherited_description_that_is_non_blocking_is_read_all_the_same(
    start: Callable[..., ServerProcess],
) -> None:
    theirs, ours = os.pipe()
    os.set_blocking(theirs, False)
    server = start(stdin=theirs)
    server.stdin_fd = ours
    os.close(theirs)
    server.open()
    for i in range(50):  # it is back at its read before the next one comes
        assert server.request("ping", id=i)["result"] == {}
    server.close_stdin()
    assert server.status() == 0


@pytest.mark.parametrize("end", ["signal", "hang-up", "read"])
@pytest.mark.builds("source")
def test_a_pipe_that_cannot_be_opened_again_holds_nobody(start: Callable[..., ServerProcess], end: str) -> None:
    """Another user's pipe, or no /proc: the description stays blocking, and what blocks must be asked first."""
    hidden = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    probe = subprocess.run([*hidden, "mount", "-t", "tmpfs", "none", "/proc"], capture_output=True, check=False)
    if probe.returncode != 0:
        lacking("needs mount namespaces")
    server = start("conformance", wrapped=[*hidden, *SH, 'mount -t tmpfs none /proc; exec "$@"', "sh"]).open()
    count = QUEUED_BYTES_MAX // 4 // len(PONG)
    server.send(b"".join(PING % i for i in range(count)))
    assert readable(server.stdout_fd, 10)
    if end == "signal":
        os.kill(server.pid, signal.SIGTERM)
    elif end == "hang-up":
        server.close_stdin()
    else:
        assert server.lines(count) == [PONG % i for i in range(count)]
        server.close_stdin()
        assert server.rest() == b""
    assert server.status() == 0
