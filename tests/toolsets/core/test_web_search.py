"""WebSearch over the wire, against engines of our own on loopback: all of them, some of them, none of them."""

from __future__ import annotations

import gzip
import json
import os
import re
import select
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scorpio.settings import SEARCH_ENGINES
from tests.lacking import lacking
from tests.toolsets.core.local_core import LocalCall, LocalCore
from tests.toolsets.core.search_pages import ADVERT, ITEMS, PAGES, SHOWN
from tests.toolsets.core.search_web import (
    EVENT_S_MAX,
    Asked,
    SearchWeb,
    answer_blocked,
    answer_changed,
    answer_empty,
    answer_with_results,
)
from tests.web_site import SEEN_EVERY_S
from tests.wire import MODERN
from tools.core.web_search.query import Query
from tools.core.web_search.reader import WORKER

if TYPE_CHECKING:
    from tests.server_process import ServerProcess
    from tests.wire import Connect, Wire
    from tools.core.web_search.searches import Outcome

pytestmark = pytest.mark.revisions(MODERN)
QUERY = {"query": "sockets"}
PAGE_ENGINES = SEARCH_ENGINES[:7]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked in this process goes straight to loopback."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def web() -> Iterator[SearchWeb]:
    web = SearchWeb()
    yield web
    web.close()


@pytest.fixture
def search(connect: Connect, environ: dict[str, str], web: SearchWeb) -> Callable[..., Wire]:
    """A server of the core toolset whose engines are all at `web`: `search(WEBSEARCH_ENGINES="bing")`."""

    def open_wire(**variables: str) -> Wire:
        environ.update({**web.environment(), **variables})
        return connect("core", handshake=False)

    return open_wire


def _statuses(text: str) -> dict[str, str]:
    """Engine -> how it ended, of the last line."""
    last = text.splitlines()[-1]
    assert last.startswith("Engines: ")
    return dict(part.split(" ") for part in last.removeprefix("Engines: ").split(", "))


# -- all engines


@pytest.mark.requirement("search:eleven")
def test_eleven_engines_answer_and_their_results_are_one_list(search: Callable[..., Wire], web: SearchWeb) -> None:
    result = search().call("WebSearch", QUERY)
    text = result["content"][0]["text"]
    assert result["isError"] is False
    assert _statuses(text) == dict.fromkeys(SEARCH_ENGINES, "ok(3)")
    assert re.findall(r"^\d+\. (.*)\n   (.*)$", text, re.MULTILINE) == [
        (item[0], url) for item, url in zip(ITEMS, SHOWN, strict=True)
    ]
    assert text.count(f"[{', '.join(SEARCH_ENGINES)}]") == 3
    assert ADVERT[0] not in text
    assert sorted(asked.engine for asked in web.asked) == sorted(SEARCH_ENGINES)


@pytest.mark.requirement("search:at-once")
def test_every_engine_is_asked_before_any_has_answered(search: Callable[..., Wire], web: SearchWeb) -> None:
    together = threading.Barrier(len(SEARCH_ENGINES))

    def answer_together(asked: Asked) -> None:
        together.wait(EVENT_S_MAX)
        answer_with_results(asked)

    web.all_answer(answer_together)
    assert _statuses(search().text("WebSearch", QUERY)) == dict.fromkeys(SEARCH_ENGINES, "ok(3)")


@pytest.mark.requirement("search:languages")
@pytest.mark.parametrize(
    ("query", "market"),
    [
        ("非同期 ソケット", "ja-JP"),
        ("сокеты", "ru-RU"),
        ("مقابس", "ar-SA"),
        ("ñandú & 50% #1 +x", "en-US"),
        ("🦀 crates", "en-US"),
    ],
)
@pytest.mark.transports("in-process", "frozen")
def test_a_query_in_any_script_reaches_every_engine_as_it_is(
    search: Callable[..., Wire], web: SearchWeb, query: str, market: str
) -> None:
    assert query in search().text("WebSearch", {"query": query})
    names = {"yahoo": "p", "startpage": "query", "mwmbl": "s", "wikipedia": "gsrsearch", "hackernews": "query"}
    assert {asked.engine: asked.fields[names.get(asked.engine, "q")] for asked in web.asked} == dict.fromkeys(
        SEARCH_ENGINES, query
    )
    assert {asked.headers["accept-language"].partition(",")[0] for asked in web.asked} == {market}
    assert web.of("bing").fields["setmkt"] == market


