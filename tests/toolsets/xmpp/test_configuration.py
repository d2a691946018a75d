"""Where the account comes from, and what never meets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scorpio.settings import load
from tools.xmpp.configuration import Account, configured
from tools.xmpp.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server_process import ServerProcess

pytestmark = pytest.mark.requirement("xmpp:configuration")

OURS = {
    "XMPP_SERVICE": "xmpp://ours.example:5222",
    "XMPP_DOMAIN": "ours.example",
    "XMPP_USERNAME": "dogbot",
    "XMPP_PASSWORD": "ours-1",
    "MUC_ROOM": "general@conference.ours.example",
}
THEIRS = """
# somebody's project
export XMPP_SERVICE="xmpps://theirs.example"   # a comment
XMPP_USERNAME='theirs'
XMPP_PASSWORD=theirs-1
MUC_ROOM=room@conference.theirs.example
PATH=/nowhere
TOOLSETS=everything
BASH_MAX_TIMEOUT_MS=1
not a line
"""


@pytest.fixture(autouse=True)
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))


def account(directory: Path, **environ: str) -> Account:
    return configured(load(environ, str(directory / "home")), str(directory))[0]


def fault(directory: Path, **environ: str) -> str:
    with pytest.raises(Fault) as raised:
        account(directory, **environ)
    return str(raised.value)


def test_the_configuration_counts_where_no_file_says_anything(tmp_path: Path) -> None:
    found = account(tmp_path, **OURS)
    assert (found.service, found.domain, found.username) == ("xmpp://ours.example:5222", "ours.example", "dogbot")
    assert (found.room, found.nickname, found.verify) == (OURS["MUC_ROOM"], "McpDebug", True)


def test_a_file_in_the_working_directory_is_taken_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(THEIRS)
    found = account(tmp_path, **OURS, XMPP_TLS_VERIFY="false", MCP_BOT_NICKNAME="Rex")
    assert (found.service, found.domain, found.username) == ("xmpps://theirs.example:5223", "theirs.example", "theirs")
    assert (found.password, found.room) == ("theirs-1", "room@conference.theirs.example")
    assert (found.nickname, found.verify) == ("Rex", True)


@pytest.mark.parametrize("key", ["XMPP_SERVICE", "XMPP_DOMAIN", "MUC_ROOM", "XMPP_TLS_VERIFY", "XMPP_USERNAME"])
def test_no_address_of_such_a_file_meets_our_password(tmp_path: Path, key: str) -> None:
    value = {"XMPP_SERVICE": "xmpp://theirs.example", "XMPP_TLS_VERIFY": "false"}.get(key, "theirs@theirs.example")
    (tmp_path / ".env").write_text(f"{key}={value}\n")
    assert f"missing in {tmp_path}/.env, which is taken as a whole." in fault(tmp_path, **OURS)


def test_a_nickname_in_such_a_file_changes_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MCP_BOT_NICKNAME=Rex\n")
    found = account(tmp_path, **OURS)
    assert (found.nickname, found.password) == ("Rex", "ours-1")


def test_the_file_that_the_user_names_says_some_things_differently_and_no_other_is_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(THEIRS)
    (tmp_path / "mine.env").write_text("MUC_ROOM=mine@conference.ours.example\nXMPP_TLS_VERIFY=no\n")
    found = account(tmp_path, **OURS, TIA_ENV_PATH="mine.env")
    assert (found.service, found.password, found.verify) == (OURS["XMPP_SERVICE"], "ours-1", False)
    assert found.room == "mine@conference.ours.example"


def test_a_named_file_that_is_not_there_is_a_warning_and_the_configuration_counts(tmp_path: Path) -> None:
    settings = load({**OURS, "TIA_ENV_PATH": "gone.env"}, str(tmp_path / "home"))
    found, warnings = configured(settings, str(tmp_path))
    assert found.password == "ours-1"
    assert warnings == (
        f"TIA_ENV_PATH names {tmp_path}/gone.env, and there is no such file. The configuration counts.",
    )


def test_a_value_that_is_none_is_a_warning_with_its_place(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"{THEIRS}XMPP_TLS_VERIFY=perhaps\n")
    found, [warning] = configured(load({}, str(tmp_path / "home")), str(tmp_path))
    assert found.verify is True
    assert warning.startswith(f"{tmp_path}/.env:11: XMPP_TLS_VERIFY must be true or false")


def test_a_pipe_in_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".env")
    assert account(tmp_path, **OURS).password == "ours-1"


def test_a_projects_own_configuration_gives_no_account(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".scorpio").mkdir(parents=True)
    (project / ".scorpio" / "scorpio-env.txt").write_text(
        "XMPP_PASSWORD=theirs-1\nXMPP_SERVICE=xmpp://theirs.example\n"
    )
    settings = load({}, str(tmp_path / "home"), str(project))
    assert (settings.xmpp_password, settings.xmpp_service) == ("", "")
    assert len(settings.warnings) == 2
    assert "theirs-1" not in "".join(settings.warnings)


def test_a_line_with_a_secret_that_is_no_setting_is_not_shown(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "scorpio-env.txt").write_text("XMPP_PASSWORD: woof-9\n")
    [warning] = load({}, str(home)).warnings
    assert "is not KEY=VALUE" in warning
    assert "woof-9" not in warning


@pytest.mark.parametrize(
    ("text", "service", "host"),
    [
        ("xmpp://localhost:5222", "xmpp://localhost:5222", "localhost"),
        ("xmpp://localhost", "xmpp://localhost:5222", "localhost"),
        ("xmpps://a.example/", "xmpps://a.example:5223", "a.example"),
        ("xmpp://[::1]:6222", "xmpp://[::1]:6222", "::1"),
        ("xmpp://[::1]", "xmpp://[::1]:5222", "::1"),
    ],
)
def test_an_address_is_a_scheme_a_host_and_perhaps_a_port(tmp_path: Path, text: str, service: str, host: str) -> None:
    found = account(tmp_path, **{**OURS, "XMPP_SERVICE": text})
    assert (found.service, found.host) == (service, host)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "localhost:5222",
            "https://localhost",
            "xmpp://",
            "xmpp://:5222",
            "xmpp://a:0",
            "xmpp://a:65536",
            "xmpp://a:x",
        ),
        *("xmpp://me:word@a", "xmpp://a/path", "xmpp://a?x", "xmpp://a\x07b", "xmpp://[::1", "wss://a", "xmpp://a:٣"),
    ],
)
def test_what_is_no_address_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    said = fault(tmp_path, **{**OURS, "XMPP_SERVICE": text})
    assert said == "XMPP_SERVICE must be xmpp://HOST:PORT (STARTTLS) or xmpps://HOST:PORT (TLS from the start)."


@pytest.mark.parametrize(
    "changed",
    [
        *({"XMPP_USERNAME": "@x"}, {"XMPP_USERNAME": "a/b"}, {"XMPP_DOMAIN": "a/b"}),
        *({"MUC_ROOM": "room"}, {"MUC_ROOM": "@service"}, {"MUC_ROOM": "room@"}, {"MUC_ROOM": "room@a/b"}),
    ],
)
def test_addresses_that_are_none_are_refused(tmp_path: Path, changed: dict[str, str]) -> None:
    assert "must be" in fault(tmp_path, **{**OURS, **changed})


def test_the_domain_may_stand_with_the_user_or_be_the_host(tmp_path: Path) -> None:
    without = {name: value for name, value in OURS.items() if name != "XMPP_DOMAIN"}
    assert account(tmp_path, **without).domain == "ours.example"
    found = account(tmp_path, **{**without, "XMPP_USERNAME": "dogbot@other.example"})
    assert (found.username, found.domain) == ("dogbot", "other.example")


def test_the_working_directory_is_the_servers(
    start: Callable[..., ServerProcess], environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("XMPP_SERVICE=xmpp://localhost:1\n")
    server = start("xmpp", environ=environ, cwd=tmp_path).open()
    said = server.call("xmppSend", {"message": "hello"})["result"]["content"][0]["text"]
    assert said == (
        f"Not configured: XMPP_USERNAME, XMPP_PASSWORD, MUC_ROOM missing in {tmp_path}/.env, which is taken as a whole."
    )
