"""PlanMode: what each action says, what it refuses, and that the mode outlives its server and lets nothing slip by."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scorpio.limits import PLAN_ADOPT_S, PLAN_FILE_BYTES_MAX, PLAN_GOAL_CHARS_MAX
from scorpio.settings import load
from tests.links import ROOT, ChildProcess, server_command
from tests.process.commands import living, wait_until
from tests.toolsets.core.local_core import LocalCall, LocalCore
from tests.wire import LEGACY, MODERN, Connect, Wire
from tools.core import plans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MB = 1_000_000
STAYS = " Plan mode stays active; reset ends it without a plan."


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "f").write_text("abc\n")
    (project / "source").mkdir()
    (project / "source" / "main.c").write_text("int main;\n")
    return project


@pytest.fixture(autouse=True)
def _temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> None:
    """One of this test's own, for what a server that ends in plan mode leaves to the next."""
    place = tmp_path / "temporary"
    place.mkdir()
    environ["TMPDIR"] = str(place)
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture
def core(open_core: Callable[..., LocalCore], cwd: Path) -> LocalCore:
    return opened(open_core, cwd)


def opened(open_core: Callable[..., LocalCore], cwd: Path, **settings: Any) -> LocalCore:
    core = open_core(**settings)
    core.cwd = str(cwd)
    return core


def temporary(core: LocalCore) -> Path:
    """The private directory of the mode that is active."""
    mode = core.state.plans.of("stdio", core.cwd)
    assert mode is not None
    return Path(mode.temporary)


# -- what each action says


def test_a_whole_session_says_the_words_of_its_contract(core: LocalCore, cwd: Path) -> None:
    assert core.plan("status") == "Plan mode: INACTIVE"
    assert core.plan("json") == '{"active":false,"goal":null,"plan_file":null,"started_at":null}'
    said = core.plan("enter", goal="Rewrite the parser", plan_file="plans/parser.md").splitlines()
    plan = cwd / "plans" / "parser.md"
    assert said[0] == "Plan mode activated. Write your plan as markdown."
    assert said[1] == f"Plan file: {plan}"
    assert said[2].startswith(
        f"Restricted: Bash, BackgroundBash and commands of skills can write only in {plan.parent} "
    )
    assert said[-1].startswith("It ends with action exit")
    status = core.plan("status").splitlines()
    assert status[:2] == ["Plan mode: ACTIVE", 'Goal: "Rewrite the parser"']
    assert re.fullmatch(r"Duration: 0m \d+s", status[2])
    shown = core.plan("json")
    started = re.fullmatch(
        r'\{"active":true,"goal":"Rewrite the parser","plan_file":"(.*)","started_at":"(.*)"\}', shown
    )
    assert started
    assert started[1] == str(plan)
    assert abs(time.time() - time.mktime(time.strptime(started[2], "%Y-%m-%dT%H:%M:%SZ")) + time.timezone) < 60
    assert core.bash("printf '# Plan\\n1. lexer\\n' > plans/parser.md") == "(no output)"
    assert core.plan("exit") == (
        f"Plan saved to {plan}\nExiting plan mode. Returning to execution.\n\n# Plan\n1. lexer"
    )
    assert core.plan("status") == "Plan mode: INACTIVE"
    assert core.bash("echo free > f; cat f") == "free"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0, "0m 0s"), (272.9, "4m 32s"), (3600.0, "1h 0m 0s"), (90_000.0, "25h 0m 0s"), (-50.0, "0m 0s")],
)
def test_the_duration_is_told_in_minutes_and_seconds(core: LocalCore, seconds: float, shown: str) -> None:
    core.plan("enter")
    mode = core.state.plans.of("stdio", core.cwd)
    assert mode is not None
    mode.started_unix_s = time.time() - seconds
    assert core.plan("status").splitlines()[1:3] == ["Goal: (none)", f"Duration: {shown}"]


def test_reset_ends_the_mode_and_leaves_nothing_behind(core: LocalCore, cwd: Path) -> None:
    core.plan("enter", plan_file="deep/er/plan.md")
    place = temporary(core)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert core.plan("reset") == "Plan mode reset. No plan saved."
    assert sorted(path.name for path in cwd.iterdir()) == [".git", "f", "source"]
    assert not place.exists()
    assert list((Path(core.home.root) / "plan-mode").iterdir()) == []
    assert core.plan("reset") == "Plan mode reset. No plan saved."


