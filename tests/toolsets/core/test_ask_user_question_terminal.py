"""AskUserQuestion on a real terminal: a pty, a server that has it, a person who types; and how it is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.links import ROOT, ChildProcess, server_command, source_command
from tests.server_process import ended
from tests.toolsets.core.terminal import (
    CLIENT_ON_TERMINAL,
    DOWN,
    ENTER,
    ESCAPE,
    Terminal,
    said,
    start_asking,
)
from tests.wire import Wire

PORT = {"question": "Which port?", "options": [{"label": "80", "description": "HTTP"}, "8080"]}
NAME = {"question": "What is it called?"}
KEYS = "Esc: "
RELAYED = "The user cannot be asked from here"

Serve = Callable[..., Wire]


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal(60, 20)
    yield opened
    opened.close()


@pytest.fixture
def serve(terminal: Terminal, environ: dict[str, str], tmp_path: Path) -> Iterator[Serve]:
    """A server on `terminal`, as the client of a person starts it; keywords are its environment."""
    wires: list[Wire] = []

    def start(group: str = "same", command: list[str] | None = None, **variables: str) -> Wire:
        environment = {**environ, "TERM": "xterm-256color", "ASK_TTY": "auto", **variables}
        program = [sys.executable, "-c", CLIENT_ON_TERMINAL, terminal.path, group]
        program += command or source_command(["core"])
        wires.append(Wire(ChildProcess(program, environment, tmp_path / "stderr", ROOT), "2025-11-25"))
        wires[-1].open()
        return wires[-1]

    yield start
    for wire in wires:
        if not wire.closed:
            wire.close()


def children(pid: int) -> list[int]:
    """Of any of its threads."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        found += Path(f"/proc/{pid}/task/{task}/children").read_text().split()
    return [int(child) for child in found]


def client_of(wire: Wire) -> int:
    assert isinstance(wire.link, ChildProcess)
    return wire.link.process.pid


def server_of(wire: Wire) -> int:
    return children(client_of(wire))[-1]


