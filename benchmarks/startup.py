"""Start: how long from exec to the answer to `initialize`?

scorpio is started as clients start it, without arguments. The executable's very first start of a version, which
unpacks it, is a subject of its own. The limit answers scorpio's bytes; rivals answer with their own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.harness import Plan, Record, Run, Subject, alternate, run_client
from benchmarks.stdio import check_answers
from benchmarks.subjects import limit, rivals, scorpios
from benchmarks.workloads import handshake, has_toolset

FIRST_START = "scorpio, first start"


def run(plan: Plan) -> Iterator[Record]:
    name = "startup"
    if not plan.wants(name):
        return
    toolset = "" if has_toolset("core") else "sum"
    ours = scorpios(plan, toolset)
    first = [replace(subject, name=FIRST_START) for subject in ours if subject.frozen]
    others = [rival.subject for rival in rivals(plan) if rival.plays(name)]
    subjects = [limit(plan, _initialized(plan, ours[0])), *ours, *first, *others]
    records = alternate(name, subjects, plan.size.rounds, lambda subject: starts(plan, subject), "ms")
    check_answers(plan, records, subjects, set())
    yield from records


def starts(plan: Plan, subject: Subject) -> Run:
    """Some starts in a row, one before that not counted; of a first start only one, each time in a new place."""
    if subject.name != FIRST_START:
        return _measured(plan, subject, ["--count", str(plan.size.starts), "--warm", "1", *plan.size.processors])
    with tempfile.TemporaryDirectory(dir=plan.folder) as unpacked:
        fresh = replace(subject, environment={**subject.environment, "SCORPIO_CACHE_DIR": unpacked})
        return _measured(plan, fresh, ["--count", "1"])  # on all processors: a thread on each unpacks


def _measured(plan: Plan, subject: Subject, options: list[str]) -> Run:
    command = ["--start", "--handshake", str(plan.file(handshake())), *options]
    measured = run_client(plan, subject, command)
    return Run([sample / 1e6 for sample in measured["samples_ns"]], measured["hash"], measured["differing"])


def _initialized(plan: Plan, subject: Subject) -> bytes:
    kept = plan.folder / "initialized"
    options = ["--start", "--count", "1", "--handshake", str(plan.file(handshake())), "--keep", str(kept)]
    run_client(plan, subject, options)
    return kept.read_bytes()
