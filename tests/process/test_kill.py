"""Whatever a command does to stay, it goes when it is told to; whatever it does to its parent, it is still held."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from scorpio import process
from tests.process.commands import Commands, children, living, until

GUARD = "guard=$(grep PPid /proc/$PPID/status | tr -dc 0-9)"

HYDRA = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
beats = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
end = time.monotonic() + 60
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
    os.write(beats, b".")
    time.sleep(0.001)
"""


@pytest.mark.parametrize(
    "command",
    [
        "sleep {tag}",
        "bash -c 'sleep {tag}; true'",
        "setsid sleep {tag} & sleep 9000",
        "(setsid sleep {tag} </dev/null >/dev/null 2>&1 &) ; sleep 9000",
        "trap '' TERM; sleep {tag}; sleep 9000",
        "nohup sleep {tag} >/dev/null 2>&1 & disown; sleep 9000",
        "sleep {tag} & until grep -q sleep /proc/$!/comm; do :; done; kill -STOP $!; sleep 9000",
        "(trap '' TERM; setsid sleep {tag} & sleep {tag} & wait) & sleep 9000",
    ],
)
def test_nothing_outlives_terminate(commands: Commands, tag: str, command: str) -> None:
    async def body() -> None:
        started = await commands.start(command.format(tag=tag))
        assert await until(lambda: living(tag))
        assert await started.terminate(200) >= 1
        assert (living(tag), started.gone) == ([], True)
        assert (await started.wait_shell()).signal in (signal.SIGTERM, signal.SIGKILL)

    commands.run(body)


def test_each_process_is_counted_once(commands: Commands, tag: str) -> None:
    async def body() -> None:
        started = await commands.start(
            f"trap '' TERM; (trap '' TERM; sleep {tag}; :) & sleep {tag} & sleep {tag} & wait"
        )
        assert await until(lambda: len(living(tag)) == 3)
        assert [*await asyncio.gather(started.terminate(200), started.terminate(300))] == [5, 5]
        assert await started.terminate(0) == 5

    commands.run(body)


def test_shell_gets_time_to_clean_up(commands: Commands) -> None:
    async def body() -> None:
        started = await commands.start("trap 'echo bye; exit 6' TERM; echo ready; while :; do sleep 0.01; done")
        assert await until(lambda: commands.log.read_text() == "ready\n")
        await started.terminate(20_000)
        assert (await started.wait_shell()).code == 6
        assert "bye" in commands.log.read_text()

    commands.run(body)


def test_later_shorter_grace_counts(commands: Commands, tag: str) -> None:
    async def body() -> None:
        started = await commands.start(f"trap '' TERM; sleep {tag}")
        assert await until(lambda: living(tag))
        started.ask_to_terminate(10**9)
        started.ask_to_terminate(10)
        await started.wait_gone()
        assert living(tag) == []

    commands.run(body)


def test_terminate_after_the_end_signals_nobody(commands: Commands) -> None:
    async def body() -> None:
        started = await commands.start("exit 3")
        await started.wait_shell()
        assert await started.terminate(1000) == 0
        assert (started.exit is not None and started.exit.code) == 3

    commands.run(body)


def test_process_that_forks_anew_every_millisecond_loses(commands: Commands) -> None:
    script, beats = commands.directory / "hydra.py", commands.directory / "beats"
    script.write_text(HYDRA)

    async def body() -> None:
        for _ in range(3):
            started = await commands.start(f"{sys.executable} {script} {beats}; sleep 9000")
            assert await until(lambda: beats.exists() and beats.stat().st_size > 50)
            await started.terminate(20)
            assert started.gone
            size = beats.stat().st_size
            await asyncio.sleep(0.05)  # fifty lives of a hydra
            assert beats.stat().st_size == size
            beats.unlink()

    commands.run(body)


def test_command_that_kills_its_parent_runs_on_and_is_held(commands: Commands, tag: str) -> None:
    async def body() -> None:
        started = await commands.start(f"setsid sleep {tag} & kill -9 $PPID; sleep 0.05; echo on; exit 4")
        assert (await started.wait_shell()).code == 4
        assert commands.log.read_text() == "on\n"
        assert await until(lambda: [pid for pid, _ in started.survivors()] == living(tag) != [])
        assert await started.terminate(500) == 1
        assert living(tag) == []

    commands.run(body)


