"""Round trips on stdin and stdout: how much does a server add to the bare read and write?

The first subject is the limit, a C loop that answers scorpio's own bytes; every ratio is to it. The same client
(client.c) measures all of them. Whether the answers mean the same is checked; times are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.harness import BenchmarkFailure, Plan, Record, Run, Subject, alternate, digest, run_client
from benchmarks.subjects import Rival, answer_of, limit, rivals, scorpios
from benchmarks.workloads import Workload, handshake, plain, stdio

WARM_MAX = 3000
"""Round trips before the clock counts: a JavaScript engine needs about two thousand to reach its speed."""

PAUSED_WARM = 2
PAUSED_BUDGET_MS = 30_000
"""A bound only: with pauses a run ends by its count."""


def run(plan: Plan) -> Iterator[Record]:
    """A record for each workload and subject; where answers differ that must not, a failure of the plan instead."""
    for workload in stdio():
        name = f"stdio {workload.name}"
        if plan.wants(name):
            try:
                yield from _one(plan, name, workload)
            except BenchmarkFailure as failure:
                plan.failures.append(str(failure))


def _one(plan: Plan, name: str, workload: Workload) -> Iterator[Record]:
    ours = scorpios(plan, workload.toolset)
    others: list[Rival] = []
    if workload.for_rivals:
        others = [rival for rival in rivals(plan, workload.toolset) if rival.plays(name)]
    asked = {rival.subject.name: rival.workload(workload) for rival in others}
    answer = answer_of(plan, ours[0], workload.request)
    subjects = [limit(plan, answer), *ours, *(rival.subject for rival in others)]

    def measure(subject: Subject) -> Run:
        return round_trips(plan, subject, asked.get(subject.name, workload))

    records = alternate(name, subjects, plan.size.rounds, measure, "us", lambda run: digest(plain(run.answer)))
    check_answers(plan, records, subjects, {rival.subject.name for rival in others if rival.call is None})
    yield from records


def round_trips(plan: Plan, subject: Subject, workload: Workload) -> Run:
    """One run of one server; raises BenchmarkFailure where it answers with an error."""
    size = plan.size
    count = max(min(workload.count, size.count_max), workload.in_flight)
    warm, budget_ms = min(count // 4, WARM_MAX), size.budget_ms
    if workload.pause_ms:
        count, warm, budget_ms = size.paused_count, PAUSED_WARM, PAUSED_BUDGET_MS
    kept = plan.folder / "kept"
    measured = run_client(
        plan,
        subject,
        [
            *("--handshake", str(plan.file(handshake())), "--request", str(plan.file(workload.request))),
            *("--count", str(count), "--warm", str(warm), "--budget-ms", str(budget_ms)),
            *("--in-flight", str(workload.in_flight), "--pause-ms", str(workload.pause_ms), "--keep", str(kept)),
            *size.processors,
        ],
    )
    return run_of(subject, measured, measured["cpu_ns"] / 1000, kept.read_bytes())


def run_of(subject: Subject, measured: dict[str, Any], cpu_us: float, answer: bytes) -> Run:
    """What a C client measured, with one answer and the processor time of all; raises where that is an error."""
    try:
        plain(answer)
    except ValueError as fault:
        raise BenchmarkFailure(f"{subject.name} answered {fault}") from None
    return Run(
        samples=[sample / 1000 for sample in measured["samples_ns"]],
        hash=measured["hash"],
        differing=measured["differing"],
        cpu_us=cpu_us / measured["answers"],
        answer=answer,
    )


def check_answers(plan: Plan, records: list[Record], subjects: list[Subject], same_call: set[str]) -> None:
    """Ours must be alike byte for byte, rivals must mean the same. An earlier commit may differ: that is noted."""
    by_name = {record.subject: record for record in records}
    expected = by_name[subjects[1].name]
    for subject in subjects:
        record = by_name[subject.name]
        if subject.ours and record.hash != expected.hash:
            sentence = f"{record.benchmark}: {subject.name} answers other bytes than {expected.subject}"
            if subject.commit in ("", expected.commit):
                raise BenchmarkFailure(sentence)
            plan.note(f"{record.benchmark}, {subject.name}", sentence)
        if subject.name in same_call and record.same != expected.same:
            raise BenchmarkFailure(f"{record.benchmark}: {subject.name} answers something else than {expected.subject}")