def dialog_of(wire: Wire) -> int:
    found = children(server_of(wire))
    [pid] = [pid for pid in found if b"answer" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    return pid


@pytest.mark.parametrize("kind", ["source", "frozen"])
def test_a_person_at_the_terminal_answers(terminal: Terminal, serve: Serve, kind: str) -> None:
    wire = serve(command=server_command(kind, ["core"]))
    id_ = start_asking(wire, PORT, NAME)
    terminal.shows("> 1. 80", KEYS)
    terminal.type(DOWN)
    terminal.shows("> 2. 8080")
    terminal.type(ENTER)
    terminal.shows("Question 2 of 2", "What is it called?", KEYS)
    terminal.type("Lärche 名\x7f木")
    terminal.shows(": Lärche 木")
    terminal.type(ENTER)
    assert said(wire, id_)["answers"] == [
        {"question": "Which port?", "selected": "8080"},
        {"question": "What is it called?", "selected": "Lärche 木", "other": True},
    ]
    terminal.wait_put_back()
    assert terminal.screen.unknown == []


def test_escape_cancels_and_is_a_result(terminal: Terminal, serve: Serve) -> None:
    wire = serve()
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    terminal.type(ESCAPE)
    assert said(wire, id_) == {"status": "cancelled"}
    terminal.wait_put_back()


def test_control_c_reaches_the_dialog_and_not_the_server(terminal: Terminal, serve: Serve) -> None:
    wire = serve()
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    terminal.type(b"\x03")
    assert said(wire, id_) == {"status": "cancelled"}
    wire.settle()


def test_keys_that_were_meant_for_something_else_answer_nothing(terminal: Terminal, serve: Serve) -> None:
    wire = serve()
    terminal.type("2\n")  # before there is a dialog
    id_ = start_asking(wire, PORT, NAME)
    terminal.shows("> 1. 80")
    terminal.type(ENTER)  # in the moment it appears
    assert "Question 1 of 2" in terminal.shows(KEYS)
    terminal.type(ESCAPE)
    assert said(wire, id_) == {"status": "cancelled"}


def test_a_resize_is_followed(terminal: Terminal, serve: Serve) -> None:
    wire = serve()
    id_ = start_asking(wire, {"question": "数据库" * 12, "options": ["词" * 20, "B"]})
    assert "数据库" * 9 + "数据\n库" + "数据库" * 2 in terminal.shows(KEYS)
    terminal.resize(31, 12)
    assert "\n" + "数据库" * 5 + "\n" in terminal.wait(lambda screen: KEYS in screen.text() and "B" in screen.text())
    assert "> 1. " + "词" * 12 + "\n     " + "词" * 8 in terminal.screen.text()
    assert max(len(row) for row in terminal.screen.cells) == 31
    terminal.resize(31, 5)
    terminal.shows("PgUp/PgDn")
    terminal.type(DOWN)
    terminal.shows("> 2. B")
    terminal.type(ESCAPE)
    assert said(wire, id_) == {"status": "cancelled"}


def test_no_colour_is_no_style_at_all(terminal: Terminal, serve: Serve) -> None:
    wire = serve(NO_COLOR="1")
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    assert not terminal.screen.styled
    terminal.type("1")
    assert said(wire, id_)["answers"][0]["selected"] == "80"


def test_colour_is_used_where_it_is_not_refused(terminal: Terminal, serve: Serve) -> None:
    wire = serve()
    start_asking(wire, PORT)
    terminal.shows(KEYS)
    assert terminal.screen.styled


def test_what_a_question_carries_does_not_reach_the_terminal(terminal: Terminal, serve: Serve) -> None:
    wire = serve()
    evil = "\x1b]0;owned\x07a\x1b[2J\x9b31mb\0c\x05"
    id_ = start_asking(wire, {"question": evil, "header": evil, "options": [{"label": evil, "description": evil}]})
    terminal.shows(KEYS)
    for part in (b"\x1b]", b"\x1b[2J", b"\x9b", b"\0", b"\x05", b"owned"):
        assert part not in terminal.seen
    terminal.type("1")
    assert said(wire, id_)["answers"] == [{"question": "abc", "selected": "abc"}]


# -- how it ends otherwise


def test_a_call_that_is_cancelled_closes_its_dialog(terminal: Terminal, serve: Serve) -> None:
    wire = serve()
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    wire.cancel(id_)
    terminal.wait_put_back()
    wire.settle()
    assert wire.answers_to(id_) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_server_that_is_ended_leaves_the_terminal_as_it_was(
    terminal: Terminal, serve: Serve, number: signal.Signals
) -> None:
    wire = serve()
    start_asking(wire, PORT)
    terminal.shows(KEYS)
    dialog = dialog_of(wire)
    server = os.pidfd_open(server_of(wire))
    os.kill(client_of(wire), signal.SIGSTOP)  # it would end with its server, and the terminal's session with it
    try:
        signal.pidfd_send_signal(server, number)
        assert ended(dialog)
        terminal.wait_put_back()
    finally:
        os.close(server)
        os.kill(client_of(wire), signal.SIGCONT)


def test_the_end_of_input_closes_the_dialog(terminal: Terminal, serve: Serve, tmp_path: Path) -> None:
    wire = serve()
    start_asking(wire, PORT)
    terminal.shows(KEYS)
    assert wire.close() == 0
    assert b"\x1b[?1049l" in terminal.seen
    assert os.listdir(tmp_path / ".scorpio" / "ask") == []


def test_a_dialog_that_is_killed_leaves_the_terminal_as_it_was(terminal: Terminal, serve: Serve) -> None:
    wire = serve()
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    os.kill(dialog_of(wire), signal.SIGKILL)
    assert said(wire, id_).startswith(RELAYED)
    terminal.wait_put_back()


def test_a_dialog_that_is_told_to_go_was_cancelled(terminal: Terminal, serve: Serve) -> None:
    wire = serve()
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    os.kill(dialog_of(wire), signal.SIGTERM)
    assert said(wire, id_) == {"status": "cancelled"}
    terminal.wait_put_back()


def test_one_dialog_stands_at_a_time(terminal: Terminal, serve: Serve) -> None:
    wire = serve()
    first, second = start_asking(wire, PORT), start_asking(wire, NAME)
    third = start_asking(wire, {"question": "Never?"})
    terminal.shows("Which port?", KEYS)
    wire.cancel(third)
    terminal.type("1")
    assert said(wire, first)["answers"][0]["selected"] == "80"
    terminal.shows("What is it called?", KEYS)
    terminal.type("x\r")
    assert said(wire, second)["answers"][0]["selected"] == "x"
    wire.settle()
    assert b"Never?" not in terminal.seen


def test_nothing_of_a_dialog_stays_on_disk(terminal: Terminal, serve: Serve, tmp_path: Path) -> None:
    wire = serve()
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    [directory] = (tmp_path / ".scorpio" / "ask").iterdir()
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in directory.iterdir()} == {0}
    terminal.type("1")
    said(wire, id_)
    assert not directory.exists()


