"""What holds for every command holds in a sandbox: how it ends, what it says, where it runs, that nothing stays."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scorpio.command_sandbox import Unconfinable, policy_for, secret_variable, within_plan
from scorpio.sandbox import Policy
from scorpio.settings import FILE_NAME, load
from tests.sandbox.sandbox_place import BACKENDS, SandboxPlace

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no sandbox"),
    pytest.mark.parametrize("user", [None], ids=["as it runs"]),
]


def alive(marked: str) -> list[str]:
    """The processes with this word in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if marked.encode() in line:
                found.append(entry.name)
    return found


def gone(marked: str) -> bool:
    """True once none is left; the bound is only for a test that fails."""
    end_s = time.monotonic() + 10
    while alive(marked):
        if time.monotonic() > end_s:
            return False
        os.sched_yield()
    return True


@pytest.mark.requirement("sandbox:promises")
@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"])
def test_a_command_ends_as_it_would_without(settle: Callable[..., SandboxPlace], backend: str) -> None:
    place = settle("--sandbox", "workspace", **BACKENDS[backend])

    def first(command: str, **arguments: int) -> list[str]:
        said = place.bash(command, **arguments)[0].splitlines()
        return [line for line in said if not line.startswith("[sandbox:")]

    assert first("echo out; echo err >&2; echo out") == ["out", "err", "out"]
    assert first("pwd; cd src && pwd") == [str(place.work), str(place.work / "src")]
    assert first("exit 3") == ["(no output)", "[exit code: 3]"]
    assert first("no-such-command-here")[-1] == "[exit code: 127]"
    assert first("cat") == ["(no output)"]  # end of file at once
    killed = first("kill -9 $$")[-1]
    assert killed.startswith("[exit code: 137 (SIGKILL" if backend == "bubblewrap" else "[killed by signal 9 (SIGKILL")
    assert first("printf x >/dev/stderr; echo y >> /dev/stdout") == ["xy"]
    assert first(f"true {'x' * 200_000}; echo long") == ["long"]
    assert first("kill -9 $PPID; kill -STOP $PPID; echo here") == ["here"] or backend == "landlock"
    assert sorted(os.listdir(place.root / "temporary")) == []


@pytest.mark.requirement("sandbox:promises")
@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"])
def test_nothing_of_a_command_stays(settle: Callable[..., SandboxPlace], backend: str) -> None:
    place = settle("--sandbox", "workspace", **BACKENDS[backend])
    marked = f"7{os.getpid()}"
    said, _ = place.bash(f"trap '' TERM; setsid sleep {marked}1 & sleep {marked}1", timeout=300)
    assert "[timed out after 300 ms" in said
    assert gone(f"{marked}1")
    said, _ = place.bash(f"setsid sleep {marked}2 & echo left")
    found = re.search(r"\[1 background process still running as task (\d+): \d+ sleep\]", said)
    assert found, said
    place.wire.call("KillBgTask", {"task_id": int(found[1])})
    assert gone(f"{marked}2")
    place.wire.call("BackgroundBash", {"command": f"(setsid sleep {marked}3 &) ; sleep {marked}3"})
    assert alive(f"{marked}3")
    id_ = place.wire.start("tools/call", {"name": "Bash", "arguments": {"command": f"sleep {marked}4"}})
    while not alive(f"{marked}4"):
        os.sched_yield()
    place.wire.cancel(id_)
    assert gone(f"{marked}4")
    place.close()
    assert gone(f"{marked}3")
    assert sorted(os.listdir(place.root / "temporary")) == []


@pytest.mark.requirement("sandbox:project")
def test_a_projects_file_only_tightens(tmp_path: Path, user: None) -> None:
    project = tmp_path / "project"
    (project / ".scorpio").mkdir(parents=True)

    def loaded(text: str, **options: str) -> tuple[str, bool, bool, int]:
        (project / ".scorpio" / FILE_NAME).write_text(text)
        flags = [("command line", name, value) for name, value in options.items()]
        found = load({}, str(tmp_path / "home"), str(project), flags)
        return found.sandbox, found.sandbox_required, found.sandbox_network, len(found.warnings)

    (tmp_path / "home").mkdir()
    mine = tmp_path / "home" / FILE_NAME
    assert loaded("SANDBOX=workspace\nSANDBOX_REQUIRED=true\n") == ("workspace", True, False, 0)
    assert loaded("SANDBOX_NETWORK=true\n") == ("off", False, False, 1)
    mine.write_text("SANDBOX=workspace\nSANDBOX_REQUIRED=true\nSANDBOX_NETWORK=true\n")
    assert loaded("SANDBOX=off\nSANDBOX_REQUIRED=false\n") == ("workspace", True, True, 2)
    assert loaded("SANDBOX=read-only\nSANDBOX_NETWORK=false\n") == ("read-only", True, False, 0)
    assert loaded("SANDBOX=read-only\n", SANDBOX="workspace") == (
        "workspace",
        True,
        True,
        0,
    )  # the command line's is last


def test_a_workspace_that_would_be_everything_is_refused(user: None) -> None:
    with pytest.raises(Unconfinable, match="The working directory is /"):
        policy_for("workspace", "/", "/state", network=False)
    assert policy_for("read-only", "/", "/state", network=False).writable == ()


def test_what_is_hidden_is_never_the_place_to_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: None) -> None:
    home = tmp_path.resolve() / "home"
    (home / ".ssh" / "deep").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(Unconfinable, match="hides"):
        policy_for("workspace", str(home / ".ssh"), "/state", network=False)
    policy = policy_for("workspace", str(home), "/state", network=False)
    assert policy.hidden == (str(home / ".ssh"),)
    kinds = [kind for kind, path in policy.places() if path in (str(home), str(home / ".ssh"))]
    assert kinds == ["1", "2"]  # what is hidden comes after what it is in


def test_plan_mode_adds_no_place_to_a_sandbox(user: None) -> None:
    sandbox = Policy(("/w",), network=True, own_network=True, read_only=("/w/.git/hooks",), private=True)
    plan = Policy(("/w/plan.md", "/w-evil/plan.md", "/tmp/p"), network=True)
    both = within_plan(sandbox, plan, "/tmp/p")
    assert both.writable == ("/w/plan.md", "/tmp/p")
    assert (both.network, both.own_network) == (True, True)
    assert set(both.read_only) == {"/w", "/w/.git/hooks"}


@pytest.mark.parametrize(
    ("name", "secret"),
    [("GITHUB_TOKEN", True), ("openai_api_key", True), ("MY_SECRETS", True), ("PGPASSWORD", True), ("KEYBOARD", False)],
)
def test_a_secret_is_known_by_its_name(name: str, secret: bool, user: None) -> None:
    assert secret_variable(name) is secret
