"""The supervisor's side of the control socket, word by word: both supervisors say the same."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scorpio.supervisors import TWIN
from tests.process.commands import ROOT, living, read, wait_until


class Talk:
    def __init__(self, supervisor: str) -> None:
        self.socket, theirs = socket.socketpair()
        argv = [supervisor] if supervisor else [sys.executable, "-I", "-S", "-c", TWIN, str(ROOT)]
        self.pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)])
        theirs.close()
        self.socket.settimeout(20)

    def job(self, tmp_path: Path, command: str, *, survive: str = "0", status: str = "") -> None:
        fields = [
            survive,
            "100",
            "100",
            "25",
            "500",
            "0",
            "/",
            f"{tmp_path}/log",
            status,
            "",
            "/bin/sh",
            "0",
            "3",
            "sh",
            "-c",
            command,
        ]
        body = "".join(field + "\0" for field in [*fields, "PATH=/usr/bin:/bin"]).encode()
        self.socket.sendall(b"%08d%b" % (len(body), body))

    def started(self) -> None:
        while b"started" not in self.socket.recv(64, socket.MSG_PEEK):
            pass

    def all(self) -> list[str]:
        """Every line until it ended; numbers of processes as N."""
        said = b""
        try:
            while data := self.socket.recv(4096):
                said += data
        except ConnectionResetError:
            pass  # it ended without reading all that it was told
        lines = [line.split(" ") for line in said.decode().splitlines()]
        return [" ".join([words[0], *(["N"] * 2 if words[0] == "started" else words[1:])]) for words in lines]


@pytest.fixture
def talk(supervisor: str) -> Iterator[Talk]:
    talk = Talk(supervisor)
    yield talk
    talk.socket.close()
    os.waitpid(talk.pid, 0)


def test_end_is_told_in_three_lines(talk: Talk, tmp_path: Path) -> None:
    talk.job(tmp_path, "exit 3")
    assert talk.all() == ["started N N", "exited 3 -1 -", "gone"]


def test_terminate_is_answered_after_gone(talk: Talk, tmp_path: Path) -> None:
    talk.job(tmp_path, "exec sleep 1000")
    talk.started()
    talk.socket.sendall(b"termin")
    talk.socket.sendall(b"ate 1000\n")
    assert talk.all() == ["started N N", "exited -1 15 -", "gone", "killed 1"]


def test_unknown_words_are_passed_over(talk: Talk, tmp_path: Path) -> None:
    talk.job(tmp_path, "exec sleep 1000")
    talk.started()
    talk.socket.sendall(b"hello\n" + b"x" * 500 + b"\nterminate 1000\n")
    assert talk.all()[-1] == "killed 1"


@pytest.mark.parametrize(
    "job",
    [
        b"",
        b"0000",
        b"00000000",
        b"000000040\0/\0",
        b"00000010short",
        b"99999999" + b"x" * 99,
        b"00000026" + b"0\0" * 12 + b"a\0",
        b"00000028" + b"0\0" * 11 + b"3\0a\0b\0",
    ],
)
def test_broken_job_starts_nothing(talk: Talk, job: bytes) -> None:
    talk.socket.sendall(job)
    talk.socket.shutdown(socket.SHUT_WR)
    assert talk.all() == ["failed 22 job"]


def test_end_of_the_socket_is_the_end_of_the_command(talk: Talk, tmp_path: Path, tag: str) -> None:
    talk.job(tmp_path, f"trap '' TERM; setsid sleep {tag} & sleep {tag}", status=f"{tmp_path}/status")
    assert wait_until(lambda: len(living(tag)) == 2)
    talk.socket.close()
    assert wait_until(lambda: not living(tag))
    assert wait_until(lambda: read(tmp_path / "status").startswith(b"exited -1 9 server "))


def test_status_that_cannot_be_written_does_not_stop_the_end(talk: Talk, tmp_path: Path) -> None:
    talk.job(tmp_path, "exit 3", status="/no/such/status")
    assert talk.all() == ["started N N", "exited 3 -1 -", "gone"]