@pytest.mark.requirement("search:who-asks")
@pytest.mark.transports("in-process", "frozen")
def test_pages_are_asked_for_as_a_browser_and_interfaces_under_our_own_name(
    search: Callable[..., Wire], web: SearchWeb
) -> None:
    search().text("WebSearch", QUERY)
    agents = {asked.engine: asked.headers["user-agent"] for asked in web.asked}
    assert all(agents[name].startswith("Mozilla/5.0") for name in PAGE_ENGINES)
    assert all(agents[name].startswith("scorpio/") for name in SEARCH_ENGINES[7:])
    assert web.of("duckduckgo").method == "POST"
    assert [asked.headers for asked in web.asked if "cookie" in asked.headers] == []


# -- some engines fail


@pytest.mark.requirement("search:one-failure")
def test_one_failing_engine_costs_the_others_nothing(search: Callable[..., Wire], web: SearchWeb) -> None:
    def hang_up(asked: Asked) -> None:
        asked.begin(content_length="1000")
        asked.write(b"<html>")

    web.roles |= {
        "duckduckgo": answer_blocked,
        "bing": answer_empty,
        "brave": answer_changed,
        "google": hang_up,
        "mojeek": lambda asked: asked.answer("", 500),
        "startpage": lambda asked: asked.answer(b"\x00\xff" * 500),
        "yahoo": lambda asked: asked.answer("", 429),
        "mwmbl": lambda asked: asked.answer('[{"url": 7}]'),
        "wikipedia": lambda asked: asked.answer("<html>502 Bad Gateway</html>"),
    }
    result = search().call("WebSearch", QUERY)
    assert result["isError"] is False
    assert _statuses(result["content"][0]["text"]) == {
        "duckduckgo": "blocked",
        "bing": "empty",
        "brave": "error",
        "google": "error",
        "mojeek": "error",
        "startpage": "error",
        "yahoo": "blocked",
        "mwmbl": "error",
        "wikipedia": "error",
        "stackexchange": "ok(3)",
        "hackernews": "ok(3)",
    }


@pytest.mark.slow
@pytest.mark.requirement("search:time")
@pytest.mark.transports("frozen")
def test_a_hanging_engine_is_a_timeout_and_the_rest_is_answered(search: Callable[..., Wire], web: SearchWeb) -> None:
    """Six real seconds: the limit of the executable, which no setting changes."""
    web.roles["yahoo"] = web.hold
    text = search().text("WebSearch", QUERY)
    assert _statuses(text) == {**dict.fromkeys(SEARCH_ENGINES, "ok(3)"), "yahoo": "timeout"}
    assert web.gone.wait(EVENT_S_MAX)


@pytest.mark.requirement("search:all-failed")
def test_all_engines_blocked_is_an_error_with_reasons_and_the_way_out(
    search: Callable[..., Wire], web: SearchWeb
) -> None:
    web.all_answer(answer_blocked)
    result = search().call("WebSearch", QUERY)
    text = result["content"][0]["text"]
    assert result["isError"] is True
    assert _statuses(text) == dict.fromkeys(SEARCH_ENGINES, "blocked")
    assert "SEARXNG_URL" in text
    assert [line.split(":")[0] for line in text.splitlines() if ": blocked, " in line] == [*SEARCH_ENGINES]


@pytest.mark.requirement("search:all-failed")
@pytest.mark.transports("in-process")
def test_engines_without_a_connection_are_an_error_that_says_so(connect: Connect, environ: dict[str, str]) -> None:
    environ.update({f"WEBSEARCH_ENDPOINT_{name.upper()}": "http://127.0.0.1:1/x" for name in SEARCH_ENGINES})
    environ["WEBSEARCH_ENDPOINT_BING"] = "http://nowhere.invalid/"
    result = connect("core", handshake=False).call("WebSearch", QUERY)
    assert result["isError"] is True
    assert "bing: error, its name has no address here" in result["content"][0]["text"]
    assert "brave: error, no connection" in result["content"][0]["text"]


