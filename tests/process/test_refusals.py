"""What cannot be started is told in a sentence that names it, and the next command works."""

from __future__ import annotations

import asyncio
import os
import resource
from typing import Any

import pytest

from scorpio import process
from tests.process.commands import Commands, children, living, until


async def refusal(commands: Commands, command: str = "true", **changes: Any) -> str:
    with pytest.raises(process.SpawnFailure) as failure:
        await commands.start(command, **changes)
    assert (await (await commands.start("exit 5")).wait_shell()).code == 5
    return str(failure.value)


def test_missing_working_directory_is_named(commands: Commands) -> None:
    async def body() -> None:
        assert await refusal(commands, cwd="/no/such") == (
            "The working directory /no/such does not exist. Name an existing directory."
        )

    commands.run(body)


def test_file_as_working_directory_is_named(commands: Commands) -> None:
    async def body() -> None:
        assert "/etc/passwd is not a directory" in await refusal(commands, cwd="/etc/passwd")

    commands.run(body)


def test_symbolic_loop_as_working_directory_is_named(commands: Commands) -> None:
    (commands.directory / "loop").symlink_to("loop")

    async def body() -> None:
        assert "loop is a loop of symbolic links" in await refusal(commands, cwd=f"{commands.directory}/loop")

    commands.run(body)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"command": "echo a\0b"}, "NUL byte at character 6"),
        ({"command": "echo \ud800"}, "lone surrogate at character 5"),
        ({"cwd": "/tmp\0x"}, "path contains a NUL byte"),
        ({"log_path": "/no/such/log"}, "The log /no/such/log cannot be written: No such file or directory"),
        ({"prefix": ("/no/sandbox",)}, "/no/sandbox does not exist"),
        ({"prefix": ("/etc/passwd",)}, "/etc/passwd cannot be run: Permission denied"),
        ({"prefix": ("/bin/echo", "x" * 300_000)}, "longer than the kernel takes (E2BIG)"),
        ({"env": {"PATH": "/bin", "LONG": "x" * 200_000}}, "longer than the kernel takes (E2BIG)"),
        ({"env": {str(index): "x" * 100_000 for index in range(30)}}, "longer than the kernel takes (E2BIG)"),
        ({"env": {"A=B": "x"}}, "environment"),
        ({"env": {"A": "x\0y"}}, "environment"),
    ],
)
def test_what_cannot_be_handed_over_is_told(commands: Commands, changes: dict[str, Any], said: str) -> None:
    async def body() -> None:
        assert said in await refusal(commands, **changes)

    commands.run(body)


def test_refused_long_command_leaves_no_file(commands: Commands) -> None:
    async def body() -> None:
        await refusal(commands, ": " + "x" * 200_000, cwd="/no/such")
        assert sorted(os.listdir(commands.directory)) == ["log", "status"]

    commands.run(body)


def test_log_that_is_a_symbolic_link_is_refused(commands: Commands) -> None:
    (commands.directory / "link").symlink_to(commands.directory / "target")

    async def body() -> None:
        assert "link cannot be written" in await refusal(commands, log_path=f"{commands.directory}/link")
        assert not (commands.directory / "target").exists()

    commands.run(body)


def test_exhausted_descriptors_are_told_and_pass(commands: Commands) -> None:
    async def body() -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken = [os.open(os.devnull, os.O_RDONLY)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 20, hard))
        try:
            with pytest.raises(OSError, match="Too many open files"):  # noqa: PT012
                while True:
                    taken.append(os.open(os.devnull, os.O_RDONLY))
            with pytest.raises(process.SpawnFailure, match="no file descriptors left"):
                await commands.start("true")
        finally:
            for file in taken:
                os.close(file)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert (await (await commands.start("exit 4")).wait_shell()).code == 4

    commands.run(body)


def test_missing_supervisor_is_named(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCORPIO_SUPERVISOR", "/no/supervisor")
    commands = Commands(tmp_path)

    async def body() -> None:
        with pytest.raises(process.SpawnFailure, match="The supervisor /no/supervisor does not exist"):
            await commands.start("true")

    commands.run(body)


def test_supervisor_that_ends_at_once_is_told(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCORPIO_SUPERVISOR", "/bin/true")
    commands = Commands(tmp_path)

    async def body() -> None:
        with pytest.raises(process.SpawnFailure, match="ended before the command started"):
            await commands.start("true")

    commands.run(body)  # which waits until every supervisor is reaped


def test_spawn_that_is_cancelled_leaves_nothing(commands: Commands, tag: str) -> None:
    async def body() -> None:
        before = children(os.getpid()).keys()
        task = asyncio.create_task(commands.start(f"sleep {tag}"))
        await asyncio.sleep(0)
        assert children(os.getpid()).keys() > before
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await until(lambda: not process._live.commands)
        assert living(tag) == []

    commands.run(body)  # which waits until every supervisor is reaped
