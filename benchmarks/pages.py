"""Pages: what does reading one cost beside a browser that only loads it, warm and at the first call?

Every address is asked for once, so that no cache answers. A page without scripts, a page that scripts make; one after
the other, and with the pauses that a model makes. The page is served by this process, to all subjects alike.
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks import bare_cdp
from benchmarks.harness import BenchmarkFailure, Plan, Record, Run, Subject, alternate
from benchmarks.memory import Talk
from benchmarks.subjects import Rival, rivals, scorpios
from benchmarks.workloads import FIRST_ID, has_tool, line, plain

PAGES_LARGE, PAGES_PAUSED, PAGES_SMALL = 20, 8, 2
ROUNDS_MAX = 3
WARM = 3
"""Pages before the clock counts: a browser, a worker and their caches."""

PAUSE_S = 0.5
"""Between two calls of a model that does something with what it has read; its own time is ten times as long."""

MARK = "words to read"
MARKS = 800
PARAGRAPHS = f"<p>{f'{MARK}. ' * 20}</p>" * (MARKS // 20)
STATIC = f"<!doctype html><title>Static</title><nav><a href=/>Menu</a></nav><main><h1>Static</h1>{PARAGRAPHS}</main>"
SCRIPT = f"<script>root.innerHTML = `<h1>Made</h1>{PARAGRAPHS}`</script>"
MADE = f"<!doctype html><title>Made</title><div id=root></div>{SCRIPT}"
ONE_TAB, TAB_EACH, DUMP = "bare CDP, one tab", "bare CDP, a tab each", "chromium --dump-dom"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = {"/static": STATIC, "/made": MADE}.get(self.path.partition("?")[0])
        body = (found or "none").encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class _Site(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that closes a connection early is nobody's fault; a page without its words is noticed."""


@contextmanager
def _site() -> Iterator[Callable[[str], str]]:
    """A server; makes addresses that were never asked for."""
    server = _Site(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    numbers = itertools.count()
    try:
        yield lambda path: f"http://127.0.0.1:{server.server_port}{path}?{next(numbers)}"
    finally:
        server.shutdown()
        server.server_close()


def run(plan: Plan) -> Iterator[Record]:
    if not plan.wants("pages") and not plan.only.startswith("pages"):
        return
    if not has_tool("core", "read_docs"):
        plan.note("pages", "the core toolset does not read pages here")
        return
    if bare_cdp.program() is None:
        plan.note("pages", "there is no browser to compare with")
        return
    with _site() as address:
        yield from _warm(plan, "pages static", [ONE_TAB], lambda: address("/static"), 0.0)
        yield from _warm(plan, "pages made", [ONE_TAB, TAB_EACH], lambda: address("/made"), 0.0)
        yield from _warm(plan, "pages made paused", [ONE_TAB, TAB_EACH], lambda: address("/made"), PAUSE_S)
        yield from _first(plan, "pages first", lambda: address("/made"))


def _warm(plan: Plan, name: str, others: Sequence[str], address: Callable[[], str], pause_s: float) -> Iterator[Record]:
    if not plan.wants(name):
        return
    count = PAGES_PAUSED if pause_s else PAGES_LARGE
    if plan.size.rounds < ROUNDS_MAX:
        count, pause_s = PAGES_SMALL, 0.0
    readers = {each.subject.name: each for each in rivals(plan) if name in each.takes_part and each.call is not None}

    def measure(subject: Subject) -> Run:
        if subject.name in readers:
            with Talk(plan, subject) as talk:
                ids = itertools.count(FIRST_ID)
                return _samples(count, pause_s, lambda: _read(talk, address(), next(ids), readers[subject.name]))
        if not subject.ours:
            with bare_cdp.Bare(plan.folder, fresh=subject.name == TAB_EACH) as browser:
                return _samples(count, pause_s, lambda: browser.load(address()))
        with Talk(plan, subject) as talk:
            ids = itertools.count(FIRST_ID)
            return _samples(count, pause_s, lambda: _read(talk, address(), next(ids)))

    subjects = [*map(_browser, others), *scorpios(plan, "core"), *(each.subject for each in readers.values())]
    yield from alternate(name, subjects, min(plan.size.rounds, ROUNDS_MAX), measure, "ms")


def _samples(count: int, pause_s: float, load: Callable[[], tuple[float, str]]) -> Run:
    samples, marks = [], set()
    for number in range(WARM + count):
        took_ms, text = load()
        marks.add(text.count(MARK))
        if number >= WARM:
            samples.append(took_ms)
        time.sleep(pause_s)
    if len(marks) != 1 or min(marks) < MARKS:
        raise BenchmarkFailure(
            f"pages: a page was read with {sorted(marks)} of its words, not with all of them each time"
        )
    return Run(samples, hashlib.sha256(str(marks).encode()).hexdigest())


def _read(talk: Talk, url: str, id_: int, rival: Rival | None = None) -> tuple[float, str]:
    call: dict[str, Any] = {"name": "ReadDocs", "arguments": {}} if rival is None or rival.call is None else rival.call
    asked = [line("tools/call", {"name": call["name"], "arguments": {**call["arguments"], "url": url}}, 2 * id_)]
    if "then" in call:
        asked.append(line("tools/call", {"name": call["then"], "arguments": {}}, 2 * id_ + 1))
    start_s = time.perf_counter()
    answer = [talk.ask(request) for request in asked][-1]
    took_ms = (time.perf_counter() - start_s) * 1000
    return took_ms, str(plain(answer)["content"][0]["text"])


def _first(plan: Plan, name: str, address: Callable[[], str]) -> Iterator[Record]:
    """From the call of a server that has done nothing yet; the other is the whole program, from start to end."""
    if not plan.wants(name):
        return

    def measure(subject: Subject) -> Run:
        if subject.ours:
            with Talk(plan, subject) as talk:
                took_ms, text = _read(talk, address(), FIRST_ID)
        else:
            took_ms, text = _dumped(plan, address())
        if MARK not in text:
            raise BenchmarkFailure(f"{name}: {subject.name} read nothing of the page: {text[:300]!r}")
        return Run([took_ms], hashlib.sha256(str(text.count(MARK)).encode()).hexdigest())

    yield from alternate(
        name, [_browser(DUMP), *scorpios(plan, "core")], min(plan.size.rounds, ROUNDS_MAX), measure, "ms"
    )


def _dumped(plan: Plan, url: str) -> tuple[float, str]:
    program = bare_cdp.program()
    assert program is not None
    profile = tempfile.mkdtemp(dir=plan.folder)
    command = [
        program,
        "--headless",
        "--disable-gpu",
        *bare_cdp.sandbox(),
        f"--user-data-dir={profile}",
        "--dump-dom",
        url,
    ]
    start_s = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    took_ms = (time.perf_counter() - start_s) * 1000
    shutil.rmtree(profile, ignore_errors=True)
    return took_ms, done.stdout


def _browser(name: str) -> Subject:
    return Subject(name, [str(bare_cdp.program())], "chromium")
