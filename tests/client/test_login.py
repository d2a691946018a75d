"""Log-in to a server at an address: by the program, and by its parts where a program cannot show it."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from scorpio.client.client import Client
from scorpio.client.failures import LinkFailure, LoginFailure
from scorpio.client.http_link import HttpLink
from scorpio.client.oauth.login import Login
from scorpio.client.oauth.store import Store
from scorpio.client.patience import patiently
from tests.client.oauth_site import OAUTH, RESOURCE, OAuthSite, visit
from tests.links import ROOT

BOUND_S = 60
OPENID = "/.well-known/openid-configuration"
BROWSER = f"#!{sys.executable}\nimport sys\nfrom tests.client.oauth_site import visit\nvisit(sys.argv[1])\n"


class Robot:
    """A person who does what the page wants; `before` is tried first with the page's address."""

    def __init__(self, before: Callable[[str], None] = lambda url: None) -> None:
        self._before = before

    async def visit(self, url: str) -> None:
        await asyncio.to_thread(self._before, url)
        await asyncio.to_thread(visit, url)


class NoAnswers:
    def __init__(self) -> None:
        self.capabilities: dict[str, Any] = {}

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError(method)


@pytest.fixture
def site() -> Iterator[OAuthSite]:
    with OAuthSite() as site:
        yield site


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state" / "logins"))


async def called(url: str, login: Login | None) -> str:
    client = Client(HttpLink(url, login=login), NoAnswers(), revision="2025-11-25")
    try:
        await client.connect()
        result = await client.request("tools/call", {"name": "greet", "arguments": {}})
        return str(result["content"][0]["text"])
    finally:
        await client.close()


# -- the program


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "xdg-open").write_text(BROWSER)
    (programs / "xdg-open").chmod(0o755)
    return {
        "HOME": str(tmp_path), "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
        "SCORPIO_HOME": str(tmp_path / "state"), "DISPLAY": ":0",
    }  # fmt: skip


