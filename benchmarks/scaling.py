"""Scaling: does the cost grow at most in proportion to what is asked?

One subject, the executable where it can be measured. 1 to 256 calls in flight, messages of 1 KB to 32 MB, lists of 13
to 1,000 tools, 1 to 64 background tasks. A record's number is the cost of the whole (all calls of a round, the whole
message, list or set of tasks); `grown_too_fast` says where a step cost more than its part.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import ROOT, Plan, Record, Run, Subject, alternate, commit
from benchmarks.memory import Talk
from benchmarks.stdio import round_trips
from benchmarks.subjects import scorpios, source
from benchmarks.workloads import FIRST_ID, Workload, has_tool, line, sum_call

IN_FLIGHT = (1, 4, 16, 64, 256)
MESSAGE_BYTES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 32_000_000)
TOOLS = (13, 50, 200, 1_000)
TASKS = (1, 4, 16, 64)
SLACK = 2.0
"""A step may cost this much more than its part: beyond 2 MB the C library gives pages back after each message and takes
new ones for the next, and a shared machine is not quiet. What grows with the square passes it at the first step."""

TASK_S = 60
ROUNDS_MAX = 3
SMALL_SHARE = 2
"""Of a series that many steps run when only the machinery is tried."""


def run(plan: Plan) -> Iterator[Record]:
    """Records named `scaling <series> <number>`, in the order of the numbers."""
    for series, numbers, measure in (
        ("calls", IN_FLIGHT, _calls),
        ("message", MESSAGE_BYTES, _message),
        ("tools", TOOLS, _tools),
        ("tasks", TASKS, _tasks),
    ):
        name = f"scaling {series}"
        if not plan.wants(name) and not plan.only.startswith(name):
            continue
        small = plan.size.rounds <= SMALL_SHARE
        for number in numbers[:SMALL_SHARE] if small else numbers:
            yield from measure(plan, f"{name} {number}", number)


def grown_too_fast(records: Sequence[Record]) -> list[str]:
    """A sentence for every step of a series that cost more than in proportion. Of the median, slack included."""
    found = []
    for series, points in series_of(records).items():
        for (number, cost), (next_number, next_cost) in itertools.pairwise(points):
            share = next_cost / cost / (next_number / number)
            if share > SLACK:
                found.append(f"scaling {series}: {next_number} cost {share:.1f} times their part of {number}")
    return found


def series_of(records: Sequence[Record]) -> dict[str, list[tuple[int, float]]]:
    """Series to (number, median cost in microseconds)."""
    series: dict[str, list[tuple[int, float]]] = {}
    for record in records:
        named = re.fullmatch(r"scaling (\w+) (\d+)", record.benchmark)
        if named:
            series.setdefault(named[1], []).append((int(named[2]), record.median))
    return series


def _alone(plan: Plan, name: str, subject: Subject, workload: Workload, times: int = 1) -> Iterator[Record]:
    def measure(subject: Subject) -> Run:
        done = round_trips(plan, subject, workload)
        return replace(done, samples=[sample * times for sample in done.samples])

    yield from alternate(name, [subject], min(plan.size.rounds, ROUNDS_MAX), measure, "us")


def _calls(plan: Plan, name: str, number: int) -> Iterator[Record]:
    """The samples of the client are microseconds an answer."""
    workload = Workload(name, "tools/call", sum_call(), in_flight=number, count=50_000)
    yield from _alone(plan, name, scorpios(plan)[-1], workload, times=number)


def _message(plan: Plan, name: str, number: int) -> Iterator[Record]:
    workload = Workload(name, "tools/call", sum_call(number), count=max(3, min(5_000, 300_000_000 // number)))
    yield from _alone(plan, name, scorpios(plan)[-1], workload)


def _tools(plan: Plan, name: str, number: int) -> Iterator[Record]:
    workload = Workload(name, "tools/list", toolset="many", count=2_000)
    tree = tree_of_tools(plan.folder / f"tools-{number}", number)
    yield from _alone(plan, name, source("many", tree, at=commit()), workload)


def tree_of_tools(tree: Path, number: int) -> Path:
    """A checkout whose toolset `many` has that many tools, each a copy of `sum` with a name of its own."""
    shutil.copytree(ROOT / "scorpio", tree / "scorpio", ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "tools" / "many").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "__init__.py", tree / "tools")
    many = tree / "tools" / "many"
    shutil.copy(ROOT / "tools" / "sum" / "__init__.py", many)
    (many / "toolset.json").write_text('{"title": "Many", "instructions": "Many tools."}', "utf-8")
    descriptor = json.loads((ROOT / "tools" / "sum" / "sum" / "tool.json").read_text("utf-8"))
    for index in range(number):
        folder = many / f"tool{index}"
        folder.mkdir()
        (folder / "__init__.py").touch()
        (folder / "tool.json").write_text(json.dumps({**descriptor, "name": f"Tool{index}"}), "utf-8")
        (folder / "handler.py").write_text("def handle(arguments, call):\n    raise NotImplementedError\n", "utf-8")
    if str(ROOT / "build") not in sys.path:
        sys.path.append(str(ROOT / "build"))
    import compile_catalog

    (many / "_catalog.py").write_text(compile_catalog.compile_toolset(many), "utf-8")
    return tree


def _tasks(plan: Plan, name: str, number: int) -> Iterator[Record]:
    """From the first of `number` tasks to the answer of a list of all of them. They end with the server."""
    if not has_tool("core", "background_bash"):
        plan.note("scaling tasks", "the core toolset has no background tasks here")
        return
    start = {"name": "BackgroundBash", "arguments": {"command": f"sleep {TASK_S}"}}
    list_all = line("tools/call", {"name": "ListBgTasks", "arguments": {}}, FIRST_ID)

    def measure(subject: Subject) -> Run:
        with Talk(plan, subject) as talk:
            talk.ask(line("tools/call", {"name": "Bash", "arguments": {"command": "true"}}, FIRST_ID + 1))
            started_s = time.perf_counter()
            for index in range(number):
                talk.ask(line("tools/call", start, FIRST_ID + 2 + index))
            listed = talk.ask(list_all)
            took_us = (time.perf_counter() - started_s) * 1e6
        words = re.sub(rb"[0-9a-f]*[0-9][0-9a-f]*", b"0", listed)
        return Run([took_us], hashlib.sha256(words).hexdigest())

    yield from alternate(name, [scorpios(plan, "core")[-1]], min(plan.size.rounds, ROUNDS_MAX), measure, "us")
