"""The guard: how many instructions does one more message cost, and is that over 20 % more than was committed?

valgrind counts a server from source that answers N messages, then one that answers more; the difference is free of the
start, and the same on a busy machine. Counts depend on the Python and on orjson, so a baseline belongs to a runtime;
for another one the check says so and passes. `build/dev.py bench --check --accept` keeps what is counted now.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

from benchmarks.harness import ROOT, SCRATCH, BenchmarkFailure, Plan, Subject, program
from benchmarks.subjects import answer_of, source
from benchmarks.workloads import Workload, handshake, sum_call

BASELINE = ROOT / "benchmarks" / "results" / "instructions.json"
MORE_MAX = 0.2
FEW, MANY = 500, 4000
"""What a thread does once in the start, or not yet, must not count: it was 4 million instructions."""
RUN_S_MAX = 300
AT_ONCE = 2


def workloads() -> Iterator[Workload]:
    yield Workload("ping", "ping")
    yield Workload("sum", "tools/call", sum_call())
    yield Workload("list", "tools/list")
    yield Workload("sum 10 KB", "tools/call", sum_call(10_000))
    yield Workload("sum x64", "tools/call", sum_call(), in_flight=64)


def check(*, accept: bool) -> int:
    """Print a row for each workload; 1 when one costs over MORE_MAX more than the baseline of this runtime."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="count-") as folder:
        counted = count(Plan(Path(folder)))
    baselines = json.loads(BASELINE.read_text("utf-8")) if BASELINE.is_file() else {}
    if accept:
        baselines[runtime()] = counted
        BASELINE.write_text(json.dumps(baselines, indent=1, sort_keys=True) + "\n", "utf-8")
    known = baselines.get(runtime())
    if known is None:
        known = {}
        print(f"No baseline for {runtime()}: `build/dev.py bench --check --accept` makes one.")
    for name, instructions in counted.items():
        print(f"{name:<12} {instructions:>9,} instructions a message{_compared(instructions, known.get(name))}")
    failed = regressions(counted, known)
    for sentence in failed:
        print(sentence, file=sys.stderr)
    return 1 if failed else 0


def regressions(counted: dict[str, int], known: dict[str, int]) -> list[str]:
    """A sentence for each workload that costs over MORE_MAX more than is known of it."""
    return [
        f"{name}: {counted[name]:,} instructions a message, {counted[name] / known[name] - 1:.0%} more than the "
        f"{known[name]:,} of benchmarks/results/instructions.json. Bring it down, or say in the commit what it buys "
        "and run `build/dev.py bench --check --accept`."
        for name in counted
        if name in known and counted[name] > known[name] * (1 + MORE_MAX)
    ]


def _compared(now: int, before: int | None) -> str:
    return "" if before is None else f"  {now / before - 1:+.1%} of {before:,}"


def runtime() -> str:
    """What decides the counts beside our own code."""
    return f"cpython {platform.python_version()} orjson {metadata.version('orjson')} {platform.machine()}"


def count(plan: Plan) -> dict[str, int]:
    """Instructions of one more message, by workload."""
    program("client")  # made once, before several would make it
    for workload in workloads():
        answer_of(plan, source(workload.toolset), workload.request)  # in a fresh clone this compiles: 175 million
    pairs = [(source(workload.toolset), workload, number) for workload in workloads() for number in (FEW, MANY)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        totals = list(pool.map(lambda pair: instructions_of(plan, *pair), pairs))
    return {
        workload.name: round((many - few) / (MANY - FEW))
        for workload, few, many in zip(workloads(), totals[::2], totals[1::2], strict=True)
    }


def instructions_of(plan: Plan, subject: Subject, workload: Workload, number: int) -> int:
    """Instructions of a whole server that answered `number` messages. Raises BenchmarkFailure."""
    name = f"{workload.name.replace(' ', '-')}-{number}"
    said = plan.folder / f"{name}.valgrind"
    home = plan.folder / name
    home.mkdir()
    counting = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={plan.folder / name}.out", f"--log-file={said}"]
    command = [
        *(str(program("client")), "--timeout-s", str(RUN_S_MAX)),
        *("--handshake", str(plan.file(handshake())), "--request", str(plan.file(workload.request))),
        *("--count", str(number), "--in-flight", str(workload.in_flight), "--errors", str(plan.folder / f"{name}.err")),
        *("--", *counting, *subject.command),
    ]
    environment = {**plan.environment(subject), "SCORPIO_HOME": str(home / ".scorpio"), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command, cwd=subject.cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    words = said.read_text("utf-8", "replace") if said.exists() else ""
    found = re.search(r"Collected : (\d+)", words)
    if done.returncode != 0 or found is None:
        raise BenchmarkFailure(f"{workload.name}: {done.stderr.strip()}\n{words[-1500:]}".strip())
    return int(found[1])
