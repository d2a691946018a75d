"""Paired runs: build the C programs, run each subject in turn, and say what came out, with a hash of the answers.

Does not know which servers there are (subjects.py) nor what they are asked (workloads.py). Asserts no time.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = ROOT / ".cache" / "bench"
SOURCES = Path(__file__).resolve().parent
C_FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
CLIENT_TIMEOUT_S = 120


class BenchmarkFailure(Exception):
    """A measurement that cannot be made: one sentence, with the server's last words where there are some."""


@dataclass(frozen=True)
class Size:
    """How much is measured; `SMALL` is for the test suite, where only the answers count."""

    rounds: int = 5
    budget_ms: int = 400
    """A run of one subject ends after this time or its workload's count, whichever is first."""
    count_max: int = 1_000_000
    starts: int = 3
    """Starts of one subject in one round."""
    output_bytes: int = 80_000_000
    """What a command prints while the server's memory is watched."""
    paused_count: int = 20
    """Requests of one run that pauses before each."""
    processors: Sequence[str] = ()
    """Options of client.c that bind server and client to processors; empty: the kernel decides."""


LARGE = Size()
QUICK = Size(rounds=3, budget_ms=120, starts=1, output_bytes=10_000_000, paused_count=6)
SMALL = Size(rounds=2, budget_ms=10_000, count_max=128, starts=1, output_bytes=1_000_000, paused_count=2)


@dataclass(frozen=True)
class Subject:
    """A server that is measured: how it is started, and what it is."""

    name: str
    command: Sequence[str]
    runtime: str
    """Such as "cpython 3.11.2"."""
    frozen: bool = False
    commit: str = ""
    """Of scorpio; empty for other programs."""
    cwd: Path = ROOT
    environment: Mapping[str, str] = field(default_factory=dict)
    ours: bool = False
    """True: answers byte for byte what scorpio answers (scorpio itself in all forms, and the limit)."""


@dataclass
class Run:
    """One run of one subject: every sample, in the order taken."""

    samples: list[float]
    hash: str
    """Of one answer, the id aside."""
    differing: int = 0
    """Answers that were not like the first."""
    cpu_us: float | None = None
    """Processor time of the server for one answer."""
    answer: bytes = b""


@dataclass
class Record:
    """What one subject did in one benchmark."""

    benchmark: str
    subject: str
    unit: str
    min: float
    median: float
    p99: float
    ratio: float
    """Median over the rounds of (median of this subject / median of the first subject in the same round)."""
    ratio_min: float
    ratio_max: float
    cpu_us: float | None
    hash: str
    answers_alike: bool
    samples: int
    rounds: int
    runtime: str
    frozen: bool
    machine: str
    commit: str
    same: str
    """Digest of what the answer means; equal wherever the servers were asked the same."""


def quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: Sequence[float]) -> float:
    return quantile(sorted(values), 0.5)


# -- pairing


def alternate(
    benchmark: str,
    subjects: Sequence[Subject],
    rounds: int,
    measure: Callable[[Subject], Run],
    unit: str,
    meaning: Callable[[Run], str] | None = None,
) -> list[Record]:
    """Run the subjects in turn, A B C, C B A, A B C …; a record each, in the order given.

    The turn is reversed every round, so that a machine that slows down or warms up favours nobody.
    """
    runs: dict[str, list[Run]] = {subject.name: [] for subject in subjects}
    for round_index in range(rounds):
        for subject in subjects if round_index % 2 == 0 else list(reversed(subjects)):
            runs[subject.name].append(measure(subject))
    first = runs[subjects[0].name]
    return [_record(benchmark, subject, runs[subject.name], first, unit, meaning) for subject in subjects]


def _record(
    benchmark: str,
    subject: Subject,
    runs: Sequence[Run],
    first: Sequence[Run],
    unit: str,
    meaning: Callable[[Run], str] | None,
) -> Record:
    samples = sorted(sample for run in runs for sample in run.samples)
    pairs = zip(runs, first, strict=True)
    ratios = sorted(median(run.samples) / max(median(other.samples), 1e-9) for run, other in pairs)
    cpu = [run.cpu_us for run in runs if run.cpu_us is not None]
    return Record(
        benchmark=benchmark,
        subject=subject.name,
        unit=unit,
        min=round(samples[0], 3),
        median=round(quantile(samples, 0.5), 3),
        p99=round(quantile(samples, 0.99), 3),
        ratio=round(quantile(ratios, 0.5), 3),
        ratio_min=round(ratios[0], 3),
        ratio_max=round(ratios[-1], 3),
        cpu_us=round(median(cpu), 2) if cpu else None,
        hash=runs[0].hash if len({run.hash for run in runs}) == 1 else "differs from run to run",
        answers_alike=not any(run.differing for run in runs),
        samples=len(samples),
        rounds=len(runs),
        runtime=subject.runtime,
        frozen=subject.frozen,
        machine=machine(),
        commit=subject.commit,
        same=meaning(runs[0]) if meaning else "",
    )