@pytest.mark.requirement("search:all-failed")
@pytest.mark.transports("in-process")
def test_nothing_found_anywhere_is_an_answer(search: Callable[..., Wire], web: SearchWeb) -> None:
    web.all_answer(answer_empty)
    result = search().call("WebSearch", QUERY)
    assert result["isError"] is False
    assert result["content"][0]["text"].startswith("No results for: sockets\n")


# -- what it is configured to do


@pytest.mark.requirement("search:chosen-engines")
@pytest.mark.transports("in-process", "frozen")
def test_only_the_chosen_engines_are_asked(search: Callable[..., Wire], web: SearchWeb) -> None:
    text = search(WEBSEARCH_ENGINES="hackernews, Bing").text("WebSearch", QUERY)
    assert text.splitlines()[-1] == "Engines: bing ok(3), hackernews ok(3)"
    assert len(web.asked) == 2


@pytest.mark.requirement("search:searxng")
@pytest.mark.parametrize("path", ["/searxng", "/searxng/", "/searxng/search"])
@pytest.mark.transports("in-process", "frozen")
def test_an_own_searxng_is_asked_too(search: Callable[..., Wire], web: SearchWeb, path: str) -> None:
    text = search(WEBSEARCH_ENGINES="mojeek", SEARXNG_URL=web.address + path).text("WebSearch", QUERY)
    assert text.splitlines()[-1] == "Engines: mojeek ok(3), searxng ok(3)"
    assert (web.of("searxng").path, web.of("searxng").fields) == (
        "/searxng/search",
        {"q": "sockets", "format": "json"},
    )


@pytest.mark.requirement("search:searxng")
@pytest.mark.transports("in-process")
def test_an_own_searxng_may_be_the_only_engine(search: Callable[..., Wire], web: SearchWeb) -> None:
    wire = search(WEBSEARCH_ENGINES="searxng", SEARXNG_URL=f"{web.address}/searxng")
    assert wire.text("WebSearch", QUERY).splitlines()[-1] == "Engines: searxng ok(3)"


@pytest.mark.requirement("search:searxng")
@pytest.mark.transports("in-process")
def test_searxng_alone_without_an_address_is_an_error_that_says_what_to_set(search: Callable[..., Wire]) -> None:
    result = search(WEBSEARCH_ENGINES="searxng").call("WebSearch", QUERY)
    assert result["isError"] is True
    assert "Set SEARXNG_URL" in result["content"][0]["text"]


@pytest.mark.requirement("search:searxng")
@pytest.mark.transports("in-process")
@pytest.mark.parametrize(
    ("role", "reason"),
    [
        (
            lambda asked: asked.answer("Forbidden", 403),
            "HTTP 403: its settings.yml must list json under search.formats",
        ),
        (
            lambda asked: asked.answer('{"results": [], "unresponsive_engines": [["bing", "timeout"]]}'),
            "none of its engines answered",
        ),
    ],
)
def test_a_searxng_that_cannot_answer_says_why(
    search: Callable[..., Wire], web: SearchWeb, role: Callable[[Asked], None], reason: str
) -> None:
    web.roles["searxng"] = role
    wire = search(WEBSEARCH_ENGINES="searxng", SEARXNG_URL=f"{web.address}/searxng")
    assert f"searxng: error, {reason}" in wire.text("WebSearch", QUERY)


