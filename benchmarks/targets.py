"""What scorpio wants to reach, and what a run reached: a row each, taken from the run's records.

The numbers to reach are decisions, not measurements; results/table.md keeps what was measured. A row whose benchmark or
rival did not run says so. Nothing here fails a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.harness import Record

OURS = "scorpio"
LIMIT = "limit"
TYPESCRIPT = ("TypeScript SDK 2.4.0", "TypeScript SDK 1.32.2")
EVERYTHING = "server-everything 2026.8.31"
GO, RUST = "Go SDK 1.8.0", "Rust SDK 3.9.0"
PYTHON, FASTMCP = "Python SDK 2.3.0", "FastMCP 4.1.2"


@dataclass(frozen=True)
class Target:
    against: str
    """A subject, or "" for an absolute number."""
    what: str
    benchmark: str
    bound: float
    kind: str = "faster"
    """"faster": the other's time divided by ours is at least the bound; "slower": ours by the other's at most;
    "most": our median is at most the bound; "spread": our p99 is at most so many times our median."""
    ours: str = OURS


@dataclass(frozen=True)
class Reached:
    target: Target
    value: float | None
    """None: not measured in this run."""

    @property
    def ok(self) -> bool:
        target = self.target
        return self.value is not None and (
            self.value >= target.bound if target.kind == "faster" else self.value <= target.bound
        )

    def row(self) -> tuple[str, str, str, str, str]:
        """Against, what, target, reached, verdict."""
        target = self.target
        sign = "≥" if target.kind == "faster" else "≤"
        unit = "" if target.kind == "most" else "×"
        reached = "not measured" if self.value is None else f"{self.value:.3g}{unit}"
        verdict = "–" if self.value is None else "ok" if self.ok else "**not met**"
        return target.against or "absolute", target.what, f"{sign} {target.bound:g}{unit}", reached, verdict


def targets() -> Iterator[Target]:
    yield Target(LIMIT, "echo (`sum`)", "stdio sum", 1.8, "slower")
    yield Target(LIMIT, "tools/list, 13 tools", "stdio list core", 1.8, "slower")
    yield Target(LIMIT, "10 KB", "stdio sum 10 KB", 2.8, "slower")
    yield Target(LIMIT, "1 MB", "stdio sum 1 MB", 2.8, "slower")
    yield Target(LIMIT, "64 in flight, of its throughput", "stdio sum x64", 0.2)
    yield Target(LIMIT, "Bash", "command bash", 1.2, "slower")
    yield Target(LIMIT, "output stream", "command output", 1.5, "slower")
    yield Target(LIMIT, "HTTP, of its throughput", "http modern sum x64", 0.25)
    for title in (*TYPESCRIPT, EVERYTHING):
        yield Target(title, "echo", "stdio sum", 2.2)
        if title != EVERYTHING:  # its list is of its own tools
            yield Target(title, "tools/list, 13 tools", "stdio list core", 25)
        yield Target(title, "64 in flight", "stdio sum x64", 10)
        yield Target(title, "start", "startup", 10)
    yield Target(GO, "echo", "stdio sum", 6)
    yield Target(GO, "1 MB", "stdio sum 1 MB", 20)
    yield Target(GO, "64 in flight", "stdio sum x64", 40)
    yield Target(GO, "start", "startup", 4, "slower")
    yield Target(RUST, "echo", "stdio sum", 1)
    yield Target(RUST, "64 in flight", "stdio sum x64", 1)
    yield Target(PYTHON, "echo", "stdio sum", 35)
    yield Target(PYTHON, "64 in flight", "stdio sum x64", 200)
    yield Target(PYTHON, "start", "startup", 30)
    yield Target(PYTHON, "PSS", "memory idle pss", 5)
    yield Target("", "start, ms", "startup", 30, "most")
    yield Target("", "first start of a version, ms", "startup", 400, "most", "scorpio, first start")
    yield Target("", "idle RSS, MB", "memory idle rss", 30, "most")
    yield Target("", "p99 of an echo, of its median", "stdio sum", 6, "spread")


def reached(records: Sequence[Record]) -> list[Reached]:
    by_name = {(record.benchmark, record.subject): record for record in records}

    def value(target: Target) -> float | None:
        own = by_name.get((target.benchmark, target.ours))
        other = by_name.get((target.benchmark, target.against))
        if own is None or (other is None and target.against):
            return None
        if other is None:
            return own.median if target.kind == "most" else own.p99 / own.median
        return other.ratio / own.ratio if target.kind == "faster" else own.ratio / other.ratio

    return [Reached(target, value(target)) for target in targets()]


def markdown(found: Sequence[Reached]) -> str:
    rows = ["| against | what | target | reached | |", "|---|---|---|---|---|"]
    rows += ["| " + " | ".join(each.row()) + " |" for each in found]
    return "\n".join(rows) + "\n"
