"""What a machine may do to a server: few descriptors, forks without end, a stop, clocks that jump, deleted files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults.mixed_run import NOBODY, shift_library
from tests.lacking import lacking
from tests.links import ROOT
from tests.server_process import END_BOUND_S, processes_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.server_process import ServerProcess

pytestmark = [pytest.mark.faults, pytest.mark.builds("frozen")]

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("sum", {"a": 1, "b": 2}),
    ("Bash", {"command": "echo hi"}),
    ("TaskManager", {"action": "list", "query": ""}),
    ("ReadImage", {"file_path": "/no/such.png"}),
    ("BackgroundBash", {"command": "echo hi"}),
    ("InvokeSkill", {"skill_name": "nobody"}),
    ("PlanMode", {"action": "status"}),
]
NONE_LEFT = "There are no file descriptors left."


def requests(calls: list[tuple[str, dict[str, Any]]], first: int = 0) -> list[dict[str, Any]]:
    return [
        {"jsonrpc": "2.0", "id": first + at, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    ]


def words(answer: dict[str, Any]) -> str:
    said: str = answer["error"]["message"] if "error" in answer else answer["result"]["content"][0]["text"]
    return said


@pytest.mark.requirement("faults:starved")
@pytest.mark.parametrize("descriptors", [9, 10, 12, 14, 17])
def test_any_number_of_descriptors_is_enough_for_an_answer_or_a_sentence(
    start: Callable[..., ServerProcess], command: Callable[..., list[str]], environ: dict[str, str], descriptors: int
) -> None:
    subprocess.run([command("core")[0], "--version"], env=environ, check=True, capture_output=True)  # unpacks itself
    server = start("core", "sum", wrapped=["prlimit", f"--nofile={descriptors}"]).open()
    server.send(*requests(CALLS))
    answers = {answer["id"]: words(answer) for answer in server.answers(len(CALLS))}
    assert answers.keys() == {*range(len(CALLS))}
    assert not [said for said in answers.values() if "Internal error" in said], server.stderr()
    if descriptors < 12:
        assert NONE_LEFT in answers[1]
    server.send(b"[]\n")  # whose code is imported with the first batch
    assert server.answers(1)[0]["id"] is None
    server.close_stdin()
    assert server.status() == 0


@pytest.fixture
def home_of_nobody(command: Callable[..., list[str]]) -> Iterator[Path]:
    """A directory that another user can write, with the executable in it; pytest's own are closed to him."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be another user whose processes are counted")
    place = Path(tempfile.mkdtemp(prefix="scorpio-nobody-"))
    shutil.copy(command("core")[0], place / "scorpio")
    os.chown(place, NOBODY, NOBODY)
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.mark.alone
@pytest.mark.requirement("faults:starved")
def test_a_fork_bomb_of_an_ordinary_user_is_ended_and_the_server_answers(
    start: Callable[..., ServerProcess], home_of_nobody: Path
) -> None:
    """Root is exempt from the limit, which is why the bomb is nobody's."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home_of_nobody), "SCORPIO_HOME": f"{home_of_nobody}/.scorpio"}
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "prlimit", "--nproc=400"]
    inner = ["sh", "-c", f"exec {home_of_nobody}/scorpio serve --toolsets core,sum"]
    server = start("core", wrapped=[*become, *inner], environ=environ, cwd=home_of_nobody).open()
    bomb = {"command": "bomb() { bomb | bomb & }; bomb; sleep 60", "timeout": 1500}
    server.send(*requests([("Bash", bomb), ("sum", {"a": 1, "b": 2})]))
    answers = {answer["id"]: words(answer) for answer in server.answers(2)}
    assert answers[1] == "1 + 2 = 3"
    assert "timed out" in answers[0].lower()
    assert words(server.call("Bash", {"command": "echo again"}, id=9)) == "again"
    server.close_stdin()
    assert server.status() == 0
    end_s = time.monotonic() + END_BOUND_S
    while left := list(processes_with(environ["SCORPIO_HOME"])):
        assert time.monotonic() < end_s, left


@pytest.mark.requirement("faults:stopped")
def test_calls_of_a_server_that_was_stopped_for_a_while_are_answered_once(start: Callable[..., ServerProcess]) -> None:
    server = start("core", "sum").open()
    slow = [("Bash", {"command": "sleep 0.2; echo slept", "timeout": 20_000})] * 3
    server.send(*requests(slow))
    for _ in range(3):
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(0.2)  # the fault itself
        os.kill(server.pid, signal.SIGCONT)
    answers = {answer["id"]: words(answer) for answer in server.answers(len(slow))}
    assert answers == dict.fromkeys(range(len(slow)), "slept")
    assert server.request("ping", id="last")["result"] == {}


@pytest.mark.requirement("faults:nested")
def test_scorpio_serves_in_a_command_of_scorpio(
    start: Callable[..., ServerProcess], command: Callable[..., list[str]]
) -> None:
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    inner = f"echo '{ping}' | {command('sum')[0]} serve --toolsets sum"
    server = start("core").open()
    assert json.loads(words(server.call("Bash", {"command": inner}))) == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.requirement("faults:deleted-files")
def test_a_server_whose_unpacked_files_are_deleted_goes_on_and_the_next_one_starts(
    start: Callable[..., ServerProcess], environ: dict[str, str], tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    environ["SCORPIO_CACHE_DIR"] = str(cache)
    server = start("core", "sum").open()
    assert words(server.call("Bash", {"command": "echo before"}, id=1)) == "before"
    assert words(server.call("sum", {"a": 1, "b": 2}, id=2)) == "1 + 2 = 3"
    shutil.rmtree(cache)
    assert words(server.call("sum", {"a": 2, "b": 2}, id=4)) == "2 + 2 = 4"
    assert words(server.call("Bash", {"command": "echo after"}, id=3)) == "after"
    assert words(start("sum").open().call("sum", {"a": 3, "b": 4}, id=4)) == "3 + 4 = 7"


@pytest.mark.requirement("faults:clocks")
def test_a_callback_fires_once_however_the_clocks_jump_between_two_servers(
    start: Callable[..., ServerProcess], command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path
) -> None:
    library = shift_library(tmp_path)
    if not library:
        lacking("needs a C compiler, for a wall clock that jumps")
    shift = tmp_path / "shift"
    shift.write_bytes(struct.pack("q", 0))
    environ |= {"LD_PRELOAD": library, "CLOCK_SHIFT_FILE": str(shift)}
    first = start("core").open()
    first.call("SetCallback", {"action": "set", "message": "look", "delay_seconds": 1, "repeat_count": 1})
    os.kill(first.pid, signal.SIGKILL)
    first.status()
    with shift.open("r+b") as file:
        file.write(struct.pack("q", -86_400))
    start("core").open().call("ListBgTasks", {})
    wait = [command("core")[0], "wait", "--timeout"]
    told = subprocess.run([*wait, "20"], env=environ, cwd=ROOT, capture_output=True, text=True, check=False)
    assert told.stdout.count("look") == 1, told
    with shift.open("r+b") as file:
        file.write(struct.pack("q", 86_400))
    again = subprocess.run([*wait, "1"], env=environ, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "look" not in again.stdout
