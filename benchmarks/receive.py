"""In process, without pipes: what do `Server.receive`, the framer, the validators and each instant tool cost?

Three ways to run: `run.py` alternates checkouts in child processes; `pytest benchmarks/receive.py` shows one checkout
with pytest-benchmark; `python benchmarks/receive.py --case NAME --tree DIR` is the child. Every case checks its answer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)  # not benchmarks/, whose modules have common names

from benchmarks import workloads
from benchmarks.workloads import FIRST_ID, ROOT, handshake, line, sum_call

if TYPE_CHECKING:
    import pytest
    from pytest_benchmark.fixture import BenchmarkFixture

    from benchmarks.harness import Plan, Record, Run, Subject

    Step = Callable[[], bytes]

CHUNK_BYTES = 64 * 1024
LINE_BYTES = 10 * 1024 * 1024
SAMPLES = 20_000
ROUNDS_MAX = 3
"""In process a round is like the next."""

SLOW = {"receive sum 1 MB": 300, "receive sum 10 KB": 5_000, "frame 10 MiB": 100}
"""Samples of the cases that take long."""

FIXTURES = ("conformance", "everything", "xmpp")
"""Toolsets that exist for tests, and one whose answers tell the time: nobody waits for them."""


# -- the cases: a name, and a function that makes the step to be measured. A step gives bytes that show what it did.


def cases() -> dict[str, Callable[[], Step]]:
    requests = {
        "receive ping": ("sum", "ping", None),
        "receive list": ("sum", "tools/list", None),
        "receive sum": ("sum", "tools/call", sum_call()),
        "receive sum 10 KB": ("sum", "tools/call", sum_call(10_000)),
        "receive sum 1 MB": ("sum", "tools/call", sum_call(1_000_000)),
        "receive modern sum": ("sum", "tools/call", _modern(sum_call())),
        "receive unknown": ("sum", "no/such/method", None),
    }
    if workloads.has_toolset("core"):
        requests["receive list core"] = ("core", "tools/list", None)
    found: dict[str, Callable[[], Step]] = {"frame 10 MiB": _frame}
    for toolset, name, arguments, slow in _tools_with_cases():
        found[f"check {name}"] = partial(_check, toolset, name, arguments)
        if not slow and f"receive {name}" not in requests:
            requests[f"receive {name}"] = (toolset, "tools/call", {"name": name, "arguments": arguments})
    for name, (toolset, method, params) in requests.items():
        found[name] = partial(_receive, toolset, line(method, params, FIRST_ID))
    call = {"method": "tools/call", "params": sum_call(), "jsonrpc": "2.0", "id": FIRST_ID}
    found["receive sum id last"] = partial(_receive, "sum", json.dumps(call, separators=(",", ":")).encode() + b"\n")
    found["receive sum spaced"] = partial(_receive, "sum", json.dumps(call).encode() + b"\n")
    return found


def _tools_with_cases() -> Iterator[tuple[str, str, dict[str, Any], bool]]:
    """(toolset, tool, the arguments of its first case, slow) of all that is compiled."""
    from scorpio.toolset import Toolset

    for toolset in sorted({*workloads.toolsets()} - {*FIXTURES}):
        slow = {entry.name: entry.slow for entry in Toolset(toolset).tools}
        for descriptor in sorted((ROOT / "tools" / toolset).glob("*/tool.json")):
            name = json.loads(descriptor.read_text("utf-8"))["name"]
            examples = descriptor.with_name("cases.json")
            rows = json.loads(examples.read_text("utf-8")) if examples.is_file() else []
            if name in slow and rows:
                yield toolset, name, rows[0].get("arguments", {}), slow[name]


def _modern(params: dict[str, Any]) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {**params, "_meta": meta}


def _receive(toolset: str, frame: bytes) -> Step:
    """A server that has been shaken hands with; the step is one frame in, one answer out."""
    from scorpio.app import build_server
    from scorpio.server.peer import Peer

    written: list[bytes] = []
    server = build_server((toolset,))
    peer = Peer(written.append, "benchmark")
    server.open_peer(peer)
    for message in handshake().splitlines():
        server.receive(message, peer)
    server.warm()
    receive = server.receive

    def step() -> bytes:
        answer = receive(frame, peer)
        if answer is None:
            raise ValueError(f"no answer at once to {frame[:200]!r}")
        return answer

    return step


def _frame() -> Step:
    from scorpio.protocol.framing import LineFramer

    body = b"x" * (LINE_BYTES - 1) + b"\n"
    chunks = [body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES)]

    def step() -> bytes:
        framer = LineFramer()
        frames = [frame for chunk in chunks for frame in framer.feed(chunk)]
        return b"%d lines, %d bytes" % (len(frames), len(frames[0].rstrip()))

    return step


def _check(toolset: str, name: str, arguments: dict[str, Any]) -> Step:
    from scorpio.toolset import Toolset

    entry = next(entry for entry in Toolset(toolset).tools if entry.name == name)
    check = entry.check

    def step() -> bytes:
        return repr(check(arguments)).encode()

    return step


# -- one checkout, in this process


def measured(name: str, count: int) -> tuple[list[int], str, int]:
    """Nanoseconds of each step, a hash of what it gave, and how many steps gave something else."""
    step = cases()[name]()
    first = step()
    for _ in range(count // 10):
        step()
    clock = time.perf_counter_ns
    samples = []
    differing = 0
    for _ in range(count):
        started = clock()
        given = step()
        samples.append(clock() - started)
        differing += given != first
    return samples, hashlib.sha256(first).hexdigest()[:16], differing


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", cases())


def test_case(benchmark: BenchmarkFixture, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCORPIO_HOME", str(tmp_path))
    step = cases()[case]()
    given = benchmark(step)
    benchmark.extra_info["hash"] = hashlib.sha256(given).hexdigest()[:16]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure one case in this process; print it as JSON.")
    parser.add_argument("--case", required=True)
    parser.add_argument("--count", type=int, default=SAMPLES)
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout whose scorpio and tools are measured")
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(options.tree))
    samples, hash_, differing = measured(options.case, options.count)
    print(json.dumps({"samples_ns": samples, "hash": hash_, "differing": differing}))
    sys.stdout.flush()
    os._exit(0)  # a server's threads have nothing to finish here


# -- checkouts in turn, for run.py


def run(plan: Plan) -> Iterator[Record]:
    from benchmarks.harness import alternate
    from benchmarks.subjects import earlier, source

    subjects = [source(), *(earlier(revision) for revision in plan.against)]
    for name in cases():
        if plan.wants(name):
            count = min(SLOW.get(name, SAMPLES), plan.size.count_max)
            yield from alternate(
                name, subjects, min(plan.size.rounds, ROUNDS_MAX), partial(_child, plan, name, count), "us"
            )


def _child(plan: Plan, name: str, count: int, subject: Subject) -> Run:
    from benchmarks.harness import BenchmarkFailure, Run

    command = [sys.executable, __file__, "--case", name, "--count", str(count), "--tree", str(subject.cwd)]
    done = subprocess.run(command, env=plan.environment(subject), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchmarkFailure(f"{name}, {subject.name}: {done.stderr.strip()[-1500:]}")
    said = json.loads(done.stdout)
    return Run([sample / 1000 for sample in said["samples_ns"]], said["hash"], said["differing"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