def test_command_that_kills_its_parent_at_once_is_told_as_started(commands: Commands) -> None:
    async def body() -> None:
        for _ in range(20):
            started = await commands.start("kill -9 $PPID; exit 4")
            assert started.pid
            assert (await started.wait_shell()).code == 4
            await started.wait_gone()
            status = process.read_status(str(commands.status))
            assert status is not None
            assert status[0].code == 4
            commands.status.unlink()

    commands.run(body)


def test_command_that_stops_its_parent_is_not_held_up(commands: Commands, tag: str) -> None:
    async def body() -> None:
        started = await commands.start(f"kill -STOP $PPID; echo on; sleep {tag}")
        assert await until(lambda: living(tag))
        await started.terminate(500)
        assert (living(tag), started.gone) == ([], True)
        assert (await (await commands.start("kill -STOP $PPID; exit 5")).wait_shell()).code == 5

    commands.run(body)


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "QUIT", "USR1", "SEGV", "TSTP", "CHLD"])
def test_other_signals_to_the_parent_change_nothing(commands: Commands, name: str) -> None:
    async def body() -> None:
        started = await commands.start(f"kill -{name} $PPID; sleep 0.02; exit 4")
        assert (await started.wait_shell()).code == 4

    commands.run(body)


def test_orphan_that_kills_its_parent_is_held(commands: Commands, tag: str) -> None:
    async def body() -> None:
        started = await commands.start(f"(setsid bash -c 'sleep 0.05; kill -9 $PPID; exec sleep {tag}' &)")
        await started.wait_shell()
        assert await until(lambda: living(tag))
        await started.terminate(500)
        assert living(tag) == []

    commands.run(body)


def test_command_that_kills_the_guard_is_held_by_the_parent(commands: Commands, tag: str) -> None:
    async def body() -> None:
        started = await commands.start(f"{GUARD}; kill -9 $guard; setsid sleep {tag} & sleep {tag}; exit 6")
        assert await until(lambda: len(living(tag)) == 2)
        assert await until(lambda: children(os.getpid()).get(started.supervisor_pid) == "Z")
        assert {pid for pid, _ in started.survivors()} >= set(living(tag))
        assert await started.terminate(500) >= 2
        assert (living(tag), started.gone) == ([], True)

    commands.run(body)


def test_parent_alone_tells_the_exit_code(commands: Commands) -> None:
    async def body() -> None:
        started = await commands.start(f"{GUARD}; kill -9 $guard; sleep 0.05; exit 6")
        assert (await started.wait_shell()).code == 6

    commands.run(body)


def test_command_that_stops_the_guard_is_ended_all_the_same(commands: Commands, tag: str) -> None:
    async def body() -> None:
        started = await commands.start(f"{GUARD}; kill -STOP $guard; sleep {tag}")
        assert await until(lambda: living(tag))
        await started.terminate(500)
        assert (living(tag), started.gone) == ([], True)

    commands.run(body)


def test_command_that_kills_guard_and_parent_is_told_as_lost(commands: Commands, tag: str) -> None:
    async def body() -> None:
        started = await commands.start(f"{GUARD}; kill -9 $guard $PPID; sleep {tag}")
        assert (await started.wait_shell()).reason == "lost"
        assert await until(lambda: not living(tag))

    commands.run(body)


def test_supervisors_program_may_vanish_while_the_server_runs(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "supervisor"
    copy.write_bytes(compiled.read_bytes())
    copy.chmod(0o755)
    monkeypatch.setenv("SCORPIO_SUPERVISOR", str(copy))
    commands = Commands(tmp_path)

    async def body() -> None:
        assert (await (await commands.start("exit 3")).wait_shell()).code == 3
        copy.unlink()
        started = await commands.start("sleep 1000")
        assert await until(lambda: process.survivors_of(started.supervisor_pid) == [(started.pid, "sleep")])
        assert await started.terminate(500) == 1

    commands.run(body)


def test_supervisor_built_with_a_c_library_does_the_same(
    compiled_with_libc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str
) -> None:
    monkeypatch.setenv("SCORPIO_SUPERVISOR", str(compiled_with_libc))
    commands = Commands(tmp_path)

    async def body() -> None:
        assert (await (await commands.start("exit 3")).wait_shell()).code == 3
        started = await commands.start(f"trap '' TERM; kill -9 $PPID; setsid sleep {tag} & sleep {tag}")
        assert await until(lambda: len(living(tag)) == 2)
        assert await started.terminate(100) == 3
        assert (living(tag), started.gone) == ([], True)
        with pytest.raises(process.SpawnFailure, match="/no/such does not exist"):
            await commands.start("true", cwd="/no/such")

    commands.run(body)
