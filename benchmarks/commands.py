"""Commands: what do Bash, a background task and a lot of output cost beside a bare posix_spawn in C?

The first subject is the limit: the C loop that starts `bash -c` with its output in a file, waits (`bash`, `output`) or
does not (`background`), and answers scorpio's bytes. It keeps no task, kills nothing that is left behind and writes no
log. Answers are compared without their numbers, which are ids and durations.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.harness import BenchmarkFailure, Plan, Record, Run, Subject, alternate
from benchmarks.stdio import round_trips
from benchmarks.subjects import answer_of, limit, scorpios
from benchmarks.workloads import Workload, has_tool, plain

TASKS_COUNT = 50
"""Background tasks of one run; 64 may run at a time, and these end at once."""


THINKING_MS = 60
"""Between two commands of a model, which takes seconds: past SPARE_AFTER_MS, so the next supervisor waits already."""


@dataclass(frozen=True)
class Kind:
    name: str
    tool: str
    folder: str
    command: str
    count: int
    limit: str
    pause_ms: int = 0

    @property
    def workload(self) -> Workload:
        arguments = {"name": self.tool, "arguments": {"command": self.command}}
        return Workload(
            self.name, "tools/call", arguments, "core", count=self.count, pause_ms=self.pause_ms, for_rivals=False
        )


def kinds(plan: Plan) -> Iterator[Kind]:
    yield Kind("command bash", "Bash", "bash", "true", 200, "--wait", THINKING_MS)
    yield Kind("command bash at once", "Bash", "bash", "true", 1000, "--wait")
    yield Kind(
        "command output", "Bash", "bash", f"yes 0123456789abcdef | head -c {plan.size.output_bytes}", 8, "--wait"
    )
    yield Kind("command background", "BackgroundBash", "background_bash", "true", TASKS_COUNT, "--leave")


def run(plan: Plan) -> Iterator[Record]:
    for kind in kinds(plan):
        if not plan.wants(kind.name):
            continue
        if not has_tool("core", kind.folder):
            plan.note(kind.name, f"the core toolset has no {kind.tool} here")
            continue
        yield from _one(plan, kind)


def _one(plan: Plan, kind: Kind) -> Iterator[Record]:
    ours = [
        scorpios(plan, "core")[-1]
    ]  # frozen where it can be: from source a Python program stands above each command
    answer = answer_of(plan, ours[0], kind.workload.request)
    if plain(answer).get("isError"):
        raise BenchmarkFailure(f"{kind.name}: {answer[:300]!r}")
    subjects = [replace(limit(plan, answer, kind.limit, kind.command), cwd=plan.folder), *ours]

    def measure(subject: Subject) -> Run:
        done = round_trips(plan, subject, kind.workload)
        words = re.sub(rb"[0-9a-f]*[0-9][0-9a-f]*", b"0", done.answer)
        return replace(done, hash=hashlib.sha256(words).hexdigest()[:16], differing=0)

    records = alternate(kind.name, subjects, plan.size.rounds, measure, "us")
    if len({record.hash for record in records}) != 1:
        raise BenchmarkFailure(f"{kind.name}: not all answers say the same")
    yield from records
