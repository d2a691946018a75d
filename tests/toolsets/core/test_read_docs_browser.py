"""The browser's life: started once, closed when idle, and never anything of it left, however it or its server ends.

A browser is found by its scratch directory, which is in the command line of each of its processes.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.commands import read as read_file
from tests.process.commands import wait_until
from tests.toolsets.core import local_core
from tests.toolsets.core.local_core import LocalCall, LocalCore
from tests.web_site import Request, answer
from tools.core.read_docs import browser_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.web_site import Site

EVENT_S_MAX = 30.0
MADE = (
    "<title>Made</title><div id=root></div>"
    "<script>root.innerHTML = '<h1>Made</h1>' + '<p>by a script'.repeat(30)</script>"
)
PREFIX = "scorpio-browser-"


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where browsers of this test keep what they write; short, or Chromium would refuse it."""
    directory = Path(tempfile.mkdtemp(prefix="rd", dir="/tmp"))
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


def profiles(temporary: Path) -> list[Path]:
    return sorted(temporary.glob(f"{PREFIX}*"))


def processes(directory: Path | str) -> list[int]:
    """Every living process whose command line names `directory`."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and str(directory).encode() in read_file(f"/proc/{entry}/cmdline"):
            state = read_file(f"/proc/{entry}/stat").rpartition(b") ")[2][:1]
            if state not in (b"Z", b"X", b""):
                found.append(int(entry))
    return found


def nothing_is_left(temporary: Path) -> bool:
    return wait_until(lambda: not processes(temporary) and not profiles(temporary))


def text_of(core: LocalCore, url: str, **arguments: Any) -> str:
    return str(core.call("ReadDocs", {"url": url, **arguments}).content[0]["text"])


@pytest.fixture
def page(site: Site) -> str:
    site.pages["/"] = answer(MADE)
    return site.url()


# -- the end of a server


@pytest.mark.requirement("readdocs:nothing-left")
def test_nothing_is_left_when_the_server_ends(open_core: Callable[..., LocalCore], temporary: Path, page: str) -> None:
    core = open_core()
    assert "# Made" in text_of(core, page)
    assert len(profiles(temporary)) == 1
    assert core.documents().browser.pid in processes(temporary)
    core.close()
    assert nothing_is_left(temporary)


class Server:
    """A server in a process of its own, that can be killed."""

    def __init__(self, home: Path, temporary: Path, supervisor: str) -> None:
        environ = {**os.environ, "TMPDIR": str(temporary), "SCORPIO_SUPERVISOR": supervisor}
        self.process = subprocess.Popen(
            [sys.executable, local_core.__file__, str(home), str(home), ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )

    def read(self, url: str, **arguments: Any) -> str:
        self.ask(url, **arguments)
        return self.answer()

    def ask(self, url: str, **arguments: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(["ReadDocs", {"url": url, **arguments}]) + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return str(json.loads(self.process.stdout.readline()))

    def end(self) -> None:
        self.process.communicate(timeout=EVENT_S_MAX)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=EVENT_S_MAX)


@pytest.fixture
def serve(tmp_path: Path, temporary: Path, supervisor_path: str) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(*, twin: bool = False) -> Server:
        servers.append(Server(tmp_path / f"home-{len(servers)}", temporary, "" if twin else supervisor_path))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.mark.requirement("readdocs:nothing-left")
@pytest.mark.parametrize("twin", [False, True], ids=["compiled", "twin"])
def test_nothing_is_left_when_the_server_is_killed(
    serve: Callable[..., Server], temporary: Path, page: str, twin: bool
) -> None:
    server = serve(twin=twin)
    assert "# Made" in server.read(page)
    assert len(processes(temporary)) > 1
    server.kill()
    assert nothing_is_left(temporary)


@pytest.mark.requirement("readdocs:nothing-left")
def test_nothing_is_left_when_the_server_is_killed_while_a_page_is_read(
    serve: Callable[..., Server], temporary: Path, site: Site
) -> None:
    asked = threading.Event()

    def hang(request: Request) -> None:
        asked.set()
        request.connection.recv(1)

    site.pages["/"] = hang
    server = serve()
    server.ask(site.url(), wait_ms=30_000)
    assert asked.wait(EVENT_S_MAX)
    server.kill()
    assert nothing_is_left(temporary)


@pytest.mark.requirement("readdocs:nothing-left")
def test_two_servers_have_two_browsers_and_one_may_die(
    serve: Callable[..., Server], temporary: Path, site: Site
) -> None:
    site.pages["/"] = answer(MADE)
    first, second = serve(), serve()
    assert all("# Made" in server.read(site.url()) for server in (first, second))
    assert len(profiles(temporary)) == 2
    first.kill()
    assert wait_until(lambda: len(profiles(temporary)) == 1)
    assert "# Made" in second.read(site.url("/?again"))
    assert len(profiles(temporary)) == 1
    second.end()
    assert nothing_is_left(temporary)


def test_what_a_dead_server_left_is_deleted_and_what_a_living_one_has_is_not(
    open_core: Callable[..., LocalCore], temporary: Path, tmp_path: Path, page: str
) -> None:
    dead, living, fresh = (temporary / f"{PREFIX}{name}" for name in ("dead", "living", "fresh"))
    for directory in (dead, living, fresh):
        (directory / "profile").mkdir(parents=True)
    kept = tmp_path / "kept"
    kept.mkdir()
    (temporary / f"{PREFIX}link").symlink_to(kept)
    (dead / "lock").touch()
    with (living / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "# Made" in text_of(open_core(), page)
        left = {path.name.removeprefix(PREFIX) for path in profiles(temporary)}
    assert "dead" not in left
    assert {"living", "fresh", "link"} <= left
    assert kept.is_dir()


# -- crashes


def waiting_page(site: Site) -> threading.Event:
    """Is set when a page that never settles has been shown; it is at /."""
    shown = threading.Event()

    def tell(request: Request) -> None:
        request.send(answer(""))
        shown.set()

    site.pages |= {"/": answer(f"{MADE}<script>fetch('/shown')</script>"), "/shown": tell}
    return shown


@pytest.mark.requirement("readdocs:crash")
def test_a_tab_that_crashes_is_told_and_the_next_page_is_read(
    open_core: Callable[..., LocalCore], temporary: Path, site: Site
) -> None:
    core = open_core()
    shown = waiting_page(site)
    call = core.begin(LocalCall(core, "ReadDocs", "stdio"), {"url": site.url(), "wait_ms": 20_000})
    assert shown.wait(EVENT_S_MAX)
    for pid in processes(temporary):
        if b"--type=renderer" in read_file(f"/proc/{pid}/cmdline"):
            os.kill(pid, signal.SIGKILL)
    result = call.result(EVENT_S_MAX)
    assert result.is_error
    assert "crashed the browser's tab" in result.content[0]["text"]
    site.pages["/next"] = answer(MADE)
    assert "# Made" in text_of(core, site.url("/next"))
    assert len(profiles(temporary)) == 1
    core.close()
    assert nothing_is_left(temporary)


@pytest.mark.requirement("readdocs:crash")
def test_a_browser_that_is_killed_is_told_and_another_is_started(
    open_core: Callable[..., LocalCore], temporary: Path, site: Site
) -> None:
    core = open_core()
    shown = waiting_page(site)
    call = core.begin(LocalCall(core, "ReadDocs", "stdio"), {"url": site.url(), "wait_ms": 20_000})
    assert shown.wait(EVENT_S_MAX)
    (first,) = profiles(temporary)
    os.kill(core.documents().browser.pid, signal.SIGKILL)
    result = call.result(EVENT_S_MAX)
    assert result.is_error
    assert "the browser has ended. Try again." in result.content[0]["text"]
    site.pages["/next"] = answer(MADE)
    assert "# Made" in text_of(core, site.url("/next"))
    assert wait_until(lambda: first not in profiles(temporary))
    assert not processes(first)


def test_a_browser_that_died_unused_is_replaced_without_a_word(
    open_core: Callable[..., LocalCore], temporary: Path, site: Site
) -> None:
    core = open_core()
    site.pages["/"] = answer(MADE)
    assert "# Made" in text_of(core, site.url())
    os.kill(core.documents().browser.pid, signal.SIGKILL)
    assert "# Made" in text_of(core, site.url("/?again"))


def test_tabs_that_outlived_the_browsers_network_are_not_used(
    open_core: Callable[..., LocalCore], temporary: Path, page: str
) -> None:
    core = open_core()
    assert "# Made" in text_of(core, page, wait_ms=0)
    core.idle()
    network = [pid for pid in processes(temporary) if b"NetworkService" in read_file(f"/proc/{pid}/cmdline")]
    assert len(network) == 1
    os.kill(network[0], signal.SIGKILL)
    assert wait_until(lambda: network[0] not in processes(temporary))
    assert "# Made" in text_of(core, page, wait_ms=1)


@pytest.mark.requirement("readdocs:cancel")
def test_a_cancelled_call_closes_its_tab_and_leaves_the_browser(
    open_core: Callable[..., LocalCore], temporary: Path, site: Site
) -> None:
    core = open_core()
    shown = waiting_page(site)
    call = core.begin(LocalCall(core, "ReadDocs", "stdio"), {"url": site.url(), "wait_ms": 20_000})
    assert shown.wait(EVENT_S_MAX)
    browser = core.documents().browser
    pid = browser.pid
    call.cancel()
    assert wait_until(lambda: not browser._closing and browser._tab_count == 0)
    site.pages["/next"] = answer(MADE)
    assert "# Made" in text_of(core, site.url("/next"))
    assert browser.pid == pid
    core.close()
    assert nothing_is_left(temporary)


def test_a_call_that_is_cancelled_while_the_browser_starts_leaves_nothing(
    open_core: Callable[..., LocalCore], temporary: Path, tmp_path: Path, page: str
) -> None:
    program = script(tmp_path, f'touch {tmp_path}/begun; sleep 0.5; exec chromium "$@"')
    core = open_core(chromium_path=program)
    call = core.begin(LocalCall(core, "ReadDocs", "stdio"), {"url": page, "wait_ms": 0})
    assert wait_until((tmp_path / "begun").exists)
    call.cancel()
    assert "# Made" in text_of(core, page)
    assert len(profiles(temporary)) == 1
    core.close()
    assert nothing_is_left(temporary)


# -- idle


@pytest.mark.requirement("readdocs:idle")
def test_a_browser_that_nobody_needs_is_closed_and_started_again_when_needed(
    open_core: Callable[..., LocalCore], temporary: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.core.read_docs.browser.BROWSER_IDLE_S", 0.1)
    monkeypatch.setattr("tools.core.read_docs.workers.PAGE_WORKERS_IDLE_S", 0.1)
    core = open_core()
    site.pages["/"] = answer(MADE)
    assert "# Made" in text_of(core, site.url())
    assert nothing_is_left(temporary)
    assert wait_until(lambda: not core.documents().workers._idle)
    assert core.documents().browser.pid == 0
    assert "# Made" in text_of(core, site.url("/?again"))


# -- browsers that are not there, or are none


def script(directory: Path, body: str) -> str:
    path = directory / "browser"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.requirement("readdocs:no-browser")
@pytest.mark.parametrize("way", [{}, {"wait_ms": 100}])
def test_without_a_browser_the_page_is_read_over_http_and_a_note_says_so(
    open_core: Callable[..., LocalCore], site: Site, way: dict[str, int]
) -> None:
    site.pages["/"] = answer(f"{MADE}<p>words that are there</p>")
    text = text_of(open_core(chromium_path="/nonexistent/chromium"), site.url(), **way)
    assert "Fetched: plain HTTP" in text
    assert (
        "Note: Read without a browser, so nothing that scripts make is here: "
        "CHROMIUM_PATH names /nonexistent/chromium, which is no program." in text
    )
    assert "words that are there" in text


def test_without_a_browser_a_page_that_needs_none_has_no_note(open_core: Callable[..., LocalCore], site: Site) -> None:
    site.pages["/"] = answer("<main><p>" + "plain words " * 50)
    assert "Note:" not in text_of(open_core(chromium_path="/nonexistent/chromium"), site.url())


@pytest.mark.requirement("readdocs:no-browser")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("exit 3", "ended at once"),
        ("echo '[1:1:FATAL:zygote.cc] No usable sandbox! Update your kernel' >&2; exit 1", "No usable sandbox!"),
        ("sleep 1000 & wait", "did not answer within 1 s"),
        ("head -c 100000 /dev/zero | tr '\\0' 'x' >&4; sleep 1000", "did not answer within 1 s"),
        ('printf \'{"id":1,"error":{"message":"no"}}\\0\' >&4; sleep 1000', "did not answer within 1 s"),
    ],
    ids=["ends", "says why", "hangs", "babbles", "refuses"],
)
def test_a_browser_that_does_not_start_is_told_and_leaves_nothing(
    open_core: Callable[..., LocalCore],
    temporary: Path,
    tmp_path: Path,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    body: str,
    words: str,
) -> None:
    monkeypatch.setattr("tools.core.read_docs.browser.BROWSER_START_S_MAX", 1)
    site.pages["/"] = answer(f"{MADE}<p>words that are there</p>")
    text = text_of(open_core(chromium_path=script(tmp_path, body)), site.url())
    assert "Note: Read without a browser" in text
    assert words in text
    assert "words that are there" in text
    assert nothing_is_left(temporary)


def test_browsers_are_looked_for_by_name_in_the_order_of_preference(tmp_path: Path) -> None:
    for name in ("google-chrome", "chromium-headless-shell"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    environ = {"PATH": str(tmp_path)}
    assert browser_program.find("", environ) == (str(tmp_path / "chromium-headless-shell"), "")
    (tmp_path / "chromium-headless-shell").unlink()
    assert browser_program.find("", environ) == (str(tmp_path / "google-chrome"), "")
    assert browser_program.find(str(tmp_path), environ)[1] == f"CHROMIUM_PATH names {tmp_path}, which is no program"


def test_an_ordinary_users_browser_keeps_its_own_sandbox(tmp_path: Path) -> None:
    assert "--no-sandbox" not in browser_program.arguments("chromium", str(tmp_path), sandboxed=True)
    assert "--no-sandbox" in browser_program.arguments("chromium", str(tmp_path), sandboxed=False)


def test_the_answer_says_when_the_browsers_sandbox_is_off(reader: LocalCore, site: Site) -> None:
    site.pages["/"] = answer(MADE)
    said = "without its own sandbox, because scorpio runs as root" in text_of(reader, site.url())
    assert said == (os.geteuid() == 0)


# -- what it may see and write


def test_a_browser_sees_no_secrets_and_writes_nothing_into_the_home(
    open_core: Callable[..., LocalCore], temporary: Path, tmp_path: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = tmp_path / "user"
    user.mkdir()
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("XMPP_PASSWORD", "secret-word")
    monkeypatch.setenv("https_proxy", "http://elsewhere.example:3128")
    core = open_core()
    assert "# Made" in text_of(core, page)
    environ = read_file(f"/proc/{core.documents().browser.pid}/environ")
    assert environ != b""
    assert b"secret-word" not in environ
    assert b"elsewhere.example" not in environ
    core.close()
    assert list(user.iterdir()) == []
