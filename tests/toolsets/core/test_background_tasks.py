"""Background tasks with real processes: what is told of them, and what happens to them when servers end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scorpio.limits import TASKS_RUNNING_MAX
from scorpio.process_table import process_start
from tests.process.commands import living, wait_until
from tests.toolsets.core import local_core
from tests.toolsets.core.local_core import LocalCall, LocalCore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class OtherServer:
    """A server in a process of its own, to be killed."""

    def __init__(self, home: Path, cwd: Path, *, survive: bool = False) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(local_core.__file__), home, cwd, "survive" if survive else "end"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def text(self, name: str, **arguments: Any) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps([name, arguments]) + "\n")
        self.process.stdin.flush()
        return str(json.loads(self.process.stdout.readline()))

    def end(self, *, kill: bool) -> None:
        if kill:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def other_server(
    home: Path, tmp_path: Path, supervisor_path: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., OtherServer]]:
    monkeypatch.setenv("SCORPIO_SUPERVISOR", supervisor_path)
    started: list[OtherServer] = []

    def start(cwd: Path = tmp_path, **options: Any) -> OtherServer:
        started.append(OtherServer(home, cwd, **options))
        return started[-1]

    yield start
    for server in started:
        server.end(kill=True)


# -- one server


def test_a_running_task_is_started_listed_read_and_killed(core: LocalCore, tag: str, home: Path) -> None:
    shown = core.start(f"echo ready; sleep {tag}")
    pid = re.match(r"Started background task 1 \(pid (\d+)\): echo ready; sleep \d+\nLog: (.*)\n", shown)
    assert pid
    assert Path(pid[2]) == home / "tasks" / "1" / "output.log"
    assert core.list() == f"Background tasks (1):\n  [1] running, 0s, pid {pid[1]}, 6 B unread: echo ready; sleep {tag}"
    assert core.read(1) == "ready\n[task 1: running, 0s, 6 B new]"
    assert core.read(1) == "(no new output)\n[task 1: running, 0s, 0 B new]"
    assert re.fullmatch(
        rf"Killed task 1 \(SIGTERM, [12] process(es)?, \d\.\ds\): echo ready; sleep {tag}", core.kill(1)
    )
    assert living(tag) == []
    assert core.kill(1) == "Task 1 already finished (killed)."
    assert core.read(1) == "(no new output)\n[task 1: killed after 0s]"
    assert core.list().endswith(f"[1] killed, 0s, pid {pid[1]}, 0 B unread: echo ready; sleep {tag}")


def test_the_output_of_a_finished_task_is_read_once_and_then_none(core: LocalCore, tmp_path: Path) -> None:
    core.start("while [ ! -e go ]; do sleep 0.02; done; echo last words; exit 4")
    (tmp_path / "go").touch()
    core.ended(1)
    assert core.read(1) == "last words\n[task 1: exited with code 4 after 0s]"
    assert core.read(1) == "(no new output)\n[task 1: exited with code 4 after 0s]"
    assert core.kill(1) == "Task 1 already finished (exit code 4)."
    assert " exited (4), 0s, " in core.list()


@pytest.mark.usefixtures("_patient_start")
def test_a_task_that_dies_at_once_has_no_unread_output(core: LocalCore) -> None:
    assert core.start("echo a; exit 2") == "Background task 1 ended after 0s: echo a; exit 2\na\n[exit code: 2]"
    assert core.read(1) == "(no new output)\n[task 1: exited with code 2 after 0s]"


@pytest.mark.usefixtures("_patient_start")
def test_a_task_that_died_by_a_signal_says_which(core: LocalCore) -> None:
    assert core.start("kill -SEGV $$").endswith("\n(no output)\n[killed by signal 11 (SIGSEGV)]")
    assert core.kill(1) == "Task 1 already finished (killed by signal 11 (SIGSEGV))."


def test_a_command_that_could_not_be_started_says_why(core: LocalCore) -> None:
    core.cwd = "/no/such/directory"
    result = core.call("BackgroundBash", {"command": "true"})
    assert result.is_error
    assert "/no/such/directory does not exist" in result.content[0]["text"]
    assert core.list() == "No background tasks."


def test_a_shell_that_leaves_a_daemon_is_running_until_that_ends(core: LocalCore, tag: str) -> None:
    assert core.start(f"sleep {tag} & exit 0").startswith("Started background task 1 ")
    assert core.read(1).endswith("[task 1: running, 0s, 0 B new]")
    assert "(SIGTERM, 1 process, " in core.kill(1)
    assert living(tag) == []


def test_a_task_that_ignores_sigterm_is_killed_after_the_grace(core: LocalCore, tag: str) -> None:
    core.start(f"trap '' TERM; exec sleep {tag}")
    assert "(SIGTERM, then SIGKILL, 1 process, 1." in core.kill(1)
    assert living(tag) == []


def test_two_kills_at_once_both_see_it_ended(core: LocalCore, tag: str) -> None:
    core.start(f"sleep {tag}")
    calls = [core.begin(LocalCall(core, "KillBgTask", "stdio"), {"task_id": 1}) for _ in range(2)]
    for call in calls:
        assert re.match(r"Killed task 1 |Task 1 already finished", call.result(30).content[0]["text"])
    assert living(tag) == []


def test_a_kill_whose_call_is_cancelled_goes_on(core: LocalCore, tag: str) -> None:
    core.start(f"trap '' TERM; exec sleep {tag}")
    call = LocalCall(core, "KillBgTask", "stdio")
    killing = core.begin(call, {"task_id": 1})
    assert wait_until(lambda: call.activity == "ending task 1")
    killing.cancel()
    assert wait_until(lambda: not living(tag))
    core.ended(1)
    assert core.kill(1) == "Task 1 already finished (killed)."


def test_a_start_whose_call_is_cancelled_leaves_nothing_running(core: LocalCore, tag: str) -> None:
    starting = core.begin(LocalCall(core, "BackgroundBash", "stdio"), {"command": f"sleep {tag}"})
    assert wait_until(lambda: living(tag))
    starting.cancel()
    assert wait_until(lambda: not living(tag))


@pytest.mark.usefixtures("_patient_start")
@pytest.mark.parametrize("task_id", [0, -1, 3, 10**30])
def test_an_unknown_id_is_a_failure_that_names_the_known_ones(core: LocalCore, task_id: int) -> None:
    core.start("true")
    core.start("true")
    for tool in ("ReadBgOutput", "KillBgTask"):
        result = core.call(tool, {"task_id": task_id})
        assert result.is_error
        assert result.content[0]["text"] == f"No background task {task_id}. The ids are 1, 2."


def test_the_task_of_another_owner_is_an_unknown_id(core: LocalCore, tag: str) -> None:
    core.start(f"sleep {tag}", owner="session-a")
    assert core.list(owner="session-b") == "No background tasks."
    assert core.read(1, owner="session-b") == "No background task 1: there are none. BackgroundBash starts one."
    assert core.kill(1, owner="session-b").startswith("No background task 1")
    assert living(tag)
    assert "Killed task 1" in core.kill(1, owner="session-a")


def test_the_65th_running_task_is_refused_with_the_way_out(core: LocalCore, tag: str) -> None:
    starts = [
        core.begin(LocalCall(core, "BackgroundBash", "stdio"), {"command": f"sleep {tag}"})
        for _ in range(TASKS_RUNNING_MAX)
    ]
    for start in starts:
        assert start.result(60).content[0]["text"].startswith("Started background task ")
    refused = core.call("BackgroundBash", {"command": "true"})
    assert refused.is_error
    assert refused.content[0]["text"].startswith("64 background tasks are running, the most there may be. End one with")
    refused = core.call("Bash", {"command": "true"})
    assert refused.is_error
    assert "KillBgTask" in refused.content[0]["text"]
    core.kill(1)
    assert core.bash("echo room") == "room"


@pytest.mark.usefixtures("_patient_start")
def test_a_long_and_many_lined_command_is_one_short_line_in_the_list(core: LocalCore) -> None:
    core.start("true\n" + ": " + "x" * 500)
    line = core.list().splitlines()[1]
    assert line.endswith(": true : " + "x" * 92 + "…")


# -- reading


def read_all(core: LocalCore, task_id: int) -> tuple[str, int]:
    """(everything a task printed, in how many reads), read while it runs and to its end."""
    shown, count = "", 0
    while True:
        text, _, line = core.read(task_id).rpartition("[")
        count += text != "(no new output)\n"
        shown += "" if text == "(no new output)\n" else text
        if "running" not in line and "left" not in line:
            return shown, count


def test_bytes_that_come_one_at_a_time_are_read_without_gap_or_duplicate(core: LocalCore, tmp_path: Path) -> None:
    printed = "zażółć \x1b[31m日本語\x1b[0m 🦂\x1b]0;title\x07 end"
    program = tmp_path / "program.py"
    program.write_text(
        f"import os, time\nfor byte in {printed.encode()!r}:\n    os.write(1, bytes([byte]))\n    time.sleep(0.004)\n"
    )
    core.start(f"exec {sys.executable} {program}")
    shown, count = read_all(core, 1)
    assert shown.replace("\n", "") == "zażółć 日本語 🦂 end"
    assert count > 2


def test_more_than_one_answer_holds_is_read_in_order_with_what_is_left(core: LocalCore) -> None:
    lines = "".join(f"{number}\n" for number in range(1, 20_001))
    core.start("sleep 0.15; seq 1 20000")
    core.ended(1)
    first = core.read(1)
    text, _, line = first.rpartition("[")
    assert len(text) <= 30_000
    assert lines.startswith(text)
    assert line == f"task 1: exited with code 0 after 0s; {(len(lines) - len(text)) / 1024:.1f} KB left: read again]"
    assert text + read_all(core, 1)[0] == lines


def test_one_endless_line_is_read_to_the_character(core: LocalCore) -> None:
    core.start("sleep 0.15; printf 'x%.0s' $(seq 70000)")
    core.ended(1)
    shown, count = read_all(core, 1)
    assert shown.replace("\n", "") == "x" * 70_000
    assert count == 3


def test_half_a_character_is_shown_once_nothing_more_can_come(core: LocalCore, tmp_path: Path) -> None:
    core.start("printf 'a\\346\\227'; while [ ! -e go ]; do sleep 0.02; done")
    assert core.read(1) == "a\n[task 1: running, 0s, 1 B new]"
    assert core.read(1).startswith("(no new output)")
    (tmp_path / "go").touch()
    core.ended(1)
    assert core.read(1).startswith("\ufffd\n")


def test_a_progress_bar_shows_its_newest_state_at_each_read(core: LocalCore, tmp_path: Path) -> None:
    core.start("printf 'get\\n10%%\\r20%%'; while [ ! -e go ]; do sleep 0.02; done; printf '\\r30%%\\r100%%\\r\\n'")
    assert core.read(1).startswith("get\n20%\n[task 1: running")
    (tmp_path / "go").touch()
    core.ended(1)
    assert core.read(1).startswith("100%\n[task 1: exited")


def test_binary_output_is_named_and_counts_as_read(core: LocalCore, home: Path) -> None:
    core.start("sleep 0.15; head -c 100000 /dev/urandom")
    core.ended(1)
    log = home / "tasks" / "1" / "output.log"
    assert core.read(1).startswith(f"[binary output: binary data, 97.7 KB, not shown; saved: {log}]\n")
    assert core.read(1).startswith("(no new output)")


def test_output_above_its_bound_ends_the_task(open_core: Callable[..., LocalCore], tag: str) -> None:
    core = open_core(bash_max_output_bytes=50_000)
    core.start(f"sleep 0.15; head -c 100000 /dev/zero | tr '\\0' x; sleep {tag}")
    core.ended(1)
    assert re.search(
        r"\[1\] killed: its output passed BASH_MAX_OUTPUT_BYTES, \ds, pid \d+, 97\.7 KB unread", core.list()
    )
    assert living(tag) == []


# -- over a stop and the end of servers


def test_a_command_that_ended_while_its_server_was_stopped_did_not_time_out(
    other_server: Callable[..., OtherServer], tmp_path: Path
) -> None:
    server = other_server()
    assert server.text("Bash", command="true") == "(no output)"
    shown: list[str] = []
    command = "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo done; touch ended"
    call = threading.Thread(target=lambda: shown.append(server.text("Bash", command=command, timeout=1500)))
    call.start()
    assert wait_until((tmp_path / "begun").exists)
    time_is_up_s = time.monotonic() + 1.6
    server.process.send_signal(signal.SIGSTOP)
    (tmp_path / "go").touch()
    assert wait_until((tmp_path / "ended").exists)
    assert wait_until(lambda: time.monotonic() > time_is_up_s)
    server.process.send_signal(signal.SIGCONT)
    call.join()
    assert shown == ["done"]


def test_tasks_of_a_killed_server_are_lost_and_their_output_is_still_read(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore], tag: str, home: Path
) -> None:
    server = other_server()
    assert server.text("BackgroundBash", command=f"echo one; sleep {tag}").startswith("Started background task 1 ")
    assert server.text("ReadBgOutput", task_id=1).startswith("one\n")
    assert server.text("BackgroundBash", command="echo unread; exit 3").startswith("Background task 2 ended")
    assert server.text("BackgroundBash", command=f"echo three; sleep {tag}").startswith("Started background task 3 ")
    server.end(kill=True)
    core = open_core()
    listed = core.list()
    assert listed.startswith("Background tasks (3):\n")
    assert re.search(rf"\[1\] lost: host ended, 0s, pid \d+, 0 B unread: echo one; sleep {tag}\n", listed)
    assert re.search(r"\[2\] exited \(3\), ", listed)
    assert re.search(r"\[3\] lost: host ended, .*, 6 B unread: ", listed)
    assert core.read(1).startswith("(no new output)\n[task 1: lost: host ended after ")
    assert core.read(3).startswith("three\n[task 3: lost: host ended")
    assert core.kill(3) == "Task 3 already finished (lost: host ended)."
    assert "ackground task 4 " in core.start("true")
    assert wait_until(lambda: not living(tag))
    assert len(list((home / "servers").glob("*.lock"))) == 1


def test_tasks_of_a_server_that_ended_are_lost_too(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore], tag: str
) -> None:
    server = other_server()
    server.text("BackgroundBash", command=f"sleep {tag}")
    assert "as task 2: " in server.text("Bash", command=f"sleep {tag} &")
    server.end(kill=False)
    assert not living(tag)
    listed = open_core().list()
    assert "[1] lost: host ended" in listed
    assert "[2] lost: host ended" in listed


def test_a_surviving_task_is_taken_over_running_read_on_and_killed(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore], tag: str, tmp_path: Path
) -> None:
    server = other_server(survive=True)
    command = f"echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; sleep {tag}"
    assert "only if you kill it" in server.text("BackgroundBash", command=command)
    assert server.text("ReadBgOutput", task_id=1).startswith("one\n")
    server.end(kill=True)
    core = open_core()
    assert "[1] running, " in core.list()
    (tmp_path / "go").touch()
    assert wait_until(lambda: living(tag))
    assert re.fullmatch(r"two\n\[task 1: running, 0s, 4 B new\]", core.read(1))
    assert re.match(r"Killed task 1 \(SIGTERM, [12] process(es)?, \d\.\ds\): echo one", core.kill(1))
    assert living(tag) == []
    assert core.kill(1) == "Task 1 already finished (killed)."


def test_the_exit_code_of_a_surviving_task_is_known_to_the_next_server(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore], tmp_path: Path
) -> None:
    server = other_server(survive=True)
    server.text("BackgroundBash", command="while [ ! -e go ]; do sleep 0.02; done; echo done; exit 5")
    server.end(kill=True)
    core = open_core()
    assert "[1] running, " in core.list()
    (tmp_path / "go").touch()
    assert wait_until(lambda: "running" not in core.list())
    assert "[1] exited (5), " in core.list()
    assert core.read(1).startswith("done\n[task 1: exited with code 5 after ")


def test_a_surviving_task_that_ended_between_two_servers_keeps_its_code_and_output(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore], tmp_path: Path, home: Path
) -> None:
    server = other_server(survive=True)
    server.text("BackgroundBash", command="while [ ! -e go ]; do sleep 0.02; done; echo done; exit 5")
    server.end(kill=True)
    (tmp_path / "go").touch()
    supervisor = json.loads((home / "tasks" / "1" / "meta.json").read_bytes())["supervisor_pid"]
    assert wait_until(lambda: process_start(supervisor) is None)
    core = open_core()
    assert "[1] exited (5), " in core.list()
    assert core.read(1).startswith("done\n")


def test_a_task_is_taken_over_once_even_when_many_servers_look_at_the_same_time(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore]
) -> None:
    server = other_server()
    for _ in range(5):
        server.text("BackgroundBash", command="true")
    server.end(kill=True)
    cores = [open_core() for _ in range(8)]
    together = threading.Barrier(len(cores))
    seen: list[str] = []

    def look(core: LocalCore) -> None:
        together.wait()
        seen.append(core.list())

    threads = [threading.Thread(target=look, args=(core,)) for core in cores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [line for listed in seen for line in listed.splitlines() if line.startswith("  [")]
    assert sorted(line[3] for line in found) == ["1", "2", "3", "4", "5"]


def test_the_tasks_of_a_living_server_stay_its_own(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore], tag: str
) -> None:
    server = other_server()
    server.text("BackgroundBash", command=f"sleep {tag}")
    core = open_core()
    assert core.list() == "No background tasks."
    assert core.kill(1).startswith("No background task 1")
    assert living(tag)
    assert "ackground task 2 " in core.start("true")


def test_what_was_taken_over_is_taken_over_again(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore]
) -> None:
    first = other_server()
    first.text("BackgroundBash", command="echo unread; sleep 0.2")
    first.end(kill=True)
    second = other_server()
    assert "[1] lost: host ended" in second.text("ListBgTasks")
    second.end(kill=True)
    assert open_core().read(1).startswith("unread\n")


def test_an_http_client_takes_over_nothing(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore]
) -> None:
    server = other_server()
    server.text("BackgroundBash", command="true")
    server.end(kill=True)
    core = open_core()
    assert core.list(owner="session-a") == "No background tasks."
    assert "[1] exited (0)" in core.list()


def test_a_process_that_has_the_number_of_a_dead_supervisor_is_left_alone(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore], home: Path, tag: str
) -> None:
    server = other_server(survive=True)
    server.text("BackgroundBash", command=f"sleep {tag}")
    server.end(kill=True)
    path = home / "tasks" / "1" / "meta.json"
    record = json.loads(path.read_bytes())
    path.write_text(json.dumps({**record, "supervisor_start": record["supervisor_start"] - 1}))
    core = open_core()
    assert "[1] lost: host ended" in core.list()
    assert core.kill(1) == "Task 1 already finished (lost: host ended)."
    assert living(tag)
    os.kill(record["supervisor_pid"], signal.SIGTERM)
    assert wait_until(lambda: not living(tag))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"command": 5}', b"\xff" * 100])
def test_a_damaged_record_hides_its_task_and_nothing_else(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore], home: Path, content: bytes
) -> None:
    server = other_server()
    server.text("BackgroundBash", command="true")
    server.text("BackgroundBash", command="true")
    server.end(kill=True)
    (home / "tasks" / "1" / "meta.json").write_bytes(content)
    assert re.fullmatch(r"Background tasks \(1\):\n  \[2\] exited \(0\), .*", open_core().list())


def test_files_are_private_whatever_the_umask(core: LocalCore, home: Path) -> None:
    before = os.umask(0)
    try:
        core.start("echo x; umask 0; : >/dev/null")
        core.read(1)
    finally:
        os.umask(before)
    modes = {path.relative_to(home).as_posix(): path.stat().st_mode & 0o777 for path in home.rglob("*")}
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}


@pytest.mark.usefixtures("_patient_start")
def test_a_task_whose_files_were_removed_disappears_from_the_list(core: LocalCore, home: Path) -> None:
    core.start("true")
    for path in (home / "tasks" / "1").iterdir():
        path.unlink()
    assert core.list() == "No background tasks."


@pytest.mark.parametrize("other", ["fifo", "directory", "link", "nothing"])
def test_a_log_that_is_no_file_any_more_is_told_at_once(core: LocalCore, home: Path, tag: str, other: str) -> None:
    core.start(f"sleep {tag}")
    log = home / "tasks" / "1" / "output.log"
    log.unlink()
    if other == "fifo":
        os.mkfifo(log)
    elif other == "directory":
        log.mkdir()
    elif other == "link":
        log.symlink_to("/etc/passwd")
    told = core.call("ReadBgOutput", {"task_id": 1})
    assert told.is_error
    assert f"The log {log} cannot be read: " in str(told.content)
    assert core.kill(1).startswith("Killed task 1 ")


def test_a_task_that_could_not_be_started_is_unknown_to_the_next_server(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore], tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    server = other_server(cwd=place)
    server.text("BackgroundBash", command="true")
    place.rmdir()
    assert "does not exist" in server.text("BackgroundBash", command="pwd")
    server.end(kill=True)
    assert re.fullmatch(r"Background tasks \(1\):\n  \[1\] exited \(0\), .*", open_core().list())


def test_tasks_started_after_the_state_directory_was_removed_are_found_by_the_next_server(
    other_server: Callable[..., OtherServer], open_core: Callable[..., LocalCore], home: Path
) -> None:
    server = other_server()
    server.text("BackgroundBash", command="true")
    shutil.rmtree(home)
    assert "ackground task 2 " in server.text("BackgroundBash", command="echo later")
    server.end(kill=True)
    assert re.fullmatch(r"Background tasks \(1\):\n  \[2\] exited \(0\), .*", open_core().list())