def started(command: list[str], environ: dict[str, str], site: OAuthSite) -> tuple[int, str, str]:
    """(status, stdout, stderr) of a call by somebody at a terminal."""
    ours, theirs = pty.openpty()
    words = [*command, "call", "greet", "--url", site.url, "--json"]
    with subprocess.Popen(words, env=environ, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                chunk = os.read(ours, 1 << 16)
            except OSError:  # how a terminal says that nobody holds it any more
                break
            if not chunk:
                break
            said += chunk
        out = process.communicate(timeout=BOUND_S)[0]
    os.close(ours)
    return process.returncode, out.decode(), said.decode()


@pytest.mark.requirement("client:login")
def test_one_log_in_by_the_browser_serves_two_runs_and_shows_no_token(
    command: Callable[..., list[str]], environment: dict[str, str], site: OAuthSite, tmp_path: Path
) -> None:
    base = command()
    program = base[: base.index("serve")] if "serve" in base else base
    first = started(program, environment, site)
    second = started(program, environment, site)
    assert (first[0], json.loads(first[1])["content"][0]["text"]) == (0, "hello"), first
    assert (second[0], second[1]) == (0, first[1]), second
    assert f"{site.origin}/authorization?" in first[2]
    assert (site.visits, second[2], "secret" in first[2] + first[1]) == (1, "", False)
    [kept] = (tmp_path / "state" / "logins").glob("*.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [stat.S_IMODE(each.stat().st_mode) for each in (kept.parent, kept.parent.parent)] == [0o700, 0o700]


@pytest.mark.builds("source")
@pytest.mark.requirement("client:login-unattended")
@pytest.mark.parametrize(
    ("more", "status", "sentence"),
    [
        ({}, 3, "wants a log-in, and there is no terminal to do it at. Run `scorpio client "),
        ({"SCORPIO_LOGIN": "off"}, 3, "HTTP status 401"),
        ({"SCORPIO_OAUTH_CLIENT_SECRET": "x"}, 2, "SCORPIO_OAUTH_CLIENT_SECRET needs SCORPIO_OAUTH_ISSUER"),
        ({"SCORPIO_OAUTH_GRANT": "password"}, 2, "SCORPIO_OAUTH_GRANT must be code, client_credentials"),
    ],
    ids=["nobody", "off", "secret-for-anybody", "unknown-grant"],
)
def test_without_a_terminal_one_sentence_says_what_to_do(
    command: Callable[..., list[str]],
    environment: dict[str, str],
    site: OAuthSite,
    more: dict[str, str],
    status: int,
    sentence: str,
) -> None:
    base = command()
    words = [*base[: base.index("serve")], "call", "greet", "--url", site.url]
    done = subprocess.run(
        words, env=environment | more, capture_output=True, text=True, check=False, timeout=BOUND_S,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n"), sentence in done.stderr) == (status, 1, True), done.stderr
    assert site.visits == 0


# -- its parts


@pytest.mark.requirement("client:login-answer")
def test_an_answer_with_another_state_is_refused_and_the_right_one_still_taken(site: OAuthSite) -> None:
    seen: list[int] = []

    def forge(url: str) -> None:
        redirect = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        forgeries = ({"code": "forged", "state": "guess"}, {"code": "forged"}, {"error": "access_denied"})
        seen.extend(visit(f"{redirect}?{urlencode(forged)}") for forged in forgeries)

    assert asyncio.run(called(site.url, Login(site.url, person=Robot(forge)))) == "hello"
    assert (seen, site.grants) == ([400, 400, 400], ["authorization_code"])


@pytest.mark.requirement("client:login-answer")
def test_a_server_without_pkce_is_not_used(site: OAuthSite) -> None:
    site.pkce = ["plain"]
    with pytest.raises(LinkFailure, match="PKCE"):
        asyncio.run(called(site.url, Login(site.url, person=Robot())))
    assert {"/authorization", "/token", "/registration"}.isdisjoint(site.paths())


@pytest.mark.requirement("client:login-discovery")
def test_metadata_are_looked_for_in_order_and_no_further_than_found(site: OAuthSite) -> None:
    site.metadata_at = OPENID
    asyncio.run(called(site.url, Login(site.url, person=Robot())))
    looked = [path for path in site.paths() if path.startswith("/.well-known/")]
    assert looked == [f"{RESOURCE}/mcp", OAUTH, OPENID]


@pytest.mark.requirement("client:login-origin")
def test_a_redirect_to_another_origin_gets_no_token_and_no_request(site: OAuthSite, store: Store) -> None:
    asyncio.run(called(site.url, Login(site.url, person=Robot(), store=store)))
    with OAuthSite() as other:
        site.moved_to = other.url
        with pytest.raises(LinkFailure, match="307"):
            asyncio.run(called(site.url, Login(site.url, store=store)))
        assert other.asked == []
    assert any(headers.get("authorization") == "Bearer access-secret-1" for _, _, headers in site.asked)


@pytest.mark.requirement("client:login-origin")
def test_a_token_is_for_the_origin_of_its_resource_only(site: OAuthSite, store: Store) -> None:
    asyncio.run(called(site.url, Login(site.url, person=Robot(), store=store)))
    login = Login(site.url, store=store)
    tokens = asyncio.run(login.usable())
    assert login.headers(tokens, "POST", f"{site.origin}/messages") == {"Authorization": "Bearer access-secret-1"}
    for elsewhere in ("https://127.0.0.1/mcp", site.url.replace("127.0.0.1", "localhost"), "http://127.0.0.1@evil/"):
        assert login.headers(tokens, "POST", elsewhere) == {}


@pytest.mark.requirement("client:login-refresh")
def test_requests_at_once_refresh_a_token_that_ends_one_time(site: OAuthSite, store: Store) -> None:
    site.expires_in = 1
    asyncio.run(called(site.url, Login(site.url, person=Robot(), store=store)))
    site.grants.clear()
    site.expires_in = 3600

    async def both() -> list[Any]:
        login = Login(site.url, store=store)
        return await asyncio.gather(*(login.usable() for _ in range(3)))

    fresh = asyncio.run(both())
    assert (len({each.access for each in fresh}), site.grants) == (1, ["refresh_token"])
    assert asyncio.run(called(site.url, Login(site.url, store=store))) == "hello"


@pytest.mark.requirement("client:login-refresh")
def test_a_token_that_the_server_has_withdrawn_is_refreshed_without_a_person(site: OAuthSite, store: Store) -> None:
    asyncio.run(called(site.url, Login(site.url, person=Robot(), store=store)))
    site.tokens = set()
    assert asyncio.run(called(site.url, Login(site.url, store=store))) == "hello"
    assert (site.visits, site.grants) == (1, ["authorization_code", "refresh_token"])


@pytest.mark.requirement("client:login")
def test_a_file_that_others_can_read_or_that_leads_elsewhere_is_not_used(store: Store, tmp_path: Path) -> None:
    said: list[str] = []
    store = Store(str(tmp_path / "state" / "logins"), said.append)
    before = os.umask(0)
    try:
        store.save("http://a/", {"tokens": 1})
    finally:
        os.umask(before)
    [kept] = (tmp_path / "state" / "logins").glob("*.json")
    assert (stat.S_IMODE(kept.stat().st_mode), store.load("http://a/")["tokens"]) == (0o600, 1)
    kept.chmod(0o644)
    assert (store.load("http://a/"), "can be read by others" in said[0]) == ({}, True)
    kept.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o600)
    kept.symlink_to(tmp_path / "elsewhere")
    assert store.load("http://a/") == {}


@pytest.mark.requirement("client:login")
def test_where_nothing_can_be_kept_the_log_in_serves_this_run(site: OAuthSite, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said: list[str] = []
    store = Store(str(tmp_path / "file" / "logins"), said.append)
    assert asyncio.run(called(site.url, Login(site.url, person=Robot(), store=store))) == "hello"
    assert "cannot be kept" in said[0]


def test_who_gives_up_a_log_in_ends_it(site: OAuthSite) -> None:
    async def given_up() -> None:
        asked = asyncio.Event()

        class Nobody:
            async def visit(self, url: str) -> None:
                asked.set()

        login = Login(site.url, person=Nobody())
        task = asyncio.ensure_future(called(site.url, login))
        await asyncio.wait_for(asked.wait(), BOUND_S)
        assert login.busy
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not login.busy

    asyncio.run(given_up())


def test_nobody_loses_patience_with_a_server_while_somebody_logs_in() -> None:
    async def outlasted() -> str:
        done = asyncio.Event()

        class Link:
            looks = 0

            @property
            def busy(self) -> bool:
                self.looks += 1
                if self.looks == 3:
                    done.set()
                return True

        async def answer() -> str:
            await done.wait()
            return "answer"

        return await patiently(answer(), 0.001, Link())

    assert asyncio.run(outlasted()) == "answer"


def test_a_server_that_is_not_encrypted_gets_no_log_in() -> None:
    async def renewed() -> None:
        from scorpio.client.oauth.challenge import Challenge

        await Login("http://example.com/mcp", person=Robot()).renew(Challenge(), anew=False)

    with pytest.raises(LoginFailure, match="https"):
        asyncio.run(renewed())


def test_a_token_of_the_past_is_not_sent_where_it_cannot_be_refreshed(site: OAuthSite, store: Store) -> None:
    asyncio.run(called(site.url, Login(site.url, person=Robot(), store=store)))
    entry = store.load(site.url)
    entry["tokens"] |= {"refresh": "", "expires_at": time.time() - 1}
    site.tokens = set()
    store.save(site.url, {name: value for name, value in entry.items() if name != "server"})
    with pytest.raises(LinkFailure, match="no terminal"):
        asyncio.run(called(site.url, Login(site.url, store=store)))
