"""When the server ends, whichever way, its commands end; those that shall survive it can be found and ended later."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scorpio import process
from tests.process.commands import ROOT, Commands, children, living, read, until, wait_until

SERVER = """
import asyncio, json, os, sys, threading, time
from scorpio import process

async def main():
    for order in json.load(open(sys.argv[1])):
        command = await process.spawn(env=process.command_environment(os.environ), output_bytes_max=0, **order)
        print(command.supervisor_pid, command.pid, flush=True)
    if sys.argv[2] == "hang":
        threading.Thread(target=end, daemon=True).start()
        time.sleep(1000)
    await asyncio.sleep(1000)

def end():
    process.end_all(300)
    print("ended", flush=True)
    sys.stdin.read()
    os._exit(0)

asyncio.run(main())
"""


class Server:
    """A process that runs commands through the process layer until it is killed."""

    def __init__(self, directory: Path, orders: list[dict[str, Any]], mode: str) -> None:
        for index, order in enumerate(orders):
            order.update(cwd="/", log_path=f"{directory}/log{index}", status_path=f"{directory}/status{index}")
        (directory / "orders").write_text(json.dumps(orders))
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, f"{directory}/orders", mode],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout
        self.pids = [tuple(map(int, self.said.readline().split())) for _ in orders]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def serve(supervisor: str, tmp_path: Path) -> Iterator[Any]:
    servers: list[Server] = []

    def start(*orders: dict[str, Any], mode: str = "wait") -> Server:
        servers.append(Server(tmp_path, list(orders), mode))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()
        for guard, _ in server.pids:
            if _is_guard(guard):
                os.kill(guard, signal.SIGTERM)


def _is_guard(pid: int) -> bool:
    """Zombies not counted: when their server is dead, it is init that reaps them."""
    name, _, fields = read(f"/proc/{pid}/stat").rpartition(b") ")
    return name.endswith(b"(command-guard") and fields[:1] not in (b"Z", b"X")


@pytest.mark.parametrize(
    "command",
    [
        "sleep {tag}",
        "setsid sleep {tag} & sleep 9000",
        "trap '' TERM; setsid sleep {tag} & sleep 9000",
        "(setsid nohup sleep {tag} >/dev/null 2>&1 &)",
        "kill -9 $PPID; sleep {tag}",
    ],
)
def test_killed_server_leaves_nothing(serve: Any, tag: str, tmp_path: Path, command: str) -> None:
    server = serve({"command": command.format(tag=tag)})
    assert wait_until(lambda: living(tag))
    server.kill()
    assert wait_until(lambda: not living(tag))
    assert wait_until(lambda: not _is_guard(server.pids[0][0]))


def test_killed_servers_command_has_a_status_that_says_so(serve: Any, tag: str, tmp_path: Path) -> None:
    server = serve({"command": f"sleep {tag}"})
    assert wait_until(lambda: living(tag))
    server.kill()
    assert wait_until(lambda: process.read_status(f"{tmp_path}/status0"))
    told = process.read_status(f"{tmp_path}/status0")
    assert told is not None
    assert (told[0].signal, told[0].reason) == (signal.SIGTERM, "server")


def test_supervisor_started_ahead_goes_with_a_killed_server(serve: Any, tag: str) -> None:
    server = serve({"command": "exec sleep 1000"})
    guard = server.pids[0][0]
    assert wait_until(lambda: len(children(server.process.pid)) == 2)
    spare = (children(server.process.pid).keys() - {guard}).pop()
    server.kill()
    assert wait_until(lambda: not Path(f"/proc/{spare}/fd/0").exists())


def test_file_of_a_long_command_goes_with_a_killed_server(serve: Any, tag: str, tmp_path: Path) -> None:
    server = serve({"command": ": " + "x" * 200_000 + f"; sleep {tag}"})
    assert wait_until(lambda: living(tag))
    assert len(list(tmp_path.glob("*.command"))) == 1
    server.kill()
    assert wait_until(lambda: not list(tmp_path.glob("*.command")))


def test_surviving_command_ends_by_itself_and_says_how(serve: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    server = serve({"command": f"read < {tmp_path}/gate; echo went on; exit 9", "survive": True})
    server.kill()
    guard, shell = server.pids[0]
    assert process.read_status(f"{tmp_path}/status0") is None
    assert process.survivors_of(guard) == [(shell, "bash")]
    (tmp_path / "gate").write_text("\n")
    assert wait_until(lambda: process.read_status(f"{tmp_path}/status0"))
    told = process.read_status(f"{tmp_path}/status0")
    assert told is not None
    assert (told[0].code, told[0].reason) == (9, "")
    assert (tmp_path / "log0").read_text() == "went on\n"
    assert wait_until(lambda: not _is_guard(guard))


def test_surviving_command_ends_by_sigterm_to_its_guard(serve: Any, tag: str, tmp_path: Path) -> None:
    server = serve({"command": f"trap '' TERM; setsid sleep {tag} & sleep 9000", "survive": True})
    server.kill()
    assert wait_until(lambda: living(tag))
    os.kill(server.pids[0][0], signal.SIGTERM)
    assert wait_until(lambda: process.read_status(f"{tmp_path}/status0"))
    assert wait_until(lambda: not living(tag) and not _is_guard(server.pids[0][0]))
    told = process.read_status(f"{tmp_path}/status0")
    assert told is not None
    assert told[0].signal == signal.SIGKILL


def test_end_all_ends_what_does_not_survive_while_the_event_loop_hangs(serve: Any, tag: str) -> None:
    server = serve(
        {"command": f"trap '' TERM; setsid sleep {tag} & sleep {tag}"},
        {"command": f"sleep 1{tag}", "survive": True},
        {"command": f"sleep {tag}"},
        mode="hang",
    )
    assert server.said.readline() == "ended\n"
    assert living(tag) == []
    assert living(f"1{tag}") != []
    assert not any(_is_guard(server.pids[index][0]) for index in (0, 2))


def test_killed_server_with_many_commands_leaves_nothing(serve: Any, tag: str) -> None:
    server = serve(*({"command": f"setsid sleep {tag} & sleep {tag}"} for _ in range(20)))
    assert wait_until(lambda: len(living(tag)) == 40)
    server.kill()
    assert wait_until(lambda: not living(tag))


def test_command_of_a_closed_event_loop_ends_with_the_next_start(commands: Commands, tag: str) -> None:
    asyncio.run(abandon(commands, tag))
    assert living(tag)

    async def body() -> None:
        await commands.output("true")
        assert await until(lambda: not living(tag))

    commands.run(body)  # which waits until every supervisor is reaped


async def abandon(commands: Commands, tag: str) -> None:
    await commands.start(f"sleep {tag}")
    commands.started.clear()
    assert await until(lambda: living(tag))


def _litter(directory: Path) -> Path:
    """A scratch directory with files, directories and links in it."""
    scratch = directory / "scratch"
    (scratch / "a" / "b").mkdir(parents=True)
    for number in range(200):
        (scratch / "a" / "b" / f"file-{number}-{'x' * 100}").write_text("")
    (scratch / "link").symlink_to(directory / "kept")
    (scratch / "a" / "link").symlink_to(directory / "kept" / "file")
    (directory / "kept").mkdir()
    (directory / "kept" / "file").write_text("kept")
    return scratch


@pytest.mark.requirement("process:scratch")
def test_the_scratch_directory_of_a_command_goes_with_its_last_process(commands: Commands, tmp_path: Path) -> None:
    scratch = _litter(tmp_path)

    async def body() -> None:
        command = await commands.start(f"echo > {scratch}/new; sleep 1000 &", scratch_path=str(scratch))
        await command.wait_shell()
        assert scratch.is_dir()
        await command.terminate(0)
        assert not scratch.exists()

    commands.run(body)
    assert (tmp_path / "kept" / "file").read_text() == "kept"


@pytest.mark.requirement("process:scratch")
def test_the_scratch_directory_of_a_command_goes_when_the_server_is_killed(serve: Any, tmp_path: Path) -> None:
    scratch = _litter(tmp_path)
    server = serve(
        {"command": f"trap '' TERM; while :; do echo > {scratch}/$RANDOM; done", "scratch_path": f"{scratch}"}
    )
    server.kill()
    assert wait_until(lambda: not scratch.exists())
    assert (tmp_path / "kept" / "file").read_text() == "kept"


def test_a_link_in_place_of_the_scratch_directory_is_not_followed(commands: Commands, tmp_path: Path) -> None:
    scratch = _litter(tmp_path)
    moved = tmp_path / "moved"

    async def body() -> None:
        swap = f"mv {scratch} {moved}; ln -s {moved} {scratch}"
        await (await commands.start(swap, scratch_path=f"{scratch}/")).wait_gone()

    commands.run(body)
    assert (moved / "a" / "b").is_dir()


def test_the_scratch_directory_of_a_command_that_did_not_start_goes_at_once(commands: Commands, tmp_path: Path) -> None:
    scratch = _litter(tmp_path)

    async def body() -> None:
        with pytest.raises(process.SpawnFailure):
            await commands.start("true", cwd=str(tmp_path / "missing"), scratch_path=str(scratch))

    commands.run(body)
    assert not scratch.exists()
