"""What a command finds when it starts, and how its end is told."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from scorpio import process
from tests.process.commands import Commands, children, living, until


def how(end: process.Exit) -> tuple[int | None, int | None, str]:
    return end.code, end.signal, end.reason


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("true", (0, None, "")),
        ("exit 3", (3, None, "")),
        ("exit 255", (255, None, "")),
        ("/etc/passwd", (126, None, "")),
        ("no-such-command-at-all", (127, None, "")),
        ("kill -SEGV $$", (None, signal.SIGSEGV, "")),
        ("kill -KILL $$", (None, signal.SIGKILL, "")),
    ],
)
def test_shells_end_is_told_exactly_with_gone_in_the_same_moment(
    commands: Commands, command: str, end: tuple[int | None, int | None, str]
) -> None:
    async def body() -> None:
        started = await commands.start(command)
        assert how(await started.wait_shell()) == end
        assert started.gone

    commands.run(body)


def test_output_and_errors_arrive_in_one_log_in_order(commands: Commands) -> None:
    async def body() -> None:
        assert await commands.output("echo a; echo b >&2; echo c") == "a\nb\nc\n"
        assert commands.log.stat().st_mode & 0o777 == 0o600
        assert await commands.output("echo d") == "a\nb\nc\nd\n"

    commands.run(body)


def test_stdin_is_at_its_end(commands: Commands) -> None:
    async def body() -> None:
        assert await commands.output("cat; echo end") == "end\n"

    commands.run(body)


def test_there_is_no_controlling_terminal(commands: Commands) -> None:
    async def body() -> None:
        assert "none" in await commands.output("(: </dev/tty) 2>/dev/null || echo none")

    commands.run(body)


def test_only_the_three_standard_descriptors_are_open_even_when_the_server_leaks(commands: Commands) -> None:
    leaked = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leaked, True)

    async def body() -> None:
        assert await commands.output("ls /proc/$$/fd; true") == "0\n1\n2\n"

    try:
        commands.run(body)
    finally:
        os.close(leaked)


def test_no_signal_is_blocked_or_ignored(commands: Commands, supervisor: str) -> None:
    ignored = 0 if supervisor else 1 << 31 | 1 << 32  # glibc's own two, out of Python's reach

    async def body() -> None:
        said = await commands.output("grep -E 'Sig(Blk|Ign)' /proc/self/status; yes | head -1")
        assert said == f"SigBlk:\t{0:016x}\nSigIgn:\t{ignored:016x}\ny\n"

    commands.run(body)


def test_shell_leads_a_session_of_its_own(commands: Commands) -> None:
    async def body() -> None:
        started = await commands.start("sleep 1000")
        assert os.getsid(started.pid) == started.pid == os.getpgid(started.pid)

    commands.run(body)


def test_command_is_offered_to_the_oom_killer_before_the_server(commands: Commands) -> None:
    async def body() -> None:
        assert await commands.output("cat /proc/self/oom_score_adj") == "500\n"

    commands.run(body)


def test_umask_is_the_servers_and_cwd_the_callers_however_the_last_command_left_them(commands: Commands) -> None:
    (commands.directory / "a b").mkdir()

    async def body() -> None:
        await commands.output("umask 077; cd /")
        before = os.umask(0o027)
        try:
            assert await commands.output("umask; pwd", cwd=f"{commands.directory}/a b") == (
                f"0027\n{commands.directory}/a b\n"
            )
        finally:
            os.umask(before)

    commands.run(body)


def test_environment_is_the_given_one_and_nothing_else(commands: Commands) -> None:
    given = {"PATH": os.environ["PATH"], "LC_ALL": "C", "WITH_NEWLINE": "a\nb=c", "EMPTY": ""}

    async def body() -> None:
        said = await commands.output("cat /proc/$$/environ; true", env=given)
        assert dict(entry.split("=", 1) for entry in said.split("\0") if entry) == given

    commands.run(body)


def test_shell_is_called_bash_and_sees_no_argument(commands: Commands) -> None:
    async def body() -> None:
        assert await commands.output('echo "$0 $#"') == "bash 0\n"

    commands.run(body)


def test_supervisors_do_not_show_the_command_so_that_pkill_f_misses_them(commands: Commands, tag: str) -> None:
    async def body() -> None:
        started = await commands.start(f"sleep {tag}; true")
        shown = Path(f"/proc/{started.supervisor_pid}/cmdline").read_bytes()
        shown += Path(f"/proc/{started._parent_pid}/cmdline").read_bytes()
        assert tag.encode() not in shown

    commands.run(body)


@pytest.mark.parametrize("size", [200, 126 * 1024, 127 * 1024, 128 * 1024, 200 * 1024, 1024 * 1024])
def test_command_of_any_length_runs_and_leaves_no_file(commands: Commands, size: int) -> None:
    text = "x" * (size - 40)

    async def body() -> None:
        started = await commands.start(f"v='{text}'; echo $0 ${{#v}}; exit 7")
        assert how(await started.wait_shell()) == (7, None, "")
        assert commands.log.read_text() == f"bash {len(text)}\n"
        assert sorted(os.listdir(commands.directory)) == ["log", "status"]

    commands.run(body)


def test_long_command_runs_under_plain_sh_with_a_useless_path(commands: Commands) -> None:
    async def body() -> None:
        started = await commands.start(": " + "x" * 200_000 + "; echo ok; exit 7", env={"PATH": ""})
        assert how(await started.wait_shell()) == (7, None, "")
        assert commands.log.read_text() == "ok\n"

    commands.run(body)


def test_without_bash_in_path_the_shell_is_bin_sh_and_says_so(commands: Commands) -> None:
    async def body() -> None:
        started = await commands.start("echo $0", env={"PATH": "/nowhere:relative"})
        await started.wait_shell()
        assert (started.shell, commands.log.read_text()) == ("/bin/sh", "sh\n")

    commands.run(body)


def test_prefix_runs_the_shell(commands: Commands) -> None:
    async def body() -> None:
        assert await commands.output('echo "$ADDED ${0##*/}"', prefix=("/usr/bin/env", "ADDED=yes")) == "yes bash\n"

    commands.run(body)


def test_status_file_tells_the_end_and_when(commands: Commands) -> None:
    async def body() -> None:
        await (await commands.start("exit 3")).wait_shell()
        told = process.read_status(str(commands.status))
        assert told is not None
        assert how(told[0]) == (3, None, "")
        assert abs(told[1] - commands.status.stat().st_mtime) < 60
        assert commands.status.stat().st_mode & 0o777 == 0o600
        assert sorted(os.listdir(commands.directory)) == ["log", "status"]

    commands.run(body)


@pytest.mark.parametrize("text", ["", "exited", "exited 0 -1\n", "exited x -1 - 5\n", "\xff\n"])
def test_unfinished_or_foreign_status_file_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "status").write_bytes(text.encode("latin-1"))
    assert process.read_status(str(tmp_path / "status")) is None
    assert process.read_status(str(tmp_path / "missing")) is None


def test_log_past_its_bound_ends_the_command(commands: Commands) -> None:
    async def body() -> None:
        started = await commands.start("yes; echo unreachable", output_bytes_max=1_000_000)
        assert how(await started.wait_shell()) == (None, signal.SIGKILL, "output")
        await started.wait_gone()
        assert started.output_ended
        assert commands.log.stat().st_size > 1_000_000

    commands.run(body)


def test_log_past_its_bound_ends_what_the_shell_left_behind(commands: Commands) -> None:
    async def body() -> None:
        started = await commands.start("(sleep 0.3; exec yes) & echo started", output_bytes_max=1_000_000)
        assert how(await started.wait_shell()) == (0, None, "")
        assert not started.gone
        await started.wait_gone()
        assert started.output_ended

    commands.run(body)


def test_what_the_shell_leaves_behind_is_named_and_can_be_ended(commands: Commands, tag: str) -> None:
    odd = commands.directory / "a) b (S 1"
    odd.symlink_to("/bin/sleep")

    async def body() -> None:
        started = await commands.start(f"sleep {tag} & './{odd.name}' {tag} & echo hi")
        assert how(await started.wait_shell()) == (0, None, "")
        assert not started.gone
        assert await until(lambda: len(living(tag)) == 2)
        assert sorted(started.survivors()) == sorted(
            (pid, Path(f"/proc/{pid}/comm").read_text()[:-1]) for pid in living(tag)
        )
        assert {name for _, name in started.survivors()} >= {"sleep"}
        assert await started.terminate(1000) == 2
        assert (living(tag), started.gone, started.survivors()) == ([], True, [])

    commands.run(body)


def test_process_start_names_a_process_and_not_its_number(commands: Commands) -> None:
    async def body() -> None:
        started = await commands.start("sleep 1000")
        first = process.process_start(started.supervisor_pid)
        assert isinstance(first, int)
        assert first == process.process_start(started.supervisor_pid)
        await started.terminate(0)
        assert await until(lambda: process.process_start(started.supervisor_pid) is None)

    commands.run(body)


def test_sixty_four_commands_run_at_once(commands: Commands) -> None:
    async def body() -> None:
        fifo = commands.directory / "gate"
        os.mkfifo(fifo)
        running = [
            await commands.start(f"read < gate; exit {index}", status_path=None, log_path=f"{commands.log}{index}")
            for index in range(64)
        ]
        assert len({one.pid for one in running}) == 64
        assert all(one.exit is None for one in running)
        gate = os.open(fifo, os.O_RDWR)
        os.write(gate, b"\n" * 64)
        assert [(await one.wait_shell()).code for one in running] == list(range(64))
        os.close(gate)

    commands.run(body)


def test_many_commands_leave_no_descriptor_and_no_zombie(commands: Commands, supervisor: str) -> None:
    count = 200 if supervisor else 40

    async def body() -> None:
        process._live.prepare()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(count):
            assert (await (await commands.start("true")).wait_shell()).code == 0
        assert await until(lambda: not process._live.commands)
        process._live.prepare()
        assert len(os.listdir("/proc/self/fd")) == before

    commands.run(body)  # which waits until every supervisor is reaped


def test_supervisor_started_ahead_takes_the_next_command_and_holds_nothing_of_the_server(commands: Commands) -> None:
    async def body() -> None:
        await commands.output("true")
        assert await until(lambda: process._live.supervisors.spare)
        assert process._live.supervisors.spare is not None
        spare = process._live.supervisors.spare[1]
        assert await until(lambda: os.listdir(f"/proc/{spare}/fd") == ["0"])
        assert os.readlink(f"/proc/{spare}/cwd") == "/"
        started = await commands.start("exit 3", env={"PATH": os.environ["PATH"], "NEW": "1"})
        assert started.supervisor_pid == spare
        assert (await started.wait_shell()).code == 3

    commands.run(body)


def test_supervisor_started_ahead_that_was_killed_is_replaced(commands: Commands) -> None:
    async def body() -> None:
        process._live.prepare()
        assert process._live.supervisors.spare is not None
        spare = process._live.supervisors.spare[1]
        os.kill(spare, signal.SIGKILL)
        assert await until(lambda: children(os.getpid())[spare] == "Z")
        started = await commands.start("exit 3")
        assert started.supervisor_pid != spare
        assert (await started.wait_shell()).code == 3

    commands.run(body)
