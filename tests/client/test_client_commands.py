"""`scorpio call` and `scorpio client` against real servers: ours of both builds on stdio and HTTP. Source: cli.md."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scorpio.client.answers import Nobody
from scorpio.client.client import Client
from scorpio.client.failures import LinkFailure
from scorpio.client.stdio_link import StdioLink
from tests.links import ROOT

WAIT_S = 8.0

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def program(command: Callable[..., list[str]]) -> list[str]:
    base = command()
    return base[: base.index("serve")] if "serve" in base else base


@pytest.fixture
def environment(tmp_path: Path, unpacked: str) -> dict[str, str]:
    return {
        "HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm",
        "SCORPIO_HOME": str(tmp_path / "state"), "SCORPIO_CACHE_DIR": unpacked,
    }  # fmt: skip


@pytest.fixture
def run(
    program: list[str], environment: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str, lines: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*program, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True,
            input=lines, timeout=60, check=False,
        )  # fmt: skip

    return run


@pytest.fixture
def url(program: list[str], environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    command = [*program, "http", "--port", "0", "--toolsets", "conformance,sum,core"]
    server = subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        for line in server.stderr:
            if "http://" in line:
                yield line[line.index("http://") :].split()[0].rstrip(".,")
                break
    finally:
        server.terminate()
        server.communicate(timeout=30)


def test_a_call_prints_its_text_and_nothing_else(run: Run) -> None:
    done = run("call", "sum", "a=3", "b=4", "--toolsets", "sum")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 + 4 = 7\n", "")


def test_a_call_as_json_is_the_result(run: Run) -> None:
    done = run("call", "sum", '{"a": 3, "b": 4}', "--json", "--toolsets", "sum", "--protocol", "2025-06-18")
    assert json.loads(done.stdout) == {"content": [{"type": "text", "text": "3 + 4 = 7"}], "isError": False}


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("call", "Bash", "command=exit 3"), 1, ""),
        (("call", "Bash", "loose"), 2, "NAME=VALUE"),
        (("call", "NoSuchTool"), 3, "Unknown tool"),
        (("call", "x", "--server", "/no/such/program"), 3, "cannot be started"),
        (("call", "x", "--server", "sh -c 'echo broken >&2; exit 7'"), 3, "has ended with status 7"),
        (("call", "x", "--url", "http://127.0.0.1:9/mcp"), 3, "does not answer"),
        (("call", "x", "--protocol", "1999-01-01"), 3, "no protocol revision"),
        (("call", "x", "--url", "http://127.0.0.1:9", "--header", "broken"), 2, "NAME: VALUE"),
    ],
)
def test_a_call_that_fails_says_why_and_with_which_status(
    run: Run, arguments: tuple[str, ...], status: int, said: str
) -> None:
    done = run(*arguments)
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.requirement("cli:url-options")
def test_options_may_follow_a_url_and_belong_to_the_program_behind_a_command(run: Run, url: str) -> None:
    done = run("client", url, "--protocol", "2025-06-18", "--header", "X-One: 1", "--trace", lines="sum a=1 b=2\n")
    assert (done.returncode, done.stdout) == (0, "1 + 2 = 3\n"), done.stderr
    assert "protocol 2025-06-18" in done.stderr
    assert "[Client] ->" in done.stderr
    assert "--protocol" in run("client", "sh", "-c", 'echo "$@" >&2', "sh", "--protocol", "x").stderr


@pytest.mark.requirement("cli:url-options")
def test_arguments_of_a_call_stand_before_and_behind_its_options(run: Run) -> None:
    done = run("call", "sum", "a=3", "--toolsets", "sum", "b=4", "--json")
    assert json.loads(done.stdout)["content"] == [{"type": "text", "text": "3 + 4 = 7"}]


def test_two_dashes_say_that_a_command_follows(run: Run) -> None:
    assert "The server has ended with status 7" in run("client", "--", "sh", "-c", "exit 7").stderr


def test_a_server_that_never_says_a_word_is_not_waited_for_without_end() -> None:
    async def connected() -> None:
        client = Client(StdioLink(["sleep", "600"], lambda line: None, first_word_s=0.1), Nobody())
        try:
            await client.connect()
        finally:
            await client.close()

    with pytest.raises(LinkFailure, match="has not answered"):
        asyncio.run(connected())


@pytest.mark.parametrize("protocol", ["modern", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_a_server_is_called_at_its_address_in_every_revision(run: Run, url: str, protocol: str) -> None:
    done = run("call", "sum", "a=1", "b=2", "--url", url, "--protocol", protocol)
    assert (done.returncode, done.stdout) == (0, "1 + 2 = 3\n"), done.stderr


def test_a_server_of_the_oldest_transport_is_found_out(run: Run, url: str) -> None:
    done = run("call", "sum", "a=1", "b=2", "--url", url.removesuffix("mcp") + "sse", "--protocol", "2024-11-05")
    assert (done.returncode, done.stdout) == (0, "1 + 2 = 3\n"), done.stderr


def test_an_image_is_saved_beside_and_named(run: Run, url: str, tmp_path: Path) -> None:
    done = run("call", "test_image_content", "--url", url)
    name = done.stdout.strip().rpartition(" ")[2].rstrip("]")
    assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_marked_parameter_reaches_the_server(run: Run, url: str) -> None:
    done = run("call", "test_header_parameter", "region=Zürich", "--url", url, "--protocol", "modern")
    assert (done.returncode, "Zürich" in done.stdout) == (0, True), done.stderr


def test_a_pipe_of_commands_is_carried_out_and_its_end_told(run: Run) -> None:
    done = run("client", "--toolsets", "sum", lines='tools\ncall sum a=1 b=2\ncall sum {"a": 2, "b": 2}\nsum a=5 b=5\n')
    assert done.stdout.splitlines() == [
        "  sum {a, b}  Calculate the sum of two numbers.", "1 + 2 = 3", "2 + 2 = 4", "5 + 5 = 10",
    ]  # fmt: skip
    assert done.returncode == 0
    assert run("client", "--toolsets", "sum", lines="call nothing\n").returncode == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nothing", "help lists the commands"),
        ("call summ", "Near it: sum"),
        ("call sum a", "NAME=VALUE"),
        ("raw no/such", "Error -32601"),
        ("read test://none", "Error"),
        ("log loud", "log LEVEL"),
        ("prompt", "prompts lists the names"),
        ("call sum '", "NAME=VALUE"),
    ],
)
def test_a_wrong_line_says_what_would_be_right(run: Run, line: str, said: str) -> None:
    done = run("client", "--toolsets", "sum", lines=line + "\n")
    assert said in done.stderr
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_bare_line_goes_to_the_echo_tool(run: Run, tmp_path: Path) -> None:
    server = tmp_path / "echo.py"
    server.write_text(ECHO_SERVER)
    done = run("client", sys.executable, str(server), lines="hello there\n")
    assert done.stdout == "Echo: hello there\n"
    assert "[Server] ready" in done.stderr


ECHO_SERVER = """
import json, sys
print("ready", file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    method = message["method"]
    if method == "initialize":
        result = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "e", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
        result = {"tools": [{"name": "echo", "inputSchema": schema}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "Echo: " + message["params"]["arguments"]["message"]}]}
    else:
        error = {"code": -32601, "message": "Method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


# -- at a terminal


class Screen:
    """A client at a pseudo-terminal, and all it wrote so far."""

    def __init__(self, command: list[str], environment: dict[str, str], cwd: Path) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], command, environment)
        self.text = ""

    def wait_for(self, wanted: str) -> None:
        """Until `wanted` was written after what was waited for before."""
        end_s = time.monotonic() + WAIT_S
        while wanted not in self.text:
            left_s = end_s - time.monotonic()
            assert left_s > 0, f"{wanted!r} never came: {self.text[-800:]!r}"
            if select.select([self.fd], [], [], left_s)[0]:
                try:
                    chunk = os.read(self.fd, 65536).decode("utf-8", "replace")
                except OSError:
                    chunk = ""
                assert chunk, f"the client ended: {self.text[-800:]!r}"
                if "\x1b[6n" in chunk:  # prompt_toolkit asks where the cursor is
                    os.write(self.fd, b"\x1b[1;1R")
                self.text += chunk
        self.text = self.text[self.text.index(wanted) + len(wanted) :] if wanted else ""

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def end(self) -> int:
        """Exit status; what it still writes is read."""
        end_s = time.monotonic() + WAIT_S
        while time.monotonic() < end_s:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError("the client does not end")


