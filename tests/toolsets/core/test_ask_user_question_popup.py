"""AskUserQuestion in a popup of a real tmux, with a client attached to it on a pty."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scorpio.state.home import Home
from tests.lacking import lacking
from tests.links import ROOT, ChildProcess, server_command
from tests.toolsets.core.terminal import DOWN, ENTER, Terminal, said, start_asking
from tests.wire import Wire
from tools.core.ask_user_question import dialogs
from tools.core.ask_user_question.dialogs import Dialogs
from tools.core.ask_user_question.questions import parse

PORT = {"question": "Which port?", "options": [{"label": "80", "description": "HTTP"}, "8080 端口"]}
KEYS = "Esc: cancel"
RELAYED = "The user cannot be asked from here"

Serve = Callable[..., Wire]


class Tmux:
    """A tmux server of one test, with one session and, once `attach` was called, a person who looks at it."""

    def __init__(self, directory: str) -> None:
        self.socket = f"{directory}/s"
        self._environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        self._environment.pop("TMUX", None)
        self.run("new-session", "-d", "-s", "main", "-x", "80", "-y", "24", "cat")
        numbers = self.run("display-message", "-p", "#{pid},#{session_id} #{pane_id}").replace("$", "")
        server, pane = numbers.split()
        self.pid = int(server.partition(",")[0])
        self.variables = {"TMUX": f"{self.socket},{server}", "TMUX_PANE": pane}
        self._client: subprocess.Popen[bytes] | None = None

    def run(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *arguments]
        return subprocess.run(command, env=self._environment, check=True, capture_output=True, text=True).stdout

    def attach(self, terminal: Terminal) -> None:
        command = ["tmux", "-u", "-S", self.socket, "attach", "-t", "main"]
        self._client = subprocess.Popen(
            command, env=self._environment, stdin=terminal.slave, stdout=terminal.slave, stderr=terminal.slave
        )
        terminal.shows("[main]")

    def detach(self) -> None:
        self.run("detach-client", "-s", "main")
        assert self._client is not None
        self._client.wait(60)

    def close(self) -> None:
        self.run("kill-server")


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    if not shutil.which("tmux"):
        lacking("no tmux")
    with tempfile.TemporaryDirectory(prefix="tmux") as directory:  # a socket's path has 108 characters
        server = Tmux(directory)
        yield server
        server.close()


@pytest.fixture
def terminal(tmux: Tmux) -> Iterator[Terminal]:
    """What the person at tmux looks at."""
    opened = Terminal(80, 24)
    tmux.attach(opened)
    yield opened
    tmux.detach()
    opened.close()


@pytest.fixture
def serve(tmux: Tmux, environ: dict[str, str], tmp_path: Path) -> Iterator[Serve]:
    wires: list[Wire] = []

    def start(kind: str = "source", **variables: str) -> Wire:
        environment = {**environ, **tmux.variables, "ASK_TTY": "auto", **variables}
        wires.append(
            Wire(ChildProcess(server_command(kind, ["core"]), environment, tmp_path / "stderr", ROOT), "2025-11-25")
        )
        wires[-1].open()
        return wires[-1]

    yield start
    for wire in wires:
        if not wire.closed:
            wire.close()


def is_gone(terminal: Terminal) -> str:
    return terminal.wait(lambda screen: "Which port?" not in screen.text(), "no popup")


@pytest.mark.parametrize("kind", ["source", "frozen"])
def test_a_person_at_tmux_answers_in_a_popup(terminal: Terminal, serve: Serve, kind: str) -> None:
    wire = serve(kind)
    id_ = start_asking(wire, PORT)
    terminal.shows("Which port?", "> 1. 80", "2. 8080 端口", KEYS)
    terminal.type(DOWN)
    terminal.shows("> 2. 8080")
    assert b"\x1b[36m" in terminal.seen
    terminal.type(ENTER)
    assert said(wire, id_)["answers"] == [{"question": "Which port?", "selected": "8080 端口"}]
    is_gone(terminal)


def test_a_call_that_is_cancelled_closes_its_popup(terminal: Terminal, serve: Serve, tmp_path: Path) -> None:
    wire = serve()
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    wire.cancel(id_)
    is_gone(terminal)
    wire.settle()
    assert wire.answers_to(id_) == []
    assert wire.close() == 0
    assert os.listdir(tmp_path / ".scorpio" / "ask") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_ended_closes_its_popup(terminal: Terminal, serve: Serve, number: signal.Signals) -> None:
    wire = serve()
    start_asking(wire, PORT)
    terminal.shows(KEYS)
    assert isinstance(wire.link, ChildProcess)
    wire.link.process.send_signal(number)
    is_gone(terminal)
    assert wire.link.wait(60) == (-signal.SIGKILL if number == signal.SIGKILL else 0)


def test_a_popup_that_the_person_closes_was_cancelled(terminal: Terminal, serve: Serve, tmux: Tmux) -> None:
    wire = serve()
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    tmux.run("display-popup", "-C", "-t", tmux.variables["TMUX_PANE"])
    assert said(wire, id_) == {"status": "cancelled"}


def test_no_colour_is_known_in_a_popup(terminal: Terminal, serve: Serve) -> None:
    wire = serve(NO_COLOR="1")
    id_ = start_asking(wire, PORT)
    terminal.shows(KEYS)
    assert b"\x1b[36m" not in terminal.seen
    terminal.type("1")
    said(wire, id_)


def test_a_session_that_nobody_looks_at_shows_no_popup(serve: Serve) -> None:
    wire = serve()
    assert said(wire, start_asking(wire, PORT)).startswith(RELAYED)


def test_a_tmux_that_has_ended_shows_no_popup(serve: Serve, tmux: Tmux) -> None:
    wire = serve(TMUX=f"{tmux.socket}.none,1,0")
    assert said(wire, start_asking(wire, PORT)).startswith(RELAYED)


def test_a_popup_of_somebody_else_is_not_waited_for(terminal: Terminal, serve: Serve, tmux: Tmux) -> None:
    wire = serve()
    other = subprocess.Popen(["tmux", "display-popup", "-E", "echo busy; cat"], env={**os.environ, **tmux.variables})
    terminal.shows("busy")
    assert said(wire, start_asking(wire, PORT)).startswith(RELAYED)
    tmux.run("display-popup", "-C", "-t", tmux.variables["TMUX_PANE"])
    other.wait(60)


def test_ask_tty_off_opens_no_popup(terminal: Terminal, serve: Serve) -> None:
    wire = serve(ASK_TTY="off")
    assert said(wire, start_asking(wire, PORT)).startswith(RELAYED)
    assert "Which port?" not in terminal.screen.text()


def asked(home: Path) -> str | None:
    """The result of a dialog of this process."""
    questions = parse(json.dumps(PORT), "AskUserQuestion")
    return asyncio.run(Dialogs(Home(str(home))).ask(questions, anyway=False))


def test_a_tmux_that_hangs_is_given_up(
    terminal: Terminal, tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogs, "DIALOG_START_S_MAX", 0.05)
    monkeypatch.setattr(dialogs, "DIALOG_CLOSE_MS_MAX", 50)
    monkeypatch.delenv("TERM", raising=False)  # whoever runs this test may sit at a terminal
    for name, value in tmux.variables.items():
        monkeypatch.setenv(name, value)
    os.kill(tmux.pid, signal.SIGSTOP)
    try:
        assert asked(tmp_path) is None
    finally:
        os.kill(tmux.pid, signal.SIGCONT)
    assert os.listdir(tmp_path / "ask") == []


def test_a_dialog_that_nobody_answers_ends_with_the_reason(
    terminal: Terminal, tmux: Tmux, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogs, "ASK_WAIT_S", 0.05)
    for name, value in tmux.variables.items():
        monkeypatch.setenv(name, value)
    result = asked(tmp_path)
    assert json.loads(result or "") == {"status": "cancelled", "reason": "Nobody answered within 0 s."}
    assert os.listdir(tmp_path / "ask") == []
    is_gone(terminal)


def test_the_command_of_a_dialog_runs_our_own_code_wherever_it_starts() -> None:
    assert dialogs._command()[0] == sys.executable
    assert dialogs._environment()["PYTHONPATH"] == str(ROOT)
