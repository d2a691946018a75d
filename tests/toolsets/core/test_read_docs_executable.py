"""ReadDocs of the executable that users get: it answers what the sources answer, reaches no further, leaves nothing.

The other tests of ReadDocs read pages in this process, where they may set limits and names; these show that freezing
has lost nothing of it: the page scripts, the worker, the proxy, the supervisor.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.toolsets.core.test_read_docs_browser import EVENT_S_MAX, MADE, nothing_is_left, profiles
from tests.toolsets.core.test_read_docs_pages import PAGES, PAGES_FOLDER
from tests.toolsets.core.two_worlds import routes_page
from tests.web_site import answer, redirect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.server_process import ServerProcess
    from tests.toolsets.core.local_core import LocalCore
    from tests.web_site import Request, Site

pytestmark = pytest.mark.builds("frozen")
LATE = "setTimeout(() => { root.innerHTML = '<h1>Late</h1>' + '<p>words that come late '.repeat(20) }, 300)"
ARRIVE = {"/route/iframe", "/route/script", "/route/fetch", "/route/xhr", "/route/websocket"}
"""Of the ways to reach another address those that a page without patience is seen to go, where it may."""


@pytest.fixture
def temporary() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="rd", dir="/tmp"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def open_server(
    start: Callable[..., ServerProcess], environ: dict[str, str], temporary: Path
) -> Callable[..., ServerProcess]:
    """Servers of the executable: `open_server(READDOCS_PRIVATE="deny")`."""
    return lambda **variables: start("core", environ={**environ, "TMPDIR": str(temporary), **variables}).open()


def read(server: ServerProcess, url: str, **arguments: Any) -> str:
    return str(server.call("ReadDocs", {"url": url, **arguments})["result"]["content"][0]["text"])


@pytest.mark.requirement("readdocs:main-content")
@pytest.mark.parametrize("way", [{}, {"wait_ms": 0}], ids=["plain", "rendered"])
def test_the_executable_reads_every_page_as_the_sources_do(
    open_server: Callable[..., ServerProcess], reader: LocalCore, site: Site, way: dict[str, int]
) -> None:
    server = open_server()
    for name in PAGES:
        site.pages[f"/docs/{name}.html"] = answer((PAGES_FOLDER / f"{name}.html").read_bytes())
        url = site.url(f"/docs/{name}.html")
        assert read(server, url, **way) == reader.call("ReadDocs", {"url": url, **way}).content[0]["text"]


@pytest.mark.requirement("readdocs:scripts")
def test_the_executable_reads_what_scripts_make(open_server: Callable[..., ServerProcess], site: Site) -> None:
    site.pages["/made"] = answer(MADE)
    site.pages["/late"] = answer(f"<title>Late</title><div id=root></div><script>{LATE}</script>")
    server = open_server()
    assert "# Made" in read(server, site.url("/made"))
    assert "# Made" in read(server, site.url("/made"), wait_ms=100)
    assert "# Late" in read(server, site.url("/late"))
    assert "# Late" in read(server, site.url("/late"), wait_ms=2000)


@pytest.mark.requirement("readdocs:routes")
@pytest.mark.parametrize("policy", ["direct", "allow"])
def test_a_page_of_the_executable_reaches_another_address_only_where_it_may(
    open_server: Callable[..., ServerProcess], open_site: Callable[..., Site], policy: str
) -> None:
    own, other = open_site(), open_site("127.0.0.2")
    target = f"127.0.0.2:{other.port}"
    own.pages |= {"/": answer(routes_page(target)), "/onward": redirect(f"http://{target}/onward")}
    own.pages["/redirect"] = lambda request: request.send(_sent_on(request))
    server = open_server(READDOCS_PRIVATE=policy)
    read(server, own.url(), wait_ms=2500 if policy == "allow" else 500)
    answered = read(server, own.url("/onward"))
    if policy == "allow":
        assert {"/onward", *ARRIVE} <= set(other.asked())
    else:
        assert (other.connections, "was refused" in answered) == (0, True)


def _sent_on(request: Request) -> bytes:
    return redirect(parse_qs(urlsplit(request.target).query)["to"][0])


@pytest.mark.requirement("readdocs:routes")
def test_the_executable_reads_no_private_address_under_deny(
    open_server: Callable[..., ServerProcess], site: Site
) -> None:
    server = open_server(READDOCS_PRIVATE="deny")
    for host in ("127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "127.1"):
        assert "private address" in read(server, f"http://{host}:{site.port}/")
    assert site.connections == 0


@pytest.mark.requirement("readdocs:bounds")
def test_the_executable_refuses_what_is_too_large_or_goes_in_circles(
    open_server: Callable[..., ServerProcess], site: Site
) -> None:
    site.pages |= {"/large": answer("<p>" + "word " * 3_000_000), "/circle": redirect("/circle"), "/ok": answer(MADE)}
    server = open_server()
    for way in ({}, {"wait_ms": 0}):
        assert "is larger than 10 MB" in read(server, site.url("/large"), **way)
        assert "redirects" in read(server, site.url("/circle"), **way)
        assert "# Made" in read(server, site.url("/ok"), **way)


@pytest.mark.requirement("readdocs:nothing-left")
def test_two_executables_leave_nothing_one_killed_while_it_reads_and_one_ended(
    open_server: Callable[..., ServerProcess], temporary: Path, site: Site
) -> None:
    site.pages["/"] = answer(MADE)
    killed, other = open_server(), open_server()
    assert "# Made" in read(killed, site.url())
    assert "# Made" in read(other, site.url())
    assert len(profiles(temporary)) == 2
    params = {"name": "ReadDocs", "arguments": {"url": site.url(), "wait_ms": 30_000}}
    killed.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params})
    killed.process.kill()
    assert "# Made" in read(other, site.url(), wait_ms=50)
    other.close_stdin()
    assert other.process.wait(EVENT_S_MAX) == 0
    assert nothing_is_left(temporary)