@pytest.mark.requirement("search:untrusted-project")
@pytest.mark.transports("stdio", "frozen")
def test_a_projects_file_cannot_send_queries_elsewhere(
    connect: Connect, environ: dict[str, str], web: SearchWeb, tmp_path: Path
) -> None:
    other = SearchWeb()
    project = tmp_path / "project"
    (project / ".scorpio").mkdir(parents=True)
    (project / ".git").mkdir()
    lines = [
        *(f"{name}={value}" for name, value in other.environment().items()),
        f"SEARXNG_URL={other.address}/searxng",
    ]
    (project / ".scorpio" / "scorpio-env.txt").write_text("\n".join([*lines, "WEBSEARCH_ENGINES=bing,mojeek"]))
    home = Path(environ["SCORPIO_HOME"])
    home.mkdir(exist_ok=True)
    (home / "scorpio-env.txt").write_text("\n".join(f"{name}={value}" for name, value in web.environment().items()))
    environ["SCORPIO_CWD"] = str(project)
    wire = connect("core", handshake=False)
    text = wire.text("WebSearch", QUERY)
    other.close()
    assert text.splitlines()[-1] == "Engines: bing ok(3), mojeek ok(3)"  # fewer engines is a choice it has
    assert (other.asked, len(web.asked)) == ([], 2)
    warned = re.findall(r"scorpio-env\.txt:\d+: (\w+) may not be loosened by a project's file", wire.stderr())
    assert sorted(warned) == sorted([*web.environment(), "SEARXNG_URL"])


# -- what is asked of it


@pytest.mark.requirement("search:bad-query")
@pytest.mark.parametrize("query", ["", "  \n ", "a\x00b", "\x1b[31m", "x" * 2000, "語" * 5000])
@pytest.mark.transports("in-process", "frozen")
def test_a_bad_query_is_an_error_and_asks_nobody(search: Callable[..., Wire], web: SearchWeb, query: str) -> None:
    result = search().call("WebSearch", {"query": query})
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("query ")
    assert web.asked == []


@pytest.mark.transports("in-process")
@pytest.mark.parametrize("arguments", [{}, {"query": None}, {"query": ["sockets"]}, {"query": {"q": "sockets"}}, None])
def test_a_query_that_is_no_text_is_an_argument_fault(search: Callable[..., Wire], arguments: object) -> None:
    result = search().call("WebSearch", arguments)
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Invalid arguments for WebSearch: /query ")


@pytest.mark.requirement("search:private")
@pytest.mark.transports("stdio", "frozen")
def test_a_query_stands_in_no_log_and_in_no_reason(search: Callable[..., Wire], web: SearchWeb) -> None:
    web.all_answer(lambda asked: asked.answer("", 302, location="ftp://elsewhere.example/?q=geheim"))
    wire = search(LOG_LEVEL="info", SEARXNG_URL=f"{web.address.replace('://', '://me:pass@')}/searxng")
    text = wire.text("WebSearch", {"query": "geheimnis"})
    assert text.count("geheim") == 1
    assert "pass" not in text
    assert wire.close() == 0
    assert "geheim" not in wire.stderr()


# -- progress and cancellation


@pytest.mark.requirement("search:progress")
def test_progress_counts_the_engines_that_have_answered(search: Callable[..., Wire]) -> None:
    wire = search()
    wire.text("WebSearch", QUERY, meta={"progressToken": "p"})
    told = wire.progress("p")
    assert {report["total"] for report in told} == {len(SEARCH_ENGINES)}
    assert told[0]["progress"] == 0
    assert told[0]["message"] == f"searching: waiting for {', '.join(SEARCH_ENGINES)}"
    assert [report["progress"] for report in told] == sorted({report["progress"] for report in told})


@pytest.mark.requirement("search:progress")
@pytest.mark.transports("in-process")
def test_without_a_token_there_is_no_progress(search: Callable[..., Wire]) -> None:
    wire = search()
    wire.text("WebSearch", QUERY)
    assert [m for m in wire.notifications if m["method"] == "notifications/progress"] == []


@pytest.mark.requirement("search:cancel")
def test_a_cancelled_search_ends_its_requests_and_is_not_answered(search: Callable[..., Wire], web: SearchWeb) -> None:
    ended = threading.Semaphore(0)
    begun = threading.Semaphore(0)

    def hold(asked: Asked) -> None:
        begun.release()
        asked.wait_until_closed()
        ended.release()

    web.all_answer(hold)
    wire = search()
    id_ = wire.start("tools/call", {"name": "WebSearch", "arguments": QUERY})
    assert all(begun.acquire(timeout=EVENT_S_MAX) for _ in SEARCH_ENGINES)
    wire.cancel(id_)
    assert all(ended.acquire(timeout=EVENT_S_MAX) for _ in SEARCH_ENGINES)
    web.all_answer(answer_with_results)
    assert _statuses(wire.text("WebSearch", QUERY)) == dict.fromkeys(SEARCH_ENGINES, "ok(3)")
    assert wire.answers_to(id_) == []


