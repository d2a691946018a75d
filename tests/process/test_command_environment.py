"""What a command may know of the program it runs under."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorpio import process
from scorpio.command_environment import BARE_PATH, FIXED_VARIABLES, command_environment
from tests.process.commands import Commands, living, until


def test_users_variables_stay_and_the_fixed_ones_are_added() -> None:
    given = {"HOME": "/h", "TERM": "xterm", "LD_LIBRARY_PATH": "/mine", "PYTHONPATH": "/lib", "PATH": "/bin"}
    assert command_environment(given) == {**given, **FIXED_VARIABLES}


def test_secrets_and_internal_variables_are_left_out() -> None:
    hidden = {
        "SCORPIO_HTTP_TOKEN": "t",
        "SCORPIO_OAUTH_CLIENT_SECRET": "s",
        "XMPP_PASSWORD": "p",
        "SCORPIO_XMPP_PASSWORD": "p",
        "SCORPIO_SUPERVISOR": "/s",
        "SCORPIO_EXECUTABLE": "/e",
        "SCORPIO_CACHE_LOCK": "9",
        "SCORPIO_INTERNAL_X": "1",
        "_MEIPASS2": "/m",
        "_PYI_ARCHIVE_FILE": "/a",
    }
    assert command_environment(hidden) == FIXED_VARIABLES


def test_bundles_loader_path_gives_way_to_the_users() -> None:
    bundled = {"_PYI_ARCHIVE_FILE": "/a", "LD_LIBRARY_PATH": "/bundle"}
    assert command_environment(bundled) == FIXED_VARIABLES
    assert command_environment({**bundled, "LD_LIBRARY_PATH_ORIG": "/mine"}) == {
        **FIXED_VARIABLES,
        "LD_LIBRARY_PATH": "/mine",
    }


def test_python_variables_of_the_bundle_are_left_out() -> None:
    given = {"_PYI_APPLICATION_HOME_DIR": "/bundle", "PYTHONHOME": "/bundle/lib", "PYTHONPATH": "/mine"}
    assert command_environment(given) == {**FIXED_VARIABLES, "PYTHONPATH": "/mine"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process._live, "login_path", "")


def login_shell(directory: Path, text: str) -> dict[str, str]:
    shell = directory / "login-shell"
    shell.write_text(f"#!/bin/sh\necho called >> {directory}/calls\n{text}\n")
    shell.chmod(0o755)
    return {"PATH": BARE_PATH, "SHELL": str(shell)}


@pytest.mark.usefixtures("asked")
def test_bare_path_is_replaced_by_the_login_shells_and_it_is_asked_once(commands: Commands) -> None:
    env = login_shell(commands.directory, 'echo welcome; PATH=/mine:/usr/bin; shift; eval "$1"; echo goodbye')

    async def body() -> None:
        assert [await process.login_path(env), await process.login_path(env)] == ["/mine:/usr/bin"] * 2
        assert (commands.directory / "calls").read_text() == "called\n"

    commands.run(body)


@pytest.mark.usefixtures("asked")
def test_any_other_path_is_kept_without_asking(commands: Commands) -> None:
    env = {**login_shell(commands.directory, ""), "PATH": f"{BARE_PATH}:/mine"}

    async def body() -> None:
        assert await process.login_path(env) == f"{BARE_PATH}:/mine"
        assert not (commands.directory / "calls").exists()

    commands.run(body)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("text", ["exit 1", "echo nothing useful", "kill -9 $$"])
def test_login_shell_without_an_answer_changes_nothing(commands: Commands, text: str) -> None:
    env = login_shell(commands.directory, text)

    async def body() -> None:
        assert await process.login_path(env) == BARE_PATH

    commands.run(body)


@pytest.mark.usefixtures("asked")
def test_login_shell_that_hangs_is_given_up_and_ended(commands: Commands, tag: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("scorpio.login_shell.LOGIN_PATH_MS", 200)
    env = login_shell(commands.directory, f"setsid sleep {tag} & sleep {tag}")

    async def body() -> None:
        assert await process.login_path(env) == BARE_PATH
        assert await until(lambda: not living(tag))

    commands.run(body)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("shell", ["", "/no/shell", "/etc/passwd"])
def test_missing_login_shell_changes_nothing(commands: Commands, shell: str) -> None:
    async def body() -> None:
        assert await process.login_path({"PATH": BARE_PATH, "SHELL": shell}) == BARE_PATH

    commands.run(body)