# -- whose terminal it is


def test_a_terminal_with_a_screen_of_the_hosts_own_is_left_alone(terminal: Terminal, serve: Serve) -> None:
    tty.setraw(terminal.slave)
    wire = serve()
    assert said(wire, start_asking(wire, PORT)).startswith(RELAYED)
    assert terminal.seen == b""


def test_ask_tty_on_takes_it_all_the_same(terminal: Terminal, serve: Serve) -> None:
    tty.setraw(terminal.slave)
    terminal.at_first = terminal.attributes()
    wire = serve(ASK_TTY="on")
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    terminal.type("2")
    assert said(wire, id_)["answers"][0]["selected"] == "8080"
    terminal.wait_put_back()


@pytest.mark.parametrize(
    "variables", [{"ASK_TTY": "off"}, {"TERM": "dumb"}, {"TERM": ""}], ids=["off", "dumb", "no TERM"]
)
def test_a_terminal_that_must_not_be_used_is_not(terminal: Terminal, serve: Serve, variables: dict[str, str]) -> None:
    wire = serve(**variables)
    assert said(wire, start_asking(wire, PORT)).startswith(RELAYED)
    assert terminal.seen == b""


def test_a_server_in_a_group_of_its_own_borrows_the_keyboard_of_its_client(terminal: Terminal, serve: Serve) -> None:
    wire = serve("own")
    before = terminal.foreground()
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    assert terminal.foreground() == server_of(wire)
    terminal.type("2")
    assert said(wire, id_)["answers"][0]["selected"] == "8080"
    terminal.wait_put_back()
    assert terminal.foreground() == before


def test_a_keyboard_that_belongs_to_another_program_is_left_alone(terminal: Terminal, serve: Serve) -> None:
    wire = serve("third")
    assert said(wire, start_asking(wire, PORT)).startswith(RELAYED)
    assert terminal.seen == b""


def test_a_killed_dialog_gives_a_borrowed_keyboard_back(terminal: Terminal, serve: Serve) -> None:
    wire = serve("own")
    before = terminal.foreground()
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    os.kill(dialog_of(wire), signal.SIGKILL)
    assert said(wire, id_).startswith(RELAYED)
    terminal.wait_put_back()
    assert terminal.foreground() == before
    wire.settle()


def test_a_server_without_a_terminal_says_so_at_once(environ: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os, sys; os.setsid(); os.execv(sys.argv[1], sys.argv[1:])"]
    command += source_command(["core"])
    environment = {**environ, "TERM": "xterm", "ASK_TTY": "on"}
    wire = Wire(ChildProcess(command, environment, tmp_path / "stderr", ROOT), "2025-11-25")
    wire.open()
    assert said(wire, start_asking(wire, PORT)).startswith(RELAYED)
    wire.close()


def test_a_state_directory_that_cannot_be_written_costs_only_the_dialog(
    terminal: Terminal, serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    wire = serve(SCORPIO_HOME=str(tmp_path / "file"))
    assert said(wire, start_asking(wire, PORT)).startswith(RELAYED)


@pytest.mark.parametrize("content", ["", "{", "[]", "[{}]", "7", None])
def test_answer_on_a_file_that_is_no_question_ends_at_once(
    environ: dict[str, str], tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "questions.json"
    if content is not None:
        path.write_text(content)
    command = [sys.executable, "-m", "scorpio", "answer", str(path)]
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