def _readers(pid: int) -> list[int]:
    """Reading processes that `pid` has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
            found += [int(c) for c in children if WORKER.encode() in Path(f"/proc/{c}/cmdline").read_bytes()]
        except OSError:  # it has just ended
            continue
    return found


@pytest.mark.requirement("search:cancel")
@pytest.mark.transports("in-process")
def test_a_search_leaves_no_process_however_it_ends(search: Callable[..., Wire], web: SearchWeb) -> None:
    wire = search()
    wire.text("WebSearch", QUERY)
    assert _readers(os.getpid()) == []
    begun = threading.Event()

    def hold(asked: Asked) -> None:
        begun.set()
        asked.wait_until_closed()
        web.gone.set()

    web.roles["bing"] = hold
    id_ = wire.start("tools/call", {"name": "WebSearch", "arguments": QUERY})
    assert begun.wait(EVENT_S_MAX)
    wire.cancel(id_)
    assert web.gone.wait(EVENT_S_MAX)
    wire.close()
    assert _readers(os.getpid()) == []


@pytest.mark.faults
@pytest.mark.requirement("search:cancel")
def test_a_killed_server_takes_its_reading_process_along(
    start: Callable[..., ServerProcess], environ: dict[str, str], web: SearchWeb
) -> None:
    web.all_answer(web.hold)
    web.roles["bing"] = answer_with_results  # what was read shows that the process is there
    environ.update(web.environment())
    server = start("core", environ=environ)
    server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": _modern_call()})
    told = [json.loads(line)["params"]["progress"] for line in server.lines(2)]
    (reader,) = _readers(server.pid)
    watched = os.pidfd_open(reader)
    ended = select.poll()
    ended.register(watched, select.POLLIN)
    server.process.kill()
    assert ended.poll(EVENT_S_MAX * 1000)
    os.close(watched)
    assert web.gone.wait(EVENT_S_MAX)
    assert told == [0, 1]


def _modern_call() -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "p",
    }
    return {"name": "WebSearch", "arguments": QUERY, "_meta": meta}


# -- hostile engines


@pytest.fixture
def core(web: SearchWeb, tmp_path: Path) -> Iterator[LocalCore]:
    """The toolset without a wire, so that a test may set the limits of time."""
    core = LocalCore(tmp_path / "home", tmp_path, **web.settings())
    yield core
    core.close()


def _outcomes(core: LocalCore, **limits: float) -> dict[str, Outcome]:
    outcomes = core.wait(core.state.searches.search(Query("sockets"), lambda waiting, asked: None, **limits))
    return {outcome.engine.name: outcome for outcome in outcomes}


@pytest.mark.requirement("search:time")
@pytest.mark.parametrize("how", ["says nothing", "never ends its head", "drips"])
def test_an_engine_that_is_not_done_in_its_time_is_a_timeout(core: LocalCore, web: SearchWeb, how: str) -> None:
    def never_ending_head(asked: Asked) -> None:
        asked._handler.connection.sendall(b"HTTP/1.1 200 OK\r\nx: ")
        asked.wait_until_closed()

    def drip(asked: Asked) -> None:
        asked.begin(content_length="1000000")
        asked.write(b"<p>")
        asked.wait_until_closed()

    web.roles["bing"] = {"says nothing": web.hold, "never ends its head": never_ending_head, "drips": drip}[how]
    outcomes = _outcomes(core, engine_ms_max=3000)
    assert (outcomes["bing"].status, outcomes["bing"].reason) == ("timeout", "no answer within 3 s")
    assert {name: o.status for name, o in outcomes.items() if name != "bing"} == {
        name: "ok" for name in SEARCH_ENGINES if name != "bing"
    }


@pytest.mark.requirement("search:time")
def test_a_search_ends_at_its_own_limit_whatever_the_engines_may_take(core: LocalCore, web: SearchWeb) -> None:
    web.all_answer(web.hold)
    outcomes = _outcomes(core, engine_ms_max=10 * 60_000, search_ms_max=500)
    assert {outcome.status for outcome in outcomes.values()} == {"timeout"}
    assert {outcome.reason for outcome in outcomes.values()} == {"not done when the search ended after 0.5 s"}
    assert web.gone.wait(EVENT_S_MAX)


@pytest.mark.requirement("search:bounded")
@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_an_endless_page_is_read_up_to_its_bound_and_left(core: LocalCore, web: SearchWeb, encoding: str) -> None:
    """2 MiB of an endless page, or of one that is 200 MB unpacked; the results stand at its start."""
    start = PAGES["mojeek"].results().replace("</body></html>", "<p>").encode()

    def endless(asked: Asked) -> None:
        asked.begin(content_type="text/html")
        while True:
            asked.write(start)

    def bomb(asked: Asked) -> None:
        asked.answer(gzip.compress(start + b" " * 200_000_000, 1), content_encoding="gzip")

    web.roles["mojeek"] = bomb if encoding else endless
    outcomes = _outcomes(core, engine_ms_max=EVENT_S_MAX * 1000, search_ms_max=EVENT_S_MAX * 1000)
    assert (outcomes["mojeek"].status, len(outcomes["mojeek"].hits)) == ("ok", 3)


@pytest.mark.requirement("search:bounded")
@pytest.mark.parametrize("page", ["<div>" * 400_000, "<div " + "a=1 b=2 ".join(map(str, range(60_000))) + ">"])
def test_a_page_made_to_be_slow_costs_its_own_engine_only(core: LocalCore, web: SearchWeb, page: str) -> None:
    """The parser takes minutes for either. The others' pages wait behind it."""
    sent = threading.Event()

    def slow(asked: Asked) -> None:
        asked.answer(page)
        sent.set()

    def later(asked: Asked) -> None:
        sent.wait(EVENT_S_MAX)
        answer_with_results(asked)

    web.all_answer(later)
    web.roles["brave"] = slow
    outcomes = _outcomes(core, search_ms_max=EVENT_S_MAX * 1000)
    assert outcomes["brave"].status == "error"
    assert {name: o.status for name, o in outcomes.items() if name != "brave"} == {
        name: "ok" for name in SEARCH_ENGINES if name != "brave"
    }


