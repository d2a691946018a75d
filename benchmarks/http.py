"""Requests over HTTP, 64 connections at once: how many a second, beside a C loop and the servers of the official SDKs?

The first subject is the limit, a C loop that answers scorpio's own bytes; every ratio is to it. A sample is the time of
64 answers divided by 64, so 1,000,000 divided by it is requests a second. scorpio writes its access log meanwhile, as
it does for everybody; the rivals write none. Whether the answers mean the same is checked; times are not judged.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import (
    CLIENT_TIMEOUT_S,
    BenchmarkFailure,
    Plan,
    Record,
    Run,
    Subject,
    alternate,
    digest,
    program,
)
from benchmarks.stdio import check_answers, run_of
from benchmarks.subjects import http_limit, rivals, scorpios, serving
from benchmarks.workloads import FIRST_ID, line, plain, sum_call

CONNECTIONS = 64
WARM = 3000
START_BOUND_S = 30.0
PORT = re.compile(r"^(?:.*Serving MCP on http://[^:]+:)?(\d{2,5})(?:/mcp)?$", re.MULTILINE)
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
META = "io.modelcontextprotocol/"
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

Headers = dict[str, str]


@dataclass(frozen=True)
class Kind:
    """One way to ask: a request of an era."""

    name: str
    version: str
    params: dict[str, Any]

    @property
    def body(self) -> bytes:
        return line("tools/call", self.params, FIRST_ID + 1)

    def headers(self, port: int) -> Headers:
        """What goes with it; of the legacy era the session is opened now, where the server has sessions."""
        if self.version == MODERN:
            return {**JSON, "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": self.params["name"]}
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
        told = {**JSON, "MCP-Protocol-Version": LEGACY}
        session = _post(port, line("initialize", hello, FIRST_ID), told).get("mcp-session-id")
        told |= {"Mcp-Session-Id": session} if session else {}
        _post(port, line("notifications/initialized", None), told)
        return told


def kinds() -> Iterator[Kind]:
    meta = {
        META + "protocolVersion": MODERN,
        META + "clientInfo": {"name": "benchmark", "version": "1"},
        META + "clientCapabilities": {},
    }
    yield Kind("modern sum x64", MODERN, {**sum_call(), "_meta": meta})
    yield Kind("legacy sum x64", LEGACY, sum_call())


def run(plan: Plan) -> Iterator[Record]:
    """A record for each way to ask and subject. Raises BenchmarkFailure where answers differ that must not."""
    for kind in kinds():
        name = f"http {kind.name}"
        if plan.wants(name):
            yield from _one(plan, name, kind)


def _one(plan: Plan, name: str, kind: Kind) -> Iterator[Record]:
    ours = [serving(subject) for subject in scorpios(plan)]
    others = [rival.subject for rival in rivals(plan, over="http") if rival.plays(name)]
    kept = requests(plan, ours[0], kind, count=1).answer
    subjects = [http_limit(plan, kept + b"\n"), *ours, *others]
    records = alternate(
        name,
        subjects,
        plan.size.rounds,
        lambda subject: requests(plan, subject, kind, plan.size.count_max),
        "us",
        lambda run: digest(plain(run.answer)),
    )
    check_answers(plan, records, subjects, {subject.name for subject in others})
    yield from records


def requests(plan: Plan, subject: Subject, kind: Kind, count: int) -> Run:
    """One run of one server. Raises BenchmarkFailure where it answers with an error."""
    size = plan.size
    with started(plan, subject) as (process, port):
        headers = {"Host": f"127.0.0.1:{port}", **(kind.headers(port) if subject.name != "limit" else JSON)}
        head = "POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        kept = plan.folder / "kept-http"
        command = [str(program("http_client")), "--port", str(port), "--head", str(plan.file(head.encode()))]
        command += ["--body", str(plan.file(kind.body)), "--connections", str(CONNECTIONS), "--keep", str(kept)]
        warm = [*command, "--count", str(min(count, WARM)), "--warm", "0"]
        _client(subject, warm)
        before_s = _processor_s(process.pid)
        wanted = max(count - count % CONNECTIONS, CONNECTIONS)
        measured = _client(
            subject, [*command, "--count", str(wanted), "--warm", "0", "--budget-ms", str(size.budget_ms)]
        )
        cpu_s = _processor_s(process.pid) - before_s
    return run_of(subject, measured, cpu_s * 1e6, kept.read_bytes())


@contextmanager
def started(plan: Plan, subject: Subject) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The server, and the port it says it serves on."""
    said = plan.folder / f"said-{os.urandom(4).hex()}"
    with said.open("wb") as log:
        process = subprocess.Popen(
            [*subject.command],
            cwd=subject.cwd,
            env=plan.environment(subject),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process, _port(process, said, subject)
    finally:
        process.terminate()
        process.communicate(timeout=CLIENT_TIMEOUT_S)
        said.unlink()


def _port(process: subprocess.Popen[bytes], said: Path, subject: Subject) -> int:
    end_s = time.monotonic() + START_BOUND_S
    while time.monotonic() < end_s and process.poll() is None:
        found = PORT.search(said.read_text("utf-8", "replace"))
        if found and _listens(int(found[1])):
            return int(found[1])
        time.sleep(0.01)
    raise BenchmarkFailure(f"{subject.name} does not serve: {said.read_text('utf-8', 'replace')[-1500:]}")


def _listens(port: int) -> bool:
    """A port may be printed before it is listened on."""
    import socket

    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _client(subject: Subject, command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=CLIENT_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise BenchmarkFailure(f"{subject.name}: {done.stderr.strip()}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _processor_s(pid: int) -> float:
    """Processor time of a process until now, all threads, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _post(port: int, body: bytes, headers: Headers) -> Any:
    """The headers of the answer, whatever its case."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", body, headers)
    with urllib.request.urlopen(request, timeout=START_BOUND_S) as response:
        response.read()
        return response.headers
