"""`scorpio http` as a program: how it starts, what it says, what it refuses, how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.http_requests import (
    BOUND_S,
    JSON,
    Events,
    ask,
    ask_soon,
    call,
    get,
    modern,
    modern_call,
    modern_headers,
    open_session,
    post,
    send,
    until_closed,
)
from tests.links import ROOT
from tests.server_process import END_BOUND_S, ended, processes_with

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.http_link import HttpProcess

    Start = Callable[..., HttpProcess]

TOKEN = "one-token-0123456789"
FROZEN = pytest.mark.builds("frozen")


@pytest.fixture
def refused(command: Callable[..., list[str]], environ: dict[str, str]) -> Callable[..., tuple[int, str]]:
    """`refused("--port", "x")`: the exit status and what was said of a start that must fail."""

    def refused(*options: str, **variables: str) -> tuple[int, str]:
        program = command("sum")
        ended = subprocess.run(
            [*program[: program.index("serve")], "http", "--toolsets", "sum", *options],
            env={**environ, **variables},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=BOUND_S,
        )
        assert ended.stdout == ""
        assert "Traceback" not in ended.stderr
        return ended.returncode, ended.stderr

    return refused


@pytest.mark.requirement("http:start")
def test_server_says_where_it_serves_and_that_it_asks_for_no_token(start_http: Start) -> None:
    server = start_http("sum")
    warning, serving = server.stderr().splitlines()
    assert "No token is asked for: every user of this machine can connect" in warning
    assert serving == f"[Server] Serving MCP on http://127.0.0.1:{server.port}/mcp"
    assert get(server.port, "/healthz").status == 200


@FROZEN
@pytest.mark.requirement("http:start")
def test_server_listens_on_loopback_alone(start_http: Start) -> None:
    server = start_http("sum")
    addresses = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        if not address.startswith("127."):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((address, server.port), BOUND_S)


@pytest.mark.requirement("http:start")
def test_port_that_is_taken_is_one_line_and_status_1(
    refused: Callable[..., tuple[int, str]], start_http: Start
) -> None:
    port = start_http("sum").port
    status, said = refused("--port", str(port))
    assert (status, said) == (1, f"scorpio: 127.0.0.1 port {port}: address already in use.\n")


@FROZEN
@pytest.mark.requirement("http:start")
@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--host", "0.0.0.0"], 2, "0.0.0.0 can be reached from other machines, so a token is needed."),
        (["--host", "::"], 2, "a token is needed"),
        (["--host", "no.such.host.invalid"], 1, "--host no.such.host.invalid"),
        (["--host", "192.0.2.1", "--token-file", "{tmp}/token"], 1, "cannot assign requested address"),
        (["--port", "x"], 2, "--port takes a number from 0 to 65535, not 'x'."),
        (["--port", "65536"], 2, "--port takes a number from 0 to 65535, not '65536'."),
        (["--token-file", "{tmp}/none"], 2, "no such file or directory"),
        (["--token-file", "{tmp}"], 2, "holds no token"),
        (["--token-file", "/dev/tty0"], 2, "--token-file /dev/tty0"),
        (["--token-file", "{tmp}/empty"], 2, "holds no token"),
        (["--token-file", "{tmp}/blank"], 2, "without blanks"),
        (["--allow-origin", "*"], 2, "an origin is like https://app.example"),
        (["--allow-origin", "https://*.example"], 2, "an origin is like"),
        (["--allow-origin", "https://a.example/path"], 2, "an origin is like"),
        (["--toolsets", "nothing"], 2, "There is no toolset 'nothing'"),
    ],
)
def test_start_that_cannot_be_is_a_sentence(
    refused: Callable[..., tuple[int, str]], tmp_path: Path, options: list[str], status: int, words: str
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "empty").write_text("\n# a comment\n\n")
    (tmp_path / "blank").write_text("two words\n")
    given = [option.format(tmp=tmp_path) for option in options]
    found, said = refused(*(() if "--port" in given else ("--port", "0")), *given)
    assert found == status
    assert words in said


@FROZEN
@pytest.mark.requirement("http:token")
def test_token_of_the_file_counts_before_that_of_the_environment(
    start_http: Start, environ: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"# mine\n{TOKEN}\n\nsecond-{TOKEN}\n")
    file.chmod(0o600)
    server = start_http(
        "sum", options=["--token-file", str(file)], environ={**environ, "SCORPIO_HTTP_TOKEN": "third-token-012345"}
    )
    statuses = [
        ask(server.port, modern("server/discover"), {"Authorization": f"Bearer {token}"}).status
        for token in (TOKEN, f"second-{TOKEN}", "third-token-012345")
    ]
    assert statuses == [200, 200, 401]
    assert "No token" not in server.stderr()


@FROZEN
@pytest.mark.requirement("http:token")
def test_token_reaches_neither_commands_nor_the_log(start_http: Start, environ: dict[str, str]) -> None:
    server = start_http("core", environ={**environ, "SCORPIO_HTTP_TOKEN": TOKEN, "LOG_LEVEL": "debug"})
    told = {"Authorization": f"Bearer {TOKEN}"}
    message = modern_call("Bash", {"command": "env; cat /proc/$$/environ | tr '\\0' '\\n'"})
    output = ask(server.port, message, told).json()["result"]["content"][0]["text"]
    assert "PATH=" in output
    assert TOKEN not in output
    assert TOKEN not in server.stderr()


@FROZEN
@pytest.mark.requirement("http:token")
def test_token_that_can_be_guessed_is_warned_of(start_http: Start, environ: dict[str, str]) -> None:
    server = start_http("sum", environ={**environ, "SCORPIO_HTTP_TOKEN": "short"})
    assert "The token is shorter than 16 characters" in server.stderr()
    assert ask(server.port, modern("server/discover"), {"Authorization": "Bearer short"}).status == 200


@pytest.mark.requirement("http:end")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_ends_streams_calls_and_commands_and_then_the_server_with_0(
    start_http: Start, environ: dict[str, str], number: int
) -> None:
    tag = f"scorpio-test-{os.getpid()}-{number}"
    server = start_http("core", "conformance", environ={**environ, "MARK": tag})
    session = open_session(server.port)
    listening = Events(server.port, "/mcp", session)
    listening.next()
    sse = Events(server.port, "/sse", {})
    sse.next()
    message = modern("subscriptions/listen", {"notifications": {}}, "L")
    modern_stream = Events(server.port, "/mcp", {**JSON, **modern_headers(message)}, _bytes(message), "POST")
    modern_stream.message()
    idle = socket.create_connection(("127.0.0.1", server.port), BOUND_S)
    stubborn = 'trap "" TERM; sleep 600 & wait; sleep 600'
    running = ask_soon(server.port, modern_call("Bash", {"command": stubborn}))
    post(server.port, call("BackgroundBash", {"command": stubborn}), session)
    while sum(1 for _ in processes_with(tag)) < 5:
        pass
    pids = list(processes_with(tag))
    server.child.process.send_signal(number)
    server.child.process.send_signal(number)  # as process groups do
    assert server.child.process.wait(END_BOUND_S) == 0
    assert all(ended(pid) for pid in pids)
    changed = "notifications/resources/list_changed"  # the background task is a resource
    assert [m for m in listening.rest() if m["method"] != changed] == []
    assert [m for m in sse.rest() if m["method"] != changed] == []
    assert [m["id"] for m in modern_stream.rest()] == ["L"]
    assert all(each.response.whole for each in (listening, sse, modern_stream))
    assert (running.wait().status, running.json()["error"]["message"]) == (503, "The server ends")
    assert until_closed(idle) == b""
    idle.close()


@FROZEN
@pytest.mark.requirement("http:end")
def test_call_that_is_nearly_done_is_answered_before_the_server_ends(start_http: Start) -> None:
    server = start_http("conformance")
    waiting = ask_soon(server.port, modern_call("test_slow", {"ms": 150}))
    while ask(server.port, modern_call("test_counts")).json()["result"]["content"][0]["text"][:9] != "started 1":
        pass
    server.stop()
    assert waiting.wait().json()["result"]["content"][0]["text"] == "Slept for 150 ms."
    assert server.wait(END_BOUND_S) == 0


@FROZEN
@pytest.mark.requirement("http:session-end")
def test_session_that_ends_takes_its_background_tasks_with_it(start_http: Start, environ: dict[str, str]) -> None:
    tag = f"scorpio-test-{os.getpid()}-session"
    server = start_http("core", environ={**environ, "MARK": tag})
    one, other = open_session(server.port), open_session(server.port)
    for session in (one, other):
        said = post(server.port, call("BackgroundBash", {"command": "sleep 600"}), session).json()
        assert said["result"]["isError"] is False
    assert "sleep 600" in post(server.port, call("ListBgTasks"), one).json()["result"]["content"][0]["text"]
    unknown = post(server.port, call("KillBgTask", {"task_id": 1}), other).json()["result"]
    assert unknown["isError"] is True
    before = set(processes_with(tag)) - {server.child.process.pid}
    assert send(server.port, "DELETE", "/mcp", one).wait().status == 204
    gone = [pid for pid in before if _command(pid) == "sleep 600"][:1]
    assert gone
    while len([pid for pid in processes_with(tag) if _command(pid) == "sleep 600"]) > 1:
        pass
    assert "running" in post(server.port, call("ListBgTasks"), other).json()["result"]["content"][0]["text"]


@FROZEN
@pytest.mark.requirement("http:isolation")
def test_background_tasks_of_modern_clients_belong_to_their_token(start_http: Start, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"{TOKEN}\nsecond-{TOKEN}\n")
    server = start_http("core", options=["--token-file", str(file)])
    mine, theirs = ({"Authorization": f"Bearer {token}"} for token in (TOKEN, f"second-{TOKEN}"))
    ask(server.port, modern_call("BackgroundBash", {"command": "sleep 600"}), mine)
    listed = [
        ask(server.port, modern_call("ListBgTasks"), told).json()["result"]["content"][0]["text"]
        for told in (mine, theirs)
    ]
    assert "sleep 600" in listed[0]
    assert listed[1] == "No background tasks."


@FROZEN
@pytest.mark.slow
@pytest.mark.requirement("http:slow")
def test_executable_cuts_off_headers_that_never_end(start_http: Start) -> None:
    server = start_http("sum")
    slow = [socket.create_connection(("127.0.0.1", server.port), BOUND_S) for _ in range(100)]
    for connection in slow:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-a: ")
    assert ask(server.port, modern("server/discover")).status == 200
    assert [until_closed(connection) for connection in slow] == [b""] * 100
    for connection in slow:
        connection.close()


@pytest.mark.requirement("http:start")
def test_stdio_server_imports_nothing_of_http(environ: dict[str, str]) -> None:
    program = (
        "import sys, os; sys.argv = ['scorpio']; import scorpio.app, scorpio.transports.stdio; "
        "found = [name for name in sys.modules if 'http' in name or name in ('asyncio', 'ssl', 'email')]; print(found)"
    )
    told = subprocess.check_output([sys.executable, "-c", program], env=environ, cwd=ROOT, text=True)
    assert told == "[]\n"


@FROZEN
@pytest.mark.requirement("http:start")
def test_help_names_every_option(refused: Callable[..., tuple[int, str]], command: Callable[..., list[str]]) -> None:
    program = command("sum")
    shown = subprocess.run([program[0], "http", "--help"], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"--[a-z-]+", shown))
    assert options >= {"--host", "--port", "--toolsets", "--token-file", "--allow-origin", "--allow-host", "--metrics"}


def _bytes(message: object) -> bytes:
    import json

    return json.dumps(message).encode()


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""