def test_a_second_enter_keeps_the_mode_and_takes_what_is_new(core: LocalCore, cwd: Path) -> None:
    core.plan("enter", goal="first")
    started = json.loads(core.plan("json"))["started_at"]
    said = core.plan("enter", goal="second", plan_file="plans/p.md").splitlines()
    assert said[:2] == ["Plan mode: ACTIVE already. Write your plan as markdown.", 'Goal: "second"']
    assert json.loads(core.plan("json")) == {
        "active": True,
        "goal": "second",
        "plan_file": str(cwd / "plans" / "p.md"),
        "started_at": started,
    }
    assert core.bash("echo a > plans/p.md; cat plans/p.md") == "a"


def test_a_long_plan_is_cut_and_its_file_named(core: LocalCore, cwd: Path) -> None:
    core.plan("enter", plan_file="p.md")
    (cwd / "p.md").write_text("x" * 50_000)
    said = core.plan("exit")
    assert said.endswith(f"x\n[… 20,000 characters omitted; the whole plan: {cwd}/p.md …]")
    assert len(said) < 31_000


def test_a_plan_in_the_temporary_directory_outlives_it(core: LocalCore) -> None:
    said = core.plan("enter")
    suggested = temporary(core) / "plan.md"
    assert f"Plan file: none yet; {suggested} can be written. Name it at exit." in said
    core.bash("echo '# It' > $TMPDIR/plan.md")
    assert core.plan("exit", plan_file=str(suggested)).startswith(f"Plan saved to {suggested}\n")
    assert suggested.read_text() == "# It\n"
    suggested.unlink()
    suggested.parent.rmdir()


# -- what may be written


@pytest.mark.parametrize(
    ("plan_file", "writable", "refused"),
    [
        ("plans/p.md", ["plans/p.md", "plans/other"], ["f", "new"]),
        ("source/p.md", ["source/p.md"], ["source/main.c", "source/new"]),
        ("p.md", ["p.md"], ["f", "new"]),
        (".git/p.md", [".git/p.md"], [".git/config", "f"]),
        ("docs/.hidden/p.md", ["docs/.hidden/p.md"], ["docs/.hidden/q", "docs/q"]),
        ("{tmp}/scorpio-p.md", ["{tmp}/scorpio-p.md"], ["{tmp}/scorpio-q", "f"]),
        ("{home}/plans/p.md", ["{home}/plans/p.md", "{home}/plans/q"], ["{home}/q", "f"]),
        ("{home}/p.md", ["{home}/p.md"], ["{home}/q", "{home}/plan-mode/q"]),
    ],
)
def test_only_the_place_of_the_plan_is_writable(
    core: LocalCore, cwd: Path, plan_file: str, writable: list[str], refused: list[str]
) -> None:
    places = {"home": core.home.root, "tmp": tempfile.gettempdir()}
    core.plan("enter", plan_file=plan_file.format(**places))
    for path in writable:
        assert core.bash(f"echo a > {path.format(**places)}") == "(no output)", path
    for path in refused:
        assert core.call("Bash", {"command": f"echo a > {path.format(**places)}"}).is_error, path
    os.unlink(json.loads(core.plan("json"))["plan_file"])


def test_a_refused_command_says_why_and_what_ends_it(core: LocalCore, cwd: Path) -> None:
    core.plan("enter", plan_file="plans/p.md")
    said = core.bash("echo x > f").splitlines()
    assert said[-1] == (
        f"[plan mode is active: nothing can be written but in {cwd}/plans and {temporary(core)}, no network. "
        "PlanMode ends it, with action exit (needs a plan) or reset.]"
    )
    assert core.bash("cat f") == "abc"


@pytest.mark.parametrize("network", [False, True])
def test_what_changes_something_elsewhere_is_refused_by_its_name(
    open_core: Callable[..., LocalCore], cwd: Path, network: bool
) -> None:
    core = opened(open_core, cwd, plan_mode_network=network)
    core.plan("enter")
    result = core.call("Bash", {"command": "cd . && git push origin main"})
    assert result.is_error
    assert result.content[0]["text"].startswith("Plan mode is active, and git push changes something elsewhere. ")


