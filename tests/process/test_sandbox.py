"""The sandbox below plan mode, as a general one will use it: found by trying, set up by both supervisors or not."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scorpio import process, sandbox
from scorpio.sandbox import ALLOWLIST, AUTO, BUBBLEWRAP, LANDLOCK, Backend, Policy, SandboxRefusal
from tests.lacking import lacking

if TYPE_CHECKING:
    from tests.process.commands import Commands

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is the allowlist only")

BACKENDS = [(LANDLOCK, True), (LANDLOCK, False), (BUBBLEWRAP, False)]


async def run(commands: Commands, backend: Backend, policy: Policy, command: str) -> tuple[int | None, str]:
    """(exit code, output) of a command under a policy."""
    commands.log.unlink(missing_ok=True)
    cwd = str(commands.directory)
    confined = backend.confined(policy, command, cwd=cwd)
    started = await commands.start(command, prefix=confined.prefix, confinement=confined.confinement)
    ended = await started.wait_shell()
    return ended.code, commands.log.read_text()


async def found(kind: str, namespaces: bool) -> Backend:
    backend = await sandbox.find(kind, namespaces=namespaces)
    if kind == LANDLOCK and sandbox.landlock_abi() < sandbox.LANDLOCK_ABI_MIN:
        pytest.skip("this kernel has no Landlock")
    if backend.kind != kind:
        lacking("; ".join(backend.reasons))
    return backend


def test_the_strongest_that_works_is_found_and_described(commands: Commands) -> None:
    async def body() -> None:
        best = await sandbox.find()
        if sandbox.landlock_abi() < sandbox.LANDLOCK_ABI_MIN:
            pytest.skip("this kernel has no Landlock")
        assert (best.kind, best.by_kernel, best.reasons) == (LANDLOCK, True, ())
        assert best.describe().startswith(f"Landlock (ABI {sandbox.landlock_abi()}) with a seccomp filter")
        plain = await sandbox.find(AUTO, namespaces=False)
        assert (plain.kind, plain.namespace) == (LANDLOCK, "")
        assert plain.gaps()[0].startswith("chmod, chown, setting times")
        last = await sandbox.find(ALLOWLIST)
        assert (last.kind, last.by_kernel) == (ALLOWLIST, False)

    commands.run(body)


def test_what_is_missing_is_told(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/no/such/directory")
    monkeypatch.setattr(sandbox, "SYSTEM_PATH", "/no/such/directory")

    async def body() -> None:
        found = await sandbox.find(BUBBLEWRAP)
        assert (found.kind, found.reasons) == (ALLOWLIST, ("bubblewrap (bwrap) is not installed",))

    commands.run(body)


@pytest.mark.parametrize(("kind", "namespaces"), BACKENDS)
def test_a_workspace_is_writable_and_nothing_else_is(commands: Commands, kind: str, namespaces: bool) -> None:
    """The policy of `--sandbox workspace`: a project, and single files beside it."""
    workspace, beside, file = (commands.directory / name for name in ("workspace", "beside", "file"))
    for directory in (workspace, beside):
        directory.mkdir()
    file.write_text("")

    async def body() -> None:
        backend = await found(kind, namespaces)
        policy = Policy((str(workspace), str(file)))
        allowed = "echo a > workspace/a && mkdir workspace/b && mv workspace/a workspace/b/ && echo a >> file"
        assert await run(commands, backend, policy, allowed) == (0, "")
        if namespaces or kind == BUBBLEWRAP:
            assert await run(commands, backend, policy, "chmod 700 workspace/b && touch -d @0 workspace/b") == (0, "")
        for refused in (
            "echo a > beside/a",
            "mv workspace/b beside/",
            "rm file",
            "ln workspace/b/a beside/a",
            "touch x",
        ):
            assert (await run(commands, backend, policy, refused))[0] != 0, refused

    commands.run(body)
    assert (workspace / "b" / "a").read_text() == "a\n"
    assert list(beside.iterdir()) == []


@pytest.mark.parametrize(("kind", "namespaces"), BACKENDS)
def test_a_directory_in_shared_memory_is_seen(commands: Commands, kind: str, namespaces: bool) -> None:
    if kind == BUBBLEWRAP:
        pytest.skip("its /dev is its own")
    place = Path("/dev/shm") / f"scorpio-{os.getpid()}"
    place.mkdir()

    async def body() -> None:
        backend = await found(kind, namespaces)
        command = f"echo a > {place}/a; cat {place}/a"
        assert await run(commands, backend, Policy((str(place),)), command) == (0, "a\n")

    try:
        commands.run(body)
    finally:
        (place / "a").unlink()
        place.rmdir()


def test_places_that_are_gone_are_passed_over(commands: Commands) -> None:
    async def body() -> None:
        for namespaces in (True, False):
            backend = await found(LANDLOCK, namespaces)
            policy = Policy((f"{commands.directory}/gone",))
            assert (await run(commands, backend, policy, "mkdir gone"))[0] != 0

    commands.run(body)


def broken(backend: Backend, at: int, value: str, commands: Commands) -> tuple[str, ...]:
    policy = Policy((str(commands.directory),))
    strings = list(backend.confined(policy, "", cwd="/").confinement)
    strings[at] = value
    return tuple(strings)


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (0, str(1 << 62), "Invalid argument"),  # rights that no kernel knows
        (5, "zz", ""),
        (5, "00" * 8 * 2000, ""),
        (5, "ffff000000000000", "Invalid argument"),  # no instruction
    ],
)
def test_a_sandbox_that_cannot_be_set_up_runs_nothing(commands: Commands, at: int, value: str, reason: str) -> None:
    async def body() -> None:
        backend = await found(LANDLOCK, False)
        with pytest.raises(process.SpawnFailure) as failure:
            await commands.start("echo ran > ran", confinement=broken(backend, at, value, commands))
        said = str(failure.value)
        assert said.startswith("The sandbox could not be set up (")
        assert said.endswith("), so the command was not run.")
        assert reason in said
        assert not (commands.directory / "ran").exists()
        assert (await (await commands.start("exit 5")).wait_shell()).code == 5

    commands.run(body)


@pytest.mark.parametrize("strings", [("1",), ("0",) * 7, ("0", "0", "0", "", "", "", "0", "0")])
def test_half_a_confinement_runs_nothing(commands: Commands, strings: tuple[str, ...]) -> None:
    async def body() -> None:
        with pytest.raises(process.SpawnFailure):
            await commands.start("echo ran > ran", confinement=strings)
        assert not (commands.directory / "ran").exists()

    commands.run(body)


def test_the_allowlist_runs_what_it_knows_by_a_path_of_the_system(tmp_path: Path) -> None:
    backend = Backend(ALLOWLIST)
    arguments: dict[str, Any] = {"cwd": str(tmp_path)}
    confined = backend.confined(Policy(), "ls -l", **arguments)
    assert (confined.prefix, confined.confinement) == ((), ())
    assert confined.variables == {"PATH": sandbox.SYSTEM_PATH}
    with pytest.raises(SandboxRefusal, match="'rm' is not one of them"):
        backend.confined(Policy(), "ls; rm x", **arguments)