def digest(value: Any) -> str:
    """Eight hexadecimal digits of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:8]


# -- what is printed and kept


def text_line(record: Record) -> str:
    """One line: question, subject, numbers, hash, and where they come from."""
    form = "frozen" if record.frozen else "source" if record.commit else ""
    cpu = f"cpu {record.cpu_us:7.1f} us" if record.cpu_us is not None else " " * 14
    alike = "" if record.answers_alike else "  ANSWERS DIFFER"
    return (
        f"{record.benchmark:<20} {record.subject:<27} {record.min:9.1f} {record.unit} min {record.median:9.1f} med "
        f"{record.p99:9.1f} p99  {record.ratio:8.2f}x ({record.ratio_min:.2f}-{record.ratio_max:.2f})  {cpu}  "
        f"hash {record.hash[:8]}  n={record.samples}/{record.rounds}  "
        f"{' '.join(part for part in (record.runtime, form, record.commit, record.machine) if part)}{alike}"
    )


@cache
def machine() -> str:
    """Processor and count, as a name for files: "amd-epyc-9b14-2cpu". No host name."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text("utf-8"), re.MULTILINE)
        model = found[1] if found else model
    model = re.sub(r"\((r|tm)\)|@.*|\b(cpu|processor|\d+-core)\b", " ", model.lower())
    return re.sub(r"[^a-z0-9]+", "-", model).strip("-") + f"-{os.cpu_count()}cpu"


@cache
def commit(root: Path = ROOT) -> str:
    """Short commit of a checkout, with "+" when a source file differs from it."""
    git = shutil.which("git")
    if git is None:
        return "unknown"

    def said(*arguments: str) -> str:
        done = subprocess.run(
            [git, "--no-optional-locks", *arguments], cwd=root, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    changed = said("status", "--porcelain", "--untracked-files=all", "--", "scorpio", "tools", "build")
    return (said("rev-parse", "--short=8", "HEAD") or "unknown") + ("+" if changed else "")


# -- the C programs


@cache
def program(name: str) -> Path:
    """`benchmarks/<name>.c`, compiled into .cache/bench; made again when a source changes."""
    sources = [SOURCES / f"{name}.c", *sorted(SOURCES.glob("*.h"))]
    content = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    made = SCRATCH / f"{name}-{content}"
    if made.exists():
        return made
    compiler = os.environ.get("CC") or "cc"
    if shutil.which(compiler) is None:
        raise BenchmarkFailure(
            f"{name}.c needs a C compiler, and {compiler} is not here. On Debian: apt-get install gcc"
        )
    SCRATCH.mkdir(parents=True, exist_ok=True)
    unfinished = SCRATCH / f"{name}-{content}.{os.getpid()}"
    done = subprocess.run(
        [compiler, *C_FLAGS, "-o", str(unfinished), str(sources[0])], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BenchmarkFailure(f"{sources[0]} does not compile:\n{done.stderr}")
    unfinished.replace(made)  # another process may make the same one meanwhile
    return made


@dataclass
class Plan:
    """One call of run.py: how much, of what, beside whom; the folder of its files; what was left out and why."""

    folder: Path
    size: Size = LARGE
    only: str = ""
    """Beginning of the names of the benchmarks to run; empty: all."""
    against: Sequence[str] = ()
    """Revisions of scorpio to run beside this one, from source."""
    rivals: Sequence[Path] = ()
    """Files such as rivals.toml; empty: no rivals."""
    notes: dict[str, str] = field(default_factory=dict)
    """What the reader must know beside the numbers: subjects left out and why, answers that differ."""
    failures: list[str] = field(default_factory=list)
    """What could not be measured, or answered what it must not."""

    def wants(self, name: str) -> bool:
        return name.startswith(self.only)

    def note(self, about: str, sentence: str) -> None:
        self.notes.setdefault(about, sentence)

    def file(self, content: bytes, suffix: str = "") -> Path:
        """A file with this content, written once."""
        path = self.folder / f"{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
        if not path.exists():
            path.write_bytes(content)
        return path

    def environment(self, subject: Subject) -> dict[str, str]:
        """Small and the same for all, so that nobody's own configuration is measured."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "SCORPIO_HOME": str(home / ".scorpio"),
            "PYTHONPYCACHEPREFIX": str(ROOT / ".cache" / "pycache"),
            **subject.environment,
        }


def run_client(plan: Plan, subject: Subject, options: Sequence[str]) -> dict[str, Any]:
    """What client.c printed. Raises BenchmarkFailure with the server's last words."""
    errors = plan.folder / f"{_file_name(subject.name)}.err"
    errors.unlink(missing_ok=True)
    command = [str(program("client")), "--errors", str(errors), *options, "--", *subject.command]
    done = subprocess.run(
        command,
        cwd=subject.cwd,
        env=plan.environment(subject),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CLIENT_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        words = errors.read_text("utf-8", "replace")[-1500:] if errors.exists() else ""
        raise BenchmarkFailure(f"{subject.name}: {done.stderr.strip()}\n{words}".strip())
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name)
