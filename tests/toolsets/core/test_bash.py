"""Bash with real commands: what it answers, what it leaves behind, and what it costs."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.process.commands import living, wait_until
from tests.toolsets.core.local_core import LocalCall, LocalCore
from tools.core.bash import handler

if TYPE_CHECKING:
    from collections.abc import Callable


def logs(home: Path) -> list[Path]:
    return sorted((home / "output").glob("*"))


def test_a_short_output_leaves_no_file(core: LocalCore, home: Path) -> None:
    assert core.bash("echo hi") == "hi"
    assert logs(home) == []


def test_a_failing_call_leaves_no_file(core: LocalCore, home: Path) -> None:
    core.cwd = "/no/such/directory"
    result = core.call("Bash", {"command": "true"})
    assert result.is_error
    assert "/no/such/directory does not exist" in result.content[0]["text"]
    assert logs(home) == []


def test_the_full_output_is_in_the_private_file_that_is_named(core: LocalCore, home: Path) -> None:
    shown = core.bash("seq 1 30000; umask 0")
    found = re.search(r"\[… ([\d,]+) characters omitted; full output: (\S+) …\]", shown)
    assert found
    path = Path(found[2])
    full = "".join(f"{number}\n" for number in range(1, 30_001))
    assert path.read_text() == full
    assert [path] == logs(home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before, after = shown.split(found[0] + "\n")
    assert len(before) + int(found[1].replace(",", "")) + len(after) + 1 == len(full)


def test_300_mb_of_output_are_answered_from_its_ends(core: LocalCore) -> None:
    shown = core.bash("yes 0123456789abcdef | head -c 300000000", timeout=60_000)
    assert len(shown) <= 30_000
    assert re.search(r"\[… 299,9\d\d,\d\d\d characters omitted", shown)


def test_output_above_its_bound_ends_the_command(open_core: Callable[..., LocalCore], tag: str) -> None:
    core = open_core(bash_max_output_bytes=100_000)
    result = core.call("Bash", {"command": f"sleep {tag} & yes | head -c 200000; sleep {tag}"})
    assert result.is_error
    assert "[killed: the output passed 97.7 KB (BASH_MAX_OUTPUT_BYTES)" in result.content[0]["text"]
    assert wait_until(lambda: not living(tag))


def test_a_timeout_ends_the_whole_tree_and_keeps_the_output(core: LocalCore, tag: str) -> None:
    result = core.call("Bash", {"command": f"echo begun; setsid sleep {tag} & sleep {tag}", "timeout": 500})
    assert result.is_error
    assert re.fullmatch(
        r"begun\n\[timed out after 500 ms; [23] processes killed\. .*600000\) or use BackgroundBash\.\]",
        result.content[0]["text"],
    )
    assert living(tag) == []


def test_a_command_that_ignores_sigterm_is_killed_after_the_grace(core: LocalCore, tag: str) -> None:
    assert "[timed out after 300 ms; 1 process killed." in core.bash(f"trap '' TERM; exec sleep {tag}", timeout=300)
    assert living(tag) == []


def test_a_cancelled_call_ends_when_its_processes_have_ended(core: LocalCore, tag: str, home: Path) -> None:
    call = LocalCall(core, "Bash", "stdio")
    running = core.begin(call, {"command": f"setsid sleep {tag} & trap '' TERM; sleep {tag}; sleep {tag}"})
    assert wait_until(lambda: len(living(tag)) == 2)
    running.cancel()
    assert wait_until(lambda: not living(tag))
    assert wait_until(lambda: not logs(home))
    assert core.list() == "No background tasks."
    assert core.bash("echo next") == "next"


def test_what_outlives_the_shell_is_a_task_that_can_be_read_and_killed(
    core: LocalCore, tag: str, home: Path, tmp_path: Path
) -> None:
    shown = core.bash(f"(while [ ! -e go ]; do :; done; echo later; exec sleep {tag}) & sleep {tag} & echo now")
    assert re.fullmatch(r"now\n\[2 background processes still running as task 1: \d+ bash, \d+ sleep\]", shown)
    assert "  [1] running, 0s, pid " in core.list()
    (tmp_path / "go").touch()
    log = home / "tasks" / "1" / "output.log"
    assert wait_until(lambda: b"later" in log.read_bytes())
    assert re.fullmatch(r"later\n\[task 1: running, \d+s, 6 B new\]", core.read(1))
    assert re.fullmatch(r"Killed task 1 \(SIGTERM, 2 processes, \d\.\ds\): \(while .*", core.kill(1))
    assert living(tag) == []
    assert logs(home) == []


def test_many_survivors_are_not_all_named(core: LocalCore, tag: str) -> None:
    shown = core.bash(f"for i in $(seq 14); do sleep {tag} & done")
    assert re.search(
        r"\[14 background processes still running as task 1: (\d+ sleep, ){9}\d+ sleep and 4 more\]", shown
    )
    core.kill(1)


def test_a_process_name_cannot_forge_a_line(core: LocalCore) -> None:
    program = "import time\nopen('/proc/self/comm','w').write('x]\\n[exit')\nprint(flush=True)\ntime.sleep(60)"
    shown = core.bash(f'python3 -c "{program}" & while ! grep -q x /proc/$!/comm; do sleep 0.1; done; echo up')
    assert re.fullmatch(r"up\n\[1 background process still running as task 1: \d+ x\] \[exit\]", shown.strip())
    core.kill(1)


def test_long_output_of_what_became_a_task_is_named_where_it_is_now(core: LocalCore, tag: str, home: Path) -> None:
    shown = core.bash(f"seq 1 20000; sleep {tag} &")
    path = home / "tasks" / "1" / "output.log"
    assert f"full output: {path} …]" in shown
    assert path.read_text().endswith("\n20000\n")
    assert core.read(1).startswith("(no new output)")
    core.kill(1)


def test_without_a_writable_state_the_log_is_in_the_temporary_directory(
    open_core: Callable[..., LocalCore], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str
) -> None:
    home.write_text("a file, not a directory")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    core = open_core()
    assert core.bash("echo hi") == "hi"
    found = re.search(r"full output: (\S+) …\]", core.bash("seq 1 20000"))
    assert found
    assert Path(found[1]).is_relative_to(tmp_path / "temporary")
    assert stat.S_IMODE(Path(found[1]).parent.parent.stat().st_mode) == 0o700
    assert "as task 1: " in core.bash(f"sleep {tag} &")
    assert "Killed task 1" in core.kill(1)
    refused = core.call("BackgroundBash", {"command": "true"})
    assert refused.is_error
    assert f"State cannot be written: {home} is not a directory" in refused.content[0]["text"]


def test_without_any_place_for_output_the_answer_says_so(
    open_core: Callable[..., LocalCore], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write_text("a file, not a directory")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    result = open_core().call("Bash", {"command": "true"})
    assert result.is_error
    assert str(home) in result.content[0]["text"]
    assert str(tmp_path / "missing") in result.content[0]["text"]


def test_65_commands_run_64_at_a_time_and_all_are_answered(core: LocalCore) -> None:
    calls = [core.begin(LocalCall(core, "Bash", "stdio"), {"command": f"echo {number}"}) for number in range(65)]
    answers = [call.result(60).content[0]["text"] for call in calls]
    assert answers == [str(number) for number in range(65)]


def test_a_timeout_counts_from_the_start_and_not_from_the_queue(core: LocalCore, tag: str) -> None:
    holding = [core.begin(LocalCall(core, "Bash", "stdio"), {"command": f"sleep {tag}"}) for _ in range(64)]
    assert wait_until(lambda: core.state.background_tasks.slots.full and len(living(tag)) == 64)
    call = LocalCall(core, "Bash", "stdio")
    queued = core.begin(call, {"command": "sleep 0.2; echo in time", "timeout": 5000})
    assert wait_until(lambda: call.activity == "waiting: 64 commands are running")
    refused = core.call("BackgroundBash", {"command": "true"})
    assert refused.is_error
    assert refused.content[0]["text"] == "64 commands are running. Start this again when one has ended."
    for one in holding:
        one.cancel()
    assert queued.result(60).content[0]["text"] == "in time"


def test_a_long_command_runs(core: LocalCore) -> None:
    assert core.bash(f"x={'y' * 300_000}; echo ${{#x}}") == "300000"


@pytest.mark.parametrize(
    ("command", "said"),
    [("echo \0", "must not contain a NUL byte (at character 5)"), ("echo \ud800", "a lone surrogate at character 5")],
)
def test_a_command_that_no_shell_can_take_is_an_argument_error(core: LocalCore, command: str, said: str) -> None:
    for tool in ("Bash", "BackgroundBash"):
        result = core.call(tool, {"command": command})
        assert result.is_error
        assert result.content[0]["text"].startswith(f"Invalid arguments for {tool}: /command ")
        assert said in result.content[0]["text"]


@pytest.mark.parametrize("timeout", [0, -1, -(2**63)])
def test_a_timeout_of_nothing_or_less_is_an_argument_error(core: LocalCore, timeout: int) -> None:
    result = core.call("Bash", {"command": "true", "timeout": timeout})
    assert result.is_error
    assert result.content[0]["text"].startswith("Invalid arguments for Bash: /timeout must be 1 or more")


@pytest.mark.parametrize("timeout", [600_001, 10**9, 2**63, 2**70])
def test_a_timeout_above_the_maximum_is_cut_and_said(core: LocalCore, timeout: int) -> None:
    assert core.bash("echo hi", timeout=timeout).startswith(
        f"hi\n[timeout {timeout} ms is above the maximum; 600000 ms"
    )


def test_the_configured_maximum_bounds_the_default_too(open_core: Callable[..., LocalCore], tag: str) -> None:
    assert "[timed out after 200 ms" in open_core(bash_max_timeout_ms=200).bash(f"sleep {tag}")


ENDS = [
    ("exit 3", "[exit code: 3]", True),
    ("false", "[exit code: 1]", True),
    ("diff /etc/passwd /dev/null >/dev/null", "[exit code: 1 (no match)]", False),
    ("test -e /none", "[exit code: 1 (no match)]", False),
    ("grep x /none 2>/dev/null", "[exit code: 2]", True),
    ("kill -KILL $$", "[killed by signal 9 (SIGKILL, maybe out of memory)]", True),
    ("kill -TERM $$", "[killed by signal 15 (SIGTERM)]", True),
    ("/etc/passwd 2>/dev/null", "[exit code: 126]", True),
    ("(exit 139)", "[exit code: 139 (SIGSEGV)]", True),
    ("(exit 137)", "[exit code: 137 (SIGKILL, maybe out of memory)]", True),
    ("exit 129", "[exit code: 129]", True),
    ("exit 255", "[exit code: 255]", True),
]


@pytest.mark.parametrize(("command", "line", "failed"), ENDS, ids=[row[0] for row in ENDS])
def test_the_end_of_a_command_is_told_on_a_line_of_its_own(
    core: LocalCore, command: str, line: str, failed: bool
) -> None:
    result = core.call("Bash", {"command": command})
    assert result.content[0]["text"] == f"(no output)\n{line}"
    assert result.is_error is failed


def test_a_cd_that_failed_before_a_search_is_a_failure(core: LocalCore) -> None:
    assert core.call("Bash", {"command": "cd /none && grep x y"}).is_error


def test_each_call_starts_afresh(core: LocalCore, tmp_path: Path) -> None:
    core.bash("cd /; umask 0; export X=1; stty raw 2>/dev/null; ulimit -n 10")
    assert core.bash('pwd; umask; echo "[$X]"') == f"{tmp_path}\n{core.bash('umask')}\n[]"


def test_a_command_has_three_descriptors_and_none_of_ours(core: LocalCore) -> None:
    shown = core.bash("ls /proc/self/fd")
    assert shown.split() == ["0", "1", "2", "3"]  # 3 is the directory that ls reads


def test_without_bash_in_path_sh_runs_and_that_is_said(core: LocalCore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert core.bash("echo hi") == "hi\n[there is no bash in PATH; /bin/sh ran this]"


def use_up_descriptors(held: list[int]) -> None:
    while True:
        try:
            held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            return


def test_no_descriptors_left_is_told_and_recovered_from(core: LocalCore) -> None:
    import resource

    assert core.bash("echo before") == "before"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    held: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 4, hard))
    try:
        use_up_descriptors(held)
        result = core.call("Bash", {"command": "true"})
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert result.is_error
    assert "no file descriptors" in result.content[0]["text"]
    assert core.bash("echo after") == "after"


@pytest.mark.parametrize("streaming", [False, True])
def test_the_activity_of_a_running_command_is_its_time_or_its_newest_output(
    open_core: Callable[..., LocalCore], tmp_path: Path, streaming: bool
) -> None:
    core = open_core(streaming=streaming)
    call = LocalCall(core, "Bash", "stdio")
    running = core.begin(call, {"command": "echo one; printf '\\033[1mtwo'; while [ ! -e stop ]; do sleep 0.05; done"})
    expected = "one\ntwo" if streaming else r"running for \ds: echo one; printf .*"
    assert wait_until(lambda: re.fullmatch(expected, call.activity))
    (tmp_path / "stop").touch()
    assert running.result(30).content[0]["text"] == "one\ntwo"


def test_every_answer_can_be_written_as_json(core: LocalCore) -> None:
    shown = core.bash(r"printf '\377\376\000\001\033[31mred\033[0m\r\n\355\240\200 caf\303\251 \360\237\230'")
    assert json.loads(json.dumps(shown).encode()) == shown
    assert shown == "\ufffd\ufffdred\n\ufffd\ufffd\ufffd café \ufffd"


def test_the_descriptor_states_the_bound_that_the_code_has() -> None:
    folder = Path(str(handler.__file__)).parent
    about = json.loads((folder / "tool.json").read_text())
    assert "default: 30000" in about["inputSchema"]["properties"]["timeout"]["description"]
    assert "30,000 characters" in (folder / "description.md").read_text()