def test_background_tasks_are_confined_too(core: LocalCore, cwd: Path) -> None:
    core.plan("enter")
    assert "Started background task 1" in core.start("until [ -e go ]; do sleep 0.01; done; echo x > f; echo $?")
    (cwd / "go").touch()
    core.ended(1)
    assert "Read-only file system" in core.read(1) or "Permission denied" in core.read(1)
    assert (cwd / "f").read_text() == "abc\n"


@pytest.mark.usefixtures("_patient_start")
def test_a_background_task_that_fails_at_once_says_why(core: LocalCore) -> None:
    core.plan("enter")
    assert core.start("echo x > f").splitlines()[-1].startswith("[plan mode is active: nothing can be written but in ")


def test_what_runs_already_is_named_and_goes_on(core: LocalCore, cwd: Path, tag: str) -> None:
    core.start(f"until [ -e go ]; do sleep 0.01; done; echo changed > f; sleep {tag}")
    call = LocalCall(core, "Bash", "stdio")
    bash = core.begin(call, {"command": f"sleep {tag}", "timeout": 60_000})
    other = core.begin(LocalCall(core, "Bash", "other"), {"command": f"sleep {tag}", "timeout": 60_000})
    assert wait_until(lambda: len(living(tag)) == 2)
    said = core.plan("enter").splitlines()
    at = said.index("Still running from before plan mode, and NOT restricted (KillBgTask ends tasks):")
    assert re.fullmatch(r"  task 1 \(pid \d+\): until \[ -e go .*", said[at + 1])
    assert re.fullmatch(rf"  a command of Bash \(pid \d+\): sleep {tag}", said[at + 2])
    assert said[at + 3].startswith("It ends with")
    (cwd / "go").touch()
    assert wait_until(lambda: (cwd / "f").read_text() == "changed\n")
    for each in (bash, other):
        each.cancel()
    core.kill(1)


def test_what_began_in_the_mode_stays_confined_after_it(core: LocalCore, cwd: Path) -> None:
    core.plan("enter")
    core.start("until [ -e go ]; do sleep 0.01; done; echo x > f; echo x > $TMPDIR/x && echo kept")
    place = temporary(core)
    said = core.plan("reset").splitlines()
    assert said[1] == "Started in plan mode, and still restricted (start them anew to lift that):"
    assert said[2].startswith("  task 1 (pid ")
    (cwd / "go").touch()
    core.ended(1)
    assert "kept" in core.read(1)
    assert (cwd / "f").read_text() == "abc\n"
    core.close()
    assert not place.exists()


def test_long_commands_are_confined_as_well(core: LocalCore, cwd: Path) -> None:
    core.plan("enter")
    assert core.call("Bash", {"command": f"echo x > f; exit $? # {'x' * 200_000}"}).is_error
    assert core.bash(f"cat f; : {'x' * 200_000}") == "abc"
    assert (cwd / "f").read_text() == "abc\n"


def test_a_cleaned_temporary_directory_is_made_anew(core: LocalCore) -> None:
    core.plan("enter")
    before = temporary(core)
    before.rmdir()
    assert core.bash("echo a > $TMPDIR/x; cat $TMPDIR/x") == "a"
    after = temporary(core)
    assert after != before
    core.plan("reset")
    assert not after.exists()


# -- how it is enforced


def test_advisory_only_says_it(open_core: Callable[..., LocalCore], cwd: Path) -> None:
    core = opened(open_core, cwd, plan_mode_enforce="advisory")
    assert "Nothing is enforced (PLAN_MODE_ENFORCE=advisory)" in core.plan("enter")
    assert core.bash("echo x > f; cat f").splitlines() == [
        "x",
        (
            "[plan mode is active, and nothing is enforced: change nothing but the plan. "
            "PlanMode ends it, with action exit (needs a plan) or reset.]"
        ),
    ]
    assert core.bash("cat f | head -1") == "x"


