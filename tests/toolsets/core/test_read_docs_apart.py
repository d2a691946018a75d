"""ReadDocs: one call's page knows nothing of another's, although a site's next page may have its tab."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.web_site import Request, answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.toolsets.core.local_core import LocalCore
    from tests.web_site import Site
    from tools.core.read_docs.tab import Tab

EVENT_S_MAX = 30.0
MADE = (
    "<title>Made</title><div id=root></div>"
    "<script>root.innerHTML = '<h1>Made</h1>' + '<p>by a script'.repeat(30)</script>"
)


def read(reader: LocalCore, url: str, **arguments: Any) -> str:
    result = reader.call("ReadDocs", {"url": url, **arguments})
    text = str(result.content[0]["text"])
    assert not result.is_error, text
    return text


def body_of(answered: str) -> str:
    return answered.partition("not instructions.\n\n")[2]


KEEPING = """<title>s</title><div id=root></div><script>(async () => {
  const databases = (await indexedDB.databases()).length, caches = (await self.caches.keys()).length;
  const serving = navigator.serviceWorker;
  const workers = (await serving.getRegistrations()).length + (serving.controller ? 1 : 0);
  const counts = [localStorage.length, sessionStorage.length, databases, caches, workers, window.name.length];
  root.innerHTML = `<p>${counts.join(" ")} cookies ${document.cookie}`;
  localStorage.a = sessionStorage.a = window.name = "kept";
  document.cookie = "b=2; Max-Age=1000";
  await self.caches.open("kept");
  await new Promise((resolve) => { indexedDB.open("kept").onsuccess = resolve });
  await serving.register("/worker.js");
  await serving.ready;
  for (let step = 0; step < 3; step++) history.pushState({}, "", `?${step}`);
  root.innerHTML += `<p>history ${history.length} done</p>`;
})()</script>"""


@pytest.mark.requirement("readdocs:apart")
def test_cookies_and_storage_of_one_call_are_unknown_to_the_next(reader: LocalCore, site: Site) -> None:
    site.pages |= {
        "/": answer(KEEPING, headers={"Set-Cookie": "a=1; Max-Age=1000"}),
        "/worker.js": answer("onfetch = () => {}", kind="text/javascript"),
    }
    tabs = set()
    for number in range(3):
        body = body_of(read(reader, site.url(f"/?call={number}"), wait_ms=1000))
        assert body == "0 0 0 0 0 0 cookies a=1\n\nhistory 5 done"
        tabs.add(kept_tab(reader))
    assert len(tabs) == 1
    assert all("cookie" not in request.headers for request in site.requests if "call=" in request.target)


def kept_tab(reader: LocalCore) -> Tab | None:
    """What waits, empty, for the next page of the site that was read last."""
    kept = reader.documents().browser._kept
    if kept is None:
        return None

    async def emptied() -> bool:
        return await asyncio.shield(kept.emptied)

    assert reader.wait(emptied())
    return kept.tab


@pytest.mark.requirement("readdocs:apart")
def test_a_tab_is_used_again_for_the_same_site_and_owner_only(
    reader: LocalCore, site: Site, open_site: Callable[..., Site]
) -> None:
    other = open_site()
    for each in (site, other):
        each.pages["/"] = answer(MADE)

    def tab_of(url: str, owner: str) -> Tab | None:
        assert not reader.call("ReadDocs", {"url": url, "wait_ms": 0}, owner).is_error
        return kept_tab(reader)

    first = tab_of(site.url("/?1"), "one")
    assert first is not None
    assert tab_of(site.url("/?2"), "one") is first
    assert tab_of(site.url("/?3"), "two") is not first
    second = tab_of(site.url("/?4"), "one")
    assert tab_of(other.url("/?5"), "one") is not second


@pytest.mark.requirement("readdocs:apart")
def test_what_a_page_was_doing_ends_with_its_call(reader: LocalCore, site: Site) -> None:
    begun = threading.Event()

    def count(request: Request) -> None:
        begun.set()
        request.send(answer("."))

    busy = (
        "setInterval(() => fetch('/asked?' + Math.random()), 5); onpagehide = () => { onbeforeunload = () => 'stay' };"
    )
    site.pages |= {"/busy": answer(f"{MADE}<script>{busy}</script>"), "/asked": count, "/quiet": answer(MADE)}
    read(reader, site.url("/busy"), wait_ms=100)
    assert begun.wait(EVENT_S_MAX)
    tab = kept_tab(reader)
    assert tab is not None
    counts: list[int] = []
    while len(counts) < 2 or counts[-1] != counts[-2]:  # what was on its way arrives; a page that lives asks for ever
        read(reader, site.url(f"/quiet?{len(counts)}"), wait_ms=300)
        assert kept_tab(reader) is tab
        counts.append(sum(target.startswith("/asked") for target in site.asked()))
        assert len(counts) < 10


@pytest.mark.requirement("readdocs:apart")
@pytest.mark.parametrize(
    "content",
    [
        "<iframe src='{other}'></iframe>",
        "<iframe srcdoc='<p>inside'></iframe>",
        "<img src='{other}'><script>fetch('{other}').catch(() => 0)</script>",
        "<script>x = new XMLHttpRequest(); x.open('GET', '/private', true, 'me', 'word'); x.send()</script>",
    ],
    ids=["frame", "own frame", "refused", "password"],
)
def test_a_tab_that_was_not_only_its_sites_is_not_used_again(
    reader: LocalCore, site: Site, open_site: Callable[..., Site], content: str
) -> None:
    def private(request: Request) -> None:
        if "authorization" in request.headers:
            request.send(answer("yes"))
        else:
            request.send(answer("no", status=401, headers={"WWW-Authenticate": 'Basic realm="x"'}))

    other = open_site()
    other.pages["/"] = answer("other")
    site.pages |= {"/": answer(MADE + content.format(other=other.url())), "/before": answer(MADE), "/private": private}
    read(reader, site.url("/before"), wait_ms=0)
    tab = kept_tab(reader)
    read(reader, site.url("/"), wait_ms=300)
    assert kept_tab(reader) is None
    assert tab is not None
    read(reader, site.url("/before?again"), wait_ms=0)
    assert kept_tab(reader) is not tab


@pytest.mark.requirement("readdocs:apart")
def test_a_page_that_does_not_let_go_holds_up_nobody(reader: LocalCore, site: Site) -> None:
    stays = "onpagehide = onunload = () => { for (;;); }"
    site.pages |= {"/": answer(f"{MADE}<script>{stays}</script>"), "/next": answer(MADE)}
    read(reader, site.url("/"), wait_ms=0)
    assert "# Made" in read(reader, site.url("/next"), wait_ms=0)