@pytest.fixture
def screen(program: list[str], environment: dict[str, str], tmp_path: Path) -> Callable[..., Screen]:
    return lambda *words: Screen([*program, *words], environment, tmp_path)


def test_a_person_gives_what_is_missing_finds_the_line_before_and_leaves(screen: Callable[..., Screen]) -> None:
    client = screen("client", "--toolsets", "sum")
    client.wait_for("mcp>")
    client.type("call sum\r")
    client.wait_for("a>")
    client.type("20\r")
    client.wait_for("b>")
    client.type("22\r")
    client.wait_for("20 + 22 = 42")
    client.wait_for("mcp>")
    client.type("\x1b[A")  # the line before, from the history
    client.wait_for("call sum")
    client.type("\x15exit\r")
    assert client.end() == 0


def test_ctrl_c_ends_the_call_and_not_the_client(screen: Callable[..., Screen], tmp_path: Path) -> None:
    client = screen("client")
    client.wait_for("mcp>")
    client.type("call Bash command='echo up > up; exec sleep 600'\r")
    end_s = time.monotonic() + WAIT_S
    while not (tmp_path / "up").exists():
        assert time.monotonic() < end_s
        select.select([], [], [], 0.02)
    client.type("\x03")
    client.wait_for("Cancelled.")
    client.wait_for("mcp>")
    client.type("ping\r")
    client.wait_for("It answers.")
    client.wait_for("mcp>")
    client.type("\x04")
    assert client.end() == 0


def test_a_question_of_the_server_is_asked_at_the_terminal(screen: Callable[..., Screen]) -> None:
    client = screen("client", "--toolsets", "conformance")
    client.wait_for("mcp>")
    client.type("call test_elicitation message=hello\r")
    client.wait_for("The server asks: hello")
    client.wait_for("username>")
    client.type("ada\r")
    client.wait_for("email>")
    client.type("ada@example.org\r")
    client.wait_for("ada@example.org")
    client.wait_for("mcp>")
    client.type("call test_elicitation message=again\r")
    client.wait_for("username>")
    client.type("\x04")
    client.wait_for("decline")
    client.wait_for("mcp>")
    client.type("exit\r")
    assert client.end() == 0
