"""However the server ends, nothing that its commands started is left; and what it does when descriptors run out."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.server_process import END_BOUND_S, processes_with

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.server_process import Message, ServerProcess

pytestmark = pytest.mark.faults

STUBBORN = "(trap '' TERM HUP INT; setsid sleep 600) & (nohup sleep 600 >/dev/null 2>&1 &) ; echo > {fifo}; sleep 600"
"""Three processes: one ignores signals in a session of its own, one is nobody's child, one is waited for."""

ENDS: dict[str, Callable[[ServerProcess], None]] = {
    "end of input": lambda server: server.close_stdin(),
    "stdout closed": lambda server: server.close_stdout(),
    "shutdown": lambda server: server.send({"jsonrpc": "2.0", "id": 9, "method": "shutdown"}),
    "exit": lambda server: server.send({"jsonrpc": "2.0", "method": "exit"}),
    "SIGTERM": lambda server: os.kill(server.pid, signal.SIGTERM),
    "SIGINT": lambda server: os.kill(server.pid, signal.SIGINT),
    "SIGHUP": lambda server: os.kill(server.pid, signal.SIGHUP),
    "SIGKILL": lambda server: os.kill(server.pid, signal.SIGKILL),
}


def start_command(server: ServerProcess, tool: str, arguments: Message, fifo: Path) -> None:
    """Returns when the command runs."""
    os.mkfifo(fifo)
    arguments = {"command": STUBBORN.format(fifo=fifo), **arguments}
    params = {"name": tool, "arguments": arguments}
    server.send({"jsonrpc": "2.0", "id": "command", "method": "tools/call", "params": params})
    with fifo.open("rb") as opened:  # blocks until the command opens it too
        assert opened.read() == b"\n"


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("tool", "arguments"), [("Bash", {"timeout": 600_000}), ("BackgroundBash", {})])
def test_nothing_of_a_command_outlives_the_server(
    start: Callable[..., ServerProcess],
    environ: dict[str, str],
    tmp_path: Path,
    tool: str,
    arguments: Message,
    end: str,
) -> None:
    server = start("core").open()
    start_command(server, tool, arguments, tmp_path / "started")
    assert {*processes_with(environ["SCORPIO_HOME"])} - {server.pid}
    ENDS[end](server)
    assert server.status() == (-signal.SIGKILL if end == "SIGKILL" else 0)
    end_s = time.monotonic() + END_BOUND_S
    while left := list(processes_with(environ["SCORPIO_HOME"])):
        assert time.monotonic() < end_s, left


def test_commands_without_descriptors_are_refused_in_words_and_later_ones_run(
    start: Callable[..., ServerProcess],
) -> None:
    server = start("core", wrapped=["sh", "-c", 'ulimit -n 48 && exec "$@"', "sh"]).open()
    params = {"name": "Bash", "arguments": {"command": "sleep 0.5"}}
    server.send(*({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": params} for i in range(60)))
    assert server.request("ping", id="meanwhile")["result"] == {}
    answers = server.answers(60)
    assert sorted(answer["id"] for answer in answers) == [*range(60)]
    refused = [answer["result"] for answer in answers if answer["result"]["isError"]]
    assert refused, "60 commands fit in 48 descriptors"
    assert all("descriptor" in result["content"][0]["text"] for result in refused), refused
    assert server.call("Bash", {"command": "echo again"})["result"]["isError"] is False