def test_off_is_silent(open_core: Callable[..., LocalCore], cwd: Path) -> None:
    core = opened(open_core, cwd, plan_mode_enforce="off")
    assert "Nothing is restricted (PLAN_MODE_ENFORCE=off)." in core.plan("enter")
    assert core.bash("echo x > f; cat f") == "x"


@pytest.mark.parametrize(
    ("trusted", "project", "expected"),
    [
        ("", "PLAN_MODE_ENFORCE=off", "strict"),
        ("PLAN_MODE_ENFORCE=off", "PLAN_MODE_ENFORCE=advisory", "advisory"),
        ("PLAN_MODE_ENFORCE=advisory", "PLAN_MODE_ENFORCE=strict", "strict"),
        ("PLAN_MODE_ENFORCE=sometimes", "", "strict"),
        ("PLAN_MODE_NETWORK=true", "PLAN_MODE_NETWORK=false", False),
        ("", "PLAN_MODE_NETWORK=true", False),
        ("", "SANDBOX_BACKEND=allowlist", "auto"),
        ("", "SANDBOX_NAMESPACES=false", True),
    ],
)
def test_a_project_may_only_tighten(tmp_path: Path, trusted: str, project: str, expected: object) -> None:
    home, place = tmp_path / "home", tmp_path / "project"
    (place / ".scorpio").mkdir(parents=True)
    home.mkdir()
    (home / "scorpio-env.txt").write_text(trusted + "\n")
    (place / ".scorpio" / "scorpio-env.txt").write_text(project + "\n")
    settings = load({}, str(home), str(place))
    name = (project or trusted).partition("=")[0].lower()
    assert getattr(settings, name) == expected