@pytest.mark.requirement("search:one-failure")
def test_a_reading_process_that_dies_costs_the_page_it_read(core: LocalCore, web: SearchWeb) -> None:
    answered = threading.Event()

    def killing(asked: Asked) -> None:
        for pid in _readers(os.getpid()):
            os.kill(pid, 9)
        asked.answer(PAGES["bing"].results())
        answered.set()

    def after(asked: Asked) -> None:
        answered.wait(EVENT_S_MAX)
        answer_with_results(asked)

    web.all_answer(after)
    web.roles["bing"] = killing
    statuses = {name: outcome.status for name, outcome in _outcomes(core, engine_ms_max=EVENT_S_MAX * 1000).items()}
    assert sorted(statuses.values()) in (["error", *["ok"] * 10], ["ok"] * 11)  # killed before it had begun


@pytest.mark.requirement("search:one-failure")
def test_a_fault_of_our_own_in_one_engine_is_that_engines(core: LocalCore, monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.core.web_search.engines import bing

    def broken(query: Query) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(bing.ENGINE, "request", broken)
    outcomes = _outcomes(core)
    assert (outcomes["bing"].status, outcomes["bing"].reason) == ("error", "our own fault: ZeroDivisionError")
    assert outcomes["brave"].status == "ok"


@pytest.mark.parametrize(
    ("location", "status", "reason"),
    [
        ("/sorry/index?continue=x", "blocked", "redirects to a page that asks for a person"),
        ("https://consent.google.com/ml?continue=x", "blocked", "redirects to a page that asks for a person"),
        ("/captcha", "blocked", "redirects to a page that asks for a person"),
        ("http://169.254.169.254/latest/meta-data", "error", "redirects to another site, 169.254.169.254"),
        ("https://elsewhere.example/", "error", "redirects to another site, elsewhere.example"),
        ("file:///etc/passwd", "error", "redirects to a file address"),
        ("//[", "error", "redirects to no address"),
        ("/google/again", "error", "more than 5 redirects"),
    ],
)
@pytest.mark.requirement("search:own-site")
def test_a_redirect_away_from_the_results_is_not_followed(
    core: LocalCore, web: SearchWeb, location: str, status: str, reason: str
) -> None:
    web.roles["google"] = lambda asked: asked.answer("", 302, location=location)
    outcome = _outcomes(core)["google"]
    assert (outcome.status, outcome.reason) == (status, reason)
    assert {asked.path for asked in web.asked if asked.engine == "google"} <= {"/google", "/google/again"}


@pytest.mark.requirement("search:own-site")
def test_a_cookie_set_by_a_redirect_is_sent_on_and_forgotten_with_the_search(core: LocalCore, web: SearchWeb) -> None:
    """Yahoo's first answer to everybody."""

    def yahoo(asked: Asked) -> None:
        if "YBV=v0.2" in asked.headers.get("cookie", ""):
            answer_with_results(asked)
        else:
            asked.answer("", 307, location="/yahoo?p=sockets", set_cookie="YBV=v0.2; Path=/; Max-Age=86400")

    web.roles["yahoo"] = yahoo
    assert [_outcomes(core)["yahoo"].status for _ in range(2)] == ["ok", "ok"]
    assert ["cookie" in asked.headers for asked in web.asked if asked.engine == "yahoo"] == [False, True, False, True]


@pytest.mark.requirement("search:own-site")
def test_a_form_is_sent_again_only_where_the_redirect_says_so(core: LocalCore, web: SearchWeb) -> None:
    for status, method in ((307, "POST"), (303, "GET")):
        web.asked.clear()
        web.roles["duckduckgo"] = lambda asked, status=status: (  # type: ignore[misc]
            answer_with_results(asked)
            if asked.path.endswith("there")
            else asked.answer("", status, location="/duckduckgo/there")
        )
        assert _outcomes(core)["duckduckgo"].status == "ok"
        assert [asked.method for asked in web.asked if asked.path.endswith("there")] == [method]


@pytest.mark.requirement("search:rest")
@pytest.mark.parametrize(
    ("engine", "role"),
    [
        ("brave", lambda asked: asked.answer("", 429, retry_after="120")),
        ("mojeek", lambda asked: asked.answer("", 503, retry_after="120")),
        ("stackexchange", lambda asked: asked.answer(json.dumps({"items": [], "backoff": 120}))),
    ],
)
def test_an_engine_that_asks_for_rest_is_left_alone(
    core: LocalCore, web: SearchWeb, engine: str, role: Callable[[Asked], None]
) -> None:
    web.roles[engine] = role
    _outcomes(core)
    again = _outcomes(core)[engine]
    assert again.status == "blocked"
    assert re.fullmatch(r"asked to be left alone for 1[12]\d s more", again.reason)
    assert [asked.engine for asked in web.asked].count(engine) == 1


@pytest.mark.parametrize("value", ["0", "-5", "soon", "Wed, 21 Oct 2026 07:28:00 GMT", "9" * 40, "١٢"])
def test_a_rest_that_is_no_number_of_seconds_is_none(core: LocalCore, web: SearchWeb, value: str) -> None:
    web.roles["brave"] = lambda asked: asked.answer("", 429, retry_after=value.encode().decode("latin-1"))
    assert [_outcomes(core)["brave"].reason for _ in range(2)] == ["HTTP 429", "HTTP 429"]


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        *(("utf-8", "utf-8"), ("shift_jis", "shift_jis"), ("euc-jp", "euc_jp"), ('"UTF-16"', "utf-16")),
        *(("nonsense", "utf-8"), ("zlib", "utf-8"), ("punycode", "utf-8"), ("undefined", "utf-8"), ("cp0", "utf-8")),
    ],
)
def test_a_page_is_read_in_the_charset_it_names(core: LocalCore, web: SearchWeb, charset: str, encoding: str) -> None:
    page = PAGES["brave"].results([("非同期ソケット入門", "https://a.example/", "前に")])
    data = page.encode(encoding, "xmlcharrefreplace")
    web.roles["brave"] = lambda asked: asked.answer(data, content_type=f"text/html; charset={charset}")
    assert _outcomes(core)["brave"].hits[0][:3] == ["非同期ソケット入門", "https://a.example/", "前に"]


