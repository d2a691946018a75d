"""`scorpio doctor`: what works, what does not, and what to do. Source: cli.md."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lacking import lacking
from tests.links import ROOT, executable_under_test, source_command

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(build: str, tmp_path: Path, unpacked: str) -> Run:
    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        if build == "source":
            program = source_command(())[:3]
        else:
            try:
                program = [executable_under_test()]
            except FileNotFoundError as missing:
                lacking(str(missing))
        environment = {
            "HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "SCORPIO_CACHE_DIR": unpacked,
        } | variables  # fmt: skip
        command = [*program, "doctor", *arguments]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
        )

    return run


def line(shown: str, name: str) -> str:
    return next(each for each in shown.splitlines() if f" {name}:" in each)


def test_the_sandbox_in_force_is_told(run: Run) -> None:
    assert "FAIL" not in line(run().stdout, "sandbox")
    weakest = line(run(SANDBOX_BACKEND="allowlist").stdout, "sandbox")
    assert "FAIL" in weakest
    assert "allowlist" in weakest


@pytest.mark.requirement("sandbox:doctor")
def test_the_sandbox_of_commands_is_off_and_said_to_be(run: Run) -> None:
    shown = run().stdout
    assert "ok   --sandbox: off: a command can do all that you can." in line(shown, "--sandbox")
    for name in ("bubblewrap", "landlock", "landlock alone"):
        said = line(shown, name)
        assert "workspace: it can write the working directory" in said or "not here: " in said
    on = line(run(SANDBOX="read-only", SANDBOX_NETWORK="true").stdout, "bubblewrap")
    assert "read-only: it can write nothing but temporary files" in on or "not here: " in on
    none = line(run(SANDBOX="workspace", SANDBOX_REQUIRED="true", SANDBOX_BACKEND="allowlist").stdout, "--sandbox")
    assert "FAIL" in none
    assert "no command runs" in none


def test_what_is_missing_comes_with_its_cure(run: Run) -> None:
    done = run()
    assert done.returncode == 1
    assert "scorpio install" in line(done.stdout, "program")


def test_a_wrong_configuration_is_shown_with_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".scorpio").mkdir(mode=0o700)
    (tmp_path / ".scorpio/scorpio-env.txt").write_text("LOG_LEVEL=loud\n")
    assert "scorpio-env.txt:1: LOG_LEVEL must be one of" in line(run().stdout, "line 1")


def test_a_state_that_others_may_read_is_a_fault(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".scorpio").mkdir()
    (tmp_path / ".scorpio").chmod(0o755)
    assert "chmod 700" in line(run().stdout, "directory")


def test_a_client_that_does_not_have_the_server_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    assert "scorpio install --client cursor" in line(run().stdout, "Cursor")
    (tmp_path / ".cursor/mcp.json").write_text('{"mcpServers": {"scorpio": {"command": "x"}}}')
    assert "ok" in line(run().stdout, "Cursor")


def test_the_search_engines_are_tried_when_it_is_asked_for(run: Run) -> None:
    nowhere = {f"WEBSEARCH_ENDPOINT_{name}": "http://127.0.0.1:9/" for name in ("MOJEEK", "MWMBL")}
    done = run("--search", WEBSEARCH_ENGINES="mojeek,mwmbl", **nowhere)
    assert "FAIL" in line(done.stdout, "mojeek")
    assert "mojeek" not in run().stdout