def test_an_unavailable_sandbox_is_told_with_its_reason(
    open_core: Callable[..., LocalCore], cwd: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A machine without bubblewrap, by a PATH without it, and where Landlock is not asked for."""
    (tmp_path / "bin").mkdir()
    broken = tmp_path / "bin" / "bwrap"
    broken.write_text("#!/bin/sh\necho bwrap: no namespaces here >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    core = opened(open_core, cwd, sandbox_backend="bubblewrap")
    said = core.plan("enter")
    assert "run only with an allowlist of commands that only read." in said
    assert (
        f"Not enforced by the kernel: bubblewrap ({broken}) with a seccomp filter does not work here: "
        "a command in it failed (exit code 1, signal None)." in said
    )
    assert core.call("Bash", {"command": "touch f"}).is_error
    assert core.bash("cat f") == "abc"


def test_a_sandbox_that_does_not_hold_is_not_taken(
    open_core: Callable[..., LocalCore], cwd: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    hollow = tmp_path / "bin" / "bwrap"
    hollow.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    hollow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    core = opened(open_core, cwd, sandbox_backend="bubblewrap")
    assert "does not work here: a command in it could write." in core.plan("enter")


# -- bad input


def bad_paths(cwd: Path, home: Path) -> dict[str, str]:
    outside = cwd.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "plan.md").write_text("# Not yours\n")
    (cwd / "to-outside").symlink_to(outside)
    (cwd / "to-plan.md").symlink_to(outside / "plan.md")
    (cwd / "loop.md").symlink_to("loop.md")
    (cwd / "directory.md").mkdir()
    os.mkfifo(cwd / "pipe.md")
    return {
        "/etc/passwd": "is not a Markdown file: its name must end in .md.",
        "/etc/plan.md": "is outside of where plans may be: the working directory",
        "/proc/self/cwd/../../etc/x.md": "is outside of where plans may be",
        "../../../../../../../../etc/x.md": "is outside of where plans may be",
        "~root/../etc/x.md": "is outside of where plans may be",
        "file:///etc/x.md": "is outside of where plans may be",
        "to-outside/../../../../../../usr/x.md": "is outside of where plans may be",
        "to-plan.md": "is a symbolic link. A plan is a regular Markdown file",
        "loop.md": "is a symbolic link",
        "directory.md": "is a directory",
        "pipe.md": "is a named pipe",
        ".md": "is not a Markdown file",
        "plans/": "is not a Markdown file",
        "a\0b.md": "is no path",
        "x" * 5000 + ".md": "is no path",
        "x" * 300 + ".md": "cannot be",
        "f/x.md": "cannot be",
        "plan.txt": "is not a Markdown file",
        "\ud800.md": "is no path",
    }


def test_a_plan_file_that_may_not_be_is_refused_with_the_reason(core: LocalCore, cwd: Path, home: Path) -> None:
    wrong = {}
    for path, reason in bad_paths(cwd, home).items():
        result = core.call("PlanMode", {"action": "enter", "plan_file": path})
        if not result.is_error or reason not in result.content[0]["text"]:
            wrong[path] = result.content[0]["text"]
    assert wrong == {}
    assert core.plan("status") == "Plan mode: INACTIVE"
    through = core.call("PlanMode", {"action": "enter", "plan_file": "to-outside/plan.md"})
    assert through.is_error
    assert str(cwd.parent / "outside") not in through.content[0]["text"]


def test_exit_needs_a_plan_and_else_the_mode_stays(core: LocalCore, cwd: Path, home: Path) -> None:
    core.plan("enter")
    assert core.plan("exit") == (
        f"exit needs a plan: write it as markdown, to {temporary(core)}/plan.md for example, and give its path as "
        f"plan_file.{STAYS}"
    )
    wrong = {}
    bad = {
        **bad_paths(cwd, home),
        "missing.md": "does not exist yet. Write the plan to it, then exit.",
        "empty.md": "is empty. Write the plan to it, then exit.",
        "large.md": f"has {PLAN_FILE_BYTES_MAX + 1} bytes; at most {PLAN_FILE_BYTES_MAX} are taken.",
    }
    (cwd / "empty.md").write_bytes(b"\xef\xbb\xbf \n\t\n")
    (cwd / "large.md").write_bytes(b"x" * (PLAN_FILE_BYTES_MAX + 1))
    for path, reason in bad.items():
        result = core.call("PlanMode", {"action": "exit", "plan_file": path})
        said = result.content[0]["text"]
        if not result.is_error or (reason not in said and "does not exist" not in said) or not said.endswith(STAYS):
            wrong[path] = said
    assert wrong == {}
    assert core.plan("status").startswith("Plan mode: ACTIVE")
    (cwd / "bytes.md").write_bytes(b"# \xff plan\n")
    assert "# \ufffd plan" in core.plan("exit", plan_file="bytes.md")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": "leave"}, 'No action "leave". There are enter, exit, status, json, reset.'),
        ({"action": ""}, 'No action "". There are enter, exit, status, json, reset.'),
        ({"action": "x" * MB}, f'No action "{"x" * 59}…". There are enter, exit, status, json, reset.'),
        ({"action": "exit"}, "Plan mode is not active, so there is nothing to exit. Action enter begins it."),
        (
            {"action": "enter", "goal": "x" * MB},
            (
                f"The goal has 1000000 characters; at most {PLAN_GOAL_CHARS_MAX} are kept. "
                "Say it in a paragraph; details belong in the plan."
            ),
        ),
    ],
)
def test_bad_input_is_told_and_changes_nothing(core: LocalCore, arguments: dict[str, Any], said: str) -> None:
    result = core.call("PlanMode", arguments)
    assert (result.is_error, result.content[0]["text"]) == (True, said)
    assert core.plan("json").startswith('{"active":false')


def test_words_are_taken_as_they_are_meant(core: LocalCore) -> None:
    assert core.plan(" ENTER ", goal="  a\nb \u202e ").startswith("Plan mode activated.")
    assert core.plan("Status").splitlines()[1] == 'Goal: "a b \\u202e"'
    assert json.loads(core.plan("json"))["goal"] == "a\nb \u202e"


def test_a_state_that_cannot_be_written_is_told_and_the_mode_does_not_begin(core: LocalCore, home: Path) -> None:
    home.write_text("a file in the place of the directory")
    result = core.call("PlanMode", {"action": "enter", "plan_file": "deep/plan.md"})
    assert result.is_error
    assert "Plan mode cannot be written down" in result.content[0]["text"]
    assert not (Path(core.cwd) / "deep").exists()
    home.unlink()
    assert core.plan("status") == "Plan mode: INACTIVE"
    assert core.bash("echo x > f; cat f") == "x"


def test_a_cancelled_enter_is_as_if_it_had_never_been(core: LocalCore, cwd: Path, home: Path) -> None:
    records = home / "plan-mode"
    moments: list[Callable[[], object]] = [
        bool,
        (cwd / "deep").exists,
        lambda: records.exists() and os.listdir(records),
    ]
    ended = 0
    for moment in moments * 12:
        entering = core.begin(LocalCall(core, "PlanMode", "stdio"), {"action": "enter", "plan_file": "deep/er/plan.md"})
        while not (moment is bool or moment() or entering.done()):
            pass
        entering.cancel()
        assert wait_until(core.idle)
        active = core.plan("status").startswith("Plan mode: ACTIVE")
        assert (records.exists() and bool(os.listdir(records)), (cwd / "deep").exists()) == (active, active)
        ended += not active
        core.plan("reset")
    assert ended
    core.close()
    assert list((cwd.parent / "temporary").iterdir()) == []


# -- restart, owners


@pytest.mark.requirement("plan:survives")
def test_the_next_server_of_the_project_goes_on_with_the_mode(open_core: Callable[..., LocalCore], cwd: Path) -> None:
    first = opened(open_core, cwd)
    first.plan("enter", goal="go on", plan_file="plans/p.md")
    before = first.plan("json")
    first.close()
    (cwd / "sub").mkdir()
    second = opened(open_core, cwd / "sub")
    assert second.call("Bash", {"command": "echo x > ../f"}).is_error
    assert second.plan("json") == before
    assert second.bash("echo '# P' > ../plans/p.md") == "(no output)"
    second.plan("exit")
    assert second.bash("echo x > ../f; cat ../f") == "x"
    second.close()
    assert opened(open_core, cwd).plan("status") == "Plan mode: INACTIVE"


def test_a_living_server_keeps_its_mode_to_itself(open_core: Callable[..., LocalCore], cwd: Path) -> None:
    first, second = opened(open_core, cwd), opened(open_core, cwd)
    first.plan("enter", goal="mine")
    assert second.plan("status") == "Plan mode: INACTIVE"
    assert second.bash("echo x > f; cat f") == "x"
    second.plan("enter", goal="yours")
    assert 'Goal: "mine"' in first.plan("status")
    first.plan("reset")
    assert 'Goal: "yours"' in second.plan("status")


def test_a_mode_ends_with_a_window_that_another_one_outlives(
    open_core: Callable[..., LocalCore], cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that has looked and run for a while does not fall into plan mode because another one ended."""
    first, second = opened(open_core, cwd), opened(open_core, cwd)
    first.plan("enter")
    monkeypatch.setattr(plans, "PLAN_ADOPT_S", 0.0)
    assert second.plan("status") == "Plan mode: INACTIVE"
    first.close()
    assert second.plan("status") == "Plan mode: INACTIVE"
    assert PLAN_ADOPT_S > 2  # what the end of a server takes
    assert opened(open_core, cwd).plan("status").startswith("Plan mode: ACTIVE")


def test_a_client_that_restarts_its_server_early_gets_the_mode_when_the_old_one_has_ended(
    open_core: Callable[..., LocalCore], cwd: Path
) -> None:
    first, second = opened(open_core, cwd), opened(open_core, cwd)
    first.plan("enter", goal="late")
    assert second.plan("status") == "Plan mode: INACTIVE"
    first.close()
    assert 'Goal: "late"' in second.plan("status")


def test_owners_and_projects_do_not_see_each_other(core: LocalCore, cwd: Path, tmp_path: Path) -> None:
    core.plan("enter", goal="mine")
    assert core.plan("status", owner="principal:b") == "Plan mode: INACTIVE"
    assert core.text("Bash", {"command": "echo x > f; cat f"}, "principal:b") == "x"
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    core.cwd = str(other)
    assert core.plan("status") == "Plan mode: INACTIVE"
    assert core.bash("echo x > new; cat new") == "x"


def test_a_principal_finds_his_mode_after_a_restart_and_nobody_else_does(
    open_core: Callable[..., LocalCore], cwd: Path
) -> None:
    first = opened(open_core, cwd)
    first.plan("enter", owner="principal:a", goal="his")
    first.close()
    second = opened(open_core, cwd)
    assert second.plan("status", owner="principal:b") == "Plan mode: INACTIVE"
    assert second.plan("status") == "Plan mode: INACTIVE"
    assert 'Goal: "his"' in second.plan("status", owner="principal:a")


@pytest.mark.parametrize("content", [b"", b"\x00\xff garbage", b"{}", b'{"owner": 7}', b"[" * 100_000])
def test_a_damaged_record_loosens_nothing(open_core: Callable[..., LocalCore], cwd: Path, content: bytes) -> None:
    first = opened(open_core, cwd)
    first.plan("enter", goal="lost", plan_file="plans/p.md")
    first.close()
    (record,) = (Path(first.home.root) / "plan-mode").iterdir()
    record.write_bytes(content)
    second = opened(open_core, cwd)
    assert second.call("Bash", {"command": "echo x > f"}).is_error
    assert "Its record was damaged: goal and plan file are lost. Enter again to give them anew." in second.plan(
        "status"
    )
    second.plan("enter", goal="found", plan_file="plans/p.md")
    assert second.plan("reset") == "Plan mode reset. No plan saved."
    second.close()
    assert opened(open_core, cwd).plan("status") == "Plan mode: INACTIVE"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path.parent.parent / "target")])