def test_searches_beyond_four_wait_and_are_all_answered(core: LocalCore, web: SearchWeb) -> None:
    arrived, released = threading.Semaphore(0), threading.Event()

    def hold(asked: Asked) -> None:
        arrived.release()
        released.wait(EVENT_S_MAX)
        answer_with_results(asked)

    web.roles["bing"] = hold
    calls = [_call(core) for _ in range(8)]
    running = [core.begin(call, QUERY) for call in calls]
    assert all(arrived.acquire(timeout=EVENT_S_MAX) for _ in range(4))
    said = [call.activity.partition(":")[0] for call in calls]
    released.set()
    assert {done.result(EVENT_S_MAX).is_error for done in running} == {False}
    assert said == ["searching"] * 4 + ["waiting"] * 4


def _call(core: LocalCore) -> LocalCall:
    call = LocalCall(core, "WebSearch", "stdio")
    call.progress = lambda *_: None  # type: ignore[method-assign]
    return call


# -- certificates


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """(address, certificate) of a server that nobody has vouched for."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    program = shutil.which("openssl") or lacking("openssl, which makes the certificate, is not installed")
    request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([program, *request.split(), *files], check=True, capture_output=True)
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "mojeek").write_text(PAGES["mojeek"].results())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(tmp_path / "served"))

        def log_message(self, *_: Any) -> None:
            pass

    class Server(HTTPServer):
        def handle_error(self, *_: Any) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(SEEN_EVERY_S,), daemon=True)
    thread.start()
    yield f"https://localhost:{server.server_address[1]}/mojeek", certificate
    server.shutdown()
    server.server_close()
    thread.join(EVENT_S_MAX)


@pytest.mark.requirement("search:certificates")
@pytest.mark.transports("in-process", "frozen")
def test_a_certificate_that_nobody_vouches_for_is_an_error(
    search: Callable[..., Wire], secure: tuple[str, Path]
) -> None:
    wire = search(WEBSEARCH_ENGINES="mojeek", WEBSEARCH_ENDPOINT_MOJEEK=secure[0])
    assert "mojeek: error, its certificate is not trusted" in wire.text("WebSearch", QUERY)


@pytest.mark.requirement("search:certificates")
@pytest.mark.transports("stdio", "frozen")
def test_ssl_cert_file_names_who_else_is_trusted(search: Callable[..., Wire], secure: tuple[str, Path]) -> None:
    address, certificate = secure
    wire = search(WEBSEARCH_ENGINES="mojeek", WEBSEARCH_ENDPOINT_MOJEEK=address, SSL_CERT_FILE=str(certificate))
    assert wire.text("WebSearch", QUERY).splitlines()[-1] == "Engines: mojeek ok(3)"


# -- the examination


@pytest.mark.requirement("search:examination")
def test_an_examination_tells_of_every_engine_whether_its_parser_still_reads_it(
    core: LocalCore, web: SearchWeb
) -> None:
    web.roles |= {"bing": answer_changed, "google": answer_blocked, "mwmbl": answer_empty}
    findings = core.wait(core.state.examinations()["search"]())
    assert [(name, works) for name, works, _ in findings] == [
        (name, name not in ("bing", "google", "mwmbl")) for name in SEARCH_ENGINES
    ]
    said = {name: text for name, _, text in findings}
    assert re.fullmatch(r"ok\(3\) in \d+ ms; first: Sockets & <streams> https://docs\.example\.org/.*", said["brave"])
    assert "of another form than is known" in said["bing"]
    assert "newer scorpio" in said["bing"]
    assert "captcha" in said["google"]
    assert "parser may have lost its page" in said["mwmbl"]
