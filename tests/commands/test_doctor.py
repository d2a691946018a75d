"""`scorpio doctor`: what works, what does not, and what to do. Source: cli.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.conftest import Run


def line(shown: str, name: str) -> str:
    return next(each for each in shown.splitlines() if f" {name}:" in each)


def test_the_sandbox_in_force_is_told(run: Run) -> None:
    assert "FAIL" not in line(run("doctor").stdout, "sandbox")
    weakest = line(run("doctor", SANDBOX_BACKEND="allowlist").stdout, "sandbox")
    assert "FAIL" in weakest
    assert "allowlist" in weakest


@pytest.mark.requirement("sandbox:doctor")
def test_the_sandbox_of_commands_is_off_and_said_to_be(run: Run) -> None:
    shown = run("doctor").stdout
    assert "ok   --sandbox: off: a command can do all that you can." in line(shown, "--sandbox")
    for name in ("bubblewrap", "landlock", "landlock alone"):
        said = line(shown, name)
        assert "workspace: it can write the working directory" in said or "not here: " in said
    on = line(run("doctor", SANDBOX="read-only", SANDBOX_NETWORK="true").stdout, "bubblewrap")
    assert "read-only: it can write nothing but temporary files" in on or "not here: " in on
    none = line(
        run("doctor", SANDBOX="workspace", SANDBOX_REQUIRED="true", SANDBOX_BACKEND="allowlist").stdout, "--sandbox"
    )
    assert "FAIL" in none
    assert "no command runs" in none


def test_what_is_missing_comes_with_its_cure(run: Run) -> None:
    done = run("doctor")
    assert done.returncode == 1
    assert "scorpio install" in line(done.stdout, "program")


def test_a_wrong_configuration_is_shown_with_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".scorpio").mkdir(mode=0o700)
    (tmp_path / ".scorpio/scorpio-env.txt").write_text("LOG_LEVEL=loud\n")
    assert "scorpio-env.txt:1: LOG_LEVEL must be one of" in line(run("doctor").stdout, "line 1")


def test_a_state_that_others_may_read_is_a_fault(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".scorpio").mkdir()
    (tmp_path / ".scorpio").chmod(0o755)
    assert "chmod 700" in line(run("doctor").stdout, "directory")


def test_a_client_that_does_not_have_the_server_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    assert "scorpio install --client cursor" in line(run("doctor").stdout, "Cursor")
    (tmp_path / ".cursor/mcp.json").write_text('{"mcpServers": {"scorpio": {"command": "x"}}}')
    assert "ok" in line(run("doctor").stdout, "Cursor")


def test_the_search_engines_are_tried_when_it_is_asked_for(run: Run) -> None:
    nowhere = {f"WEBSEARCH_ENDPOINT_{name}": "http://127.0.0.1:9/" for name in ("MOJEEK", "MWMBL")}
    done = run("doctor", "--search", WEBSEARCH_ENGINES="mojeek,mwmbl", **nowhere)
    assert "FAIL" in line(done.stdout, "mojeek")
    assert "mojeek" not in run("doctor").stdout