def test_what_is_not_a_record_is_left_alone(
    open_core: Callable[..., LocalCore], cwd: Path, make: Callable[[Path], None]
) -> None:
    first = opened(open_core, cwd)
    first.plan("enter")
    first.close()
    (record,) = (Path(first.home.root) / "plan-mode").iterdir()
    record.unlink()
    target = Path(first.home.root) / "target"
    target.write_text("kept")
    make(record)
    assert opened(open_core, cwd).plan("status") == "Plan mode: INACTIVE"
    assert target.read_text() == "kept"


def test_the_record_is_private_whatever_the_umask(core: LocalCore) -> None:
    before = os.umask(0)
    try:
        core.plan("enter")
    finally:
        os.umask(before)
    (record,) = (Path(core.home.root) / "plan-mode").iterdir()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(record.parent.stat().st_mode) == 0o700


def test_others_can_ask_cheaply_whether_it_is_active(core: LocalCore, cwd: Path) -> None:
    state = core.state
    assert not state.plans.active("stdio", str(cwd))
    core.plan("enter")
    assert state.plans.active("stdio", str(cwd))
    assert state.plans.active("stdio", str(cwd / "any" / "where"))
    assert not state.plans.active("other", str(cwd))
    core.plan("reset")
    assert not state.plans.active("stdio", str(cwd))
    assert (
        "sqlite3"
        not in subprocess.run(
            ["python3", "-c", "import sys, tools.core.plans; print(*sys.modules)"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
    )


# -- real servers


@pytest.fixture
def serve(
    build: str, environ: dict[str, str], cwd: Path, tmp_path: Path
) -> Iterator[Callable[..., tuple[Wire, ChildProcess]]]:
    """A real server in the project: `serve(revision=…)`."""
    started: list[tuple[Wire, ChildProcess]] = []

    def start(revision: str = MODERN, **variables: str) -> tuple[Wire, ChildProcess]:
        link = ChildProcess(
            server_command(build, ["core"]), environ | variables, tmp_path / f"stderr-{len(started)}", cwd
        )
        wire = Wire(link, revision)
        wire.open()
        started.append((wire, link))
        return started[-1]

    yield start
    for wire, link in started:
        if not wire.closed and link.process.poll() is None:
            wire.close()


@pytest.mark.requirement("plan:survives")
def test_a_killed_server_leaves_the_mode_to_the_next(
    serve: Callable[..., tuple[Wire, ChildProcess]], cwd: Path
) -> None:
    wire, link = serve()
    wire.text("PlanMode", {"action": "enter", "goal": "survive", "plan_file": "plans/p.md"})
    link.process.send_signal(signal.SIGKILL)
    link.process.wait()
    link.close_input()
    wire, _ = serve()
    assert wire.call("Bash", {"command": "echo x > f"})["isError"]
    assert json.loads(wire.text("PlanMode", {"action": "json"}))["goal"] == "survive"
    assert (cwd / "f").read_text() == "abc\n"


@pytest.mark.requirement("plan:no-gap")
def test_no_command_that_begins_after_the_answer_writes(
    serve: Callable[..., tuple[Wire, ChildProcess]], cwd: Path
) -> None:
    """Commands are started without pause while the mode begins; each says when it ran and what it could write."""
    wire, _ = serve()
    wire.text("Bash", {"command": "true"})
    answered = threading.Event()
    began: list[int] = []

    def begin() -> None:
        while not answered.is_set():
            if sum(not wire.answers_to(id_) for id_ in began[-40:]) > 20:
                continue
            began.append(int(wire.start("tools/call", {"name": "Bash", "arguments": {"command": WRITE}})))
            time.sleep(0.002)

    starter = threading.Thread(target=begin)
    starter.start()
    while len(began) < 10:
        time.sleep(0.001)
    said = wire.text("PlanMode", {"action": "enter"})
    answered_ns = time.time_ns()
    while len(began) < 40:
        time.sleep(0.001)
    answered.set()
    starter.join()
    answers = [wire.answer(id_)["result"] for id_ in began]
    named = set(re.findall(r"\(pid (\d+)\)", said))
    written = [line.split() for line in (cwd / "written").read_text().splitlines()]
    late = [pid for pid, ran_ns in written if int(ran_ns) > answered_ns and pid not in named]
    assert late == []
    assert 0 < len(written) < len(answers)


WRITE = "echo $$ $(date +%s%N) >> written"


@pytest.mark.requirement("plan:resource")
def test_the_plan_is_a_resource_that_tells_its_changes(
    serve: Callable[..., tuple[Wire, ChildProcess]], cwd: Path, revision: str
) -> None:
    wire, _ = serve(revision)
    uri = "scorpio://plan"
    (listed,) = [each for each in wire.result("resources/list")["resources"] if each["uri"] == uri]
    assert listed["mimeType"] == "text/markdown"

    def read() -> str:
        (content,) = wire.result("resources/read", {"uri": uri})["contents"]
        assert (content["uri"], content["mimeType"]) == (uri, "text/markdown")
        return str(content["text"])

    def told() -> int:
        return sum(note["method"] == "notifications/resources/updated" for note in wire.notifications)

    assert read() == "Plan mode: INACTIVE"
    if revision in LEGACY:
        wire.result("resources/subscribe", {"uri": uri})
    else:
        wire.start("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
        wire.notification("notifications/subscriptions/acknowledged")
    wire.text("PlanMode", {"action": "enter", "goal": "tell", "plan_file": "plans/p.md"})
    assert wait_until(lambda: told() == 1)
    assert re.fullmatch(
        rf'Plan mode: ACTIVE\nGoal: "tell"\nSince: \S+Z\nPlan file: {re.escape(str(cwd))}/plans/p\.md', read()
    )
    wire.text("Bash", {"command": "echo '# P' > plans/p.md"})
    assert wait_until(lambda: told() == 2)
    assert read().endswith("/plans/p.md\n\n# P\n")
    (cwd / "plans" / "p.md").write_text("# Q\n")  # by the client's own tools
    assert wait_until(lambda: told() == 3)
    assert read().endswith("/plans/p.md\n\n# Q\n")
    wire.text("PlanMode", {"action": "exit"})
    assert wait_until(lambda: told() == 4)
    assert read() == "Plan mode: INACTIVE"


@pytest.mark.revisions(MODERN)
@pytest.mark.transports("stdio", "frozen")
def test_commands_of_skills_are_confined(connect: Connect, environ: dict[str, str], tmp_path: Path) -> None:
    skill = tmp_path / ".scorpio" / "skills" / "writer"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: writer\ndescription: writes\n---\nSaid: !`echo x > written && echo done`\n"
    )
    environ |= {"SKILL_EXEC": "true", "SCORPIO_CWD": str(tmp_path)}
    wire = connect("core")
    assert "Said: done" in wire.text("InvokeSkill", {"skill_name": "writer"})
    (tmp_path / "written").unlink()
    wire.text("PlanMode", {"action": "enter"})
    assert "done" not in wire.text("InvokeSkill", {"skill_name": "writer"})
    assert not (tmp_path / "written").exists()
