"""Which servers are measured, how each is started, and why one is left out.

scorpio as the executable and from source, scorpio as it was at another commit, the C limit, and the rivals of
rivals.toml. Installs nothing; rivals_here.py does.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import bare_cdp
from benchmarks.harness import ROOT, SCRATCH, BenchmarkFailure, Plan, Subject, commit, program, run_client
from benchmarks.rivals_here import GO, NPM, RIVALS, RUST
from benchmarks.rivals_here import PYTHON as PYTHON_RIVALS
from benchmarks.workloads import Workload, handshake, line, plain

EXECUTABLE = ROOT / "dist" / "scorpio"
PYTHON = f"cpython {'.'.join(map(str, sys.version_info[:3]))}"


@dataclass(frozen=True)
class Rival:
    subject: Subject
    call: dict[str, Any] | None
    """The call that stands in for `sum`; None: it serves `sum`."""
    takes_part: tuple[str, ...]

    def plays(self, benchmark: str) -> bool:
        return not self.takes_part or any(benchmark == name or name in benchmark.split(" ") for name in self.takes_part)

    def workload(self, workload: Workload) -> Workload:
        if self.call is not None and workload.method == "tools/call":
            return replace(workload, params=self.call)
        return workload


# -- scorpio and the limit


def source(toolset: str = "sum", root: Path = ROOT, name: str = "scorpio source", at: str = "") -> Subject:
    """scorpio run by this Python. An empty toolset: started without arguments, as clients do."""
    return Subject(
        name,
        [sys.executable, "-m", "scorpio", *_serve(toolset)],
        PYTHON,
        commit=at or commit(root),
        cwd=root,
        ours=True,
    )


def frozen(plan: Plan, toolset: str = "sum") -> Subject | None:
    """dist/scorpio, or None when it is missing or was made from other sources than those of this checkout."""
    reason = _why_not_frozen()
    if reason:
        plan.note("scorpio", reason)
        return None
    command = [str(EXECUTABLE), *_serve(toolset)]
    return Subject("scorpio", command, PYTHON, frozen=True, commit=commit(), ours=True)


def _serve(toolset: str) -> list[str]:
    return ["serve", "--toolsets", toolset] if toolset else []


@cache
def _why_not_frozen() -> str:
    note = EXECUTABLE.with_name("scorpio.json")
    if not EXECUTABLE.is_file() or not note.is_file():
        return "dist/scorpio is not there; python3 build/dev.py freeze makes it"
    if str(ROOT / "build") not in sys.path:
        sys.path.append(str(ROOT / "build"))
    import freeze

    if json.loads(note.read_bytes()).get("inputs") != freeze.inputs_hash(ROOT):
        return "dist/scorpio was made from other sources; python3 build/dev.py freeze makes it anew"
    return ""


def earlier(revision: str, toolset: str = "sum") -> Subject:
    """scorpio from source: of another directory, or as it was at a revision, unpacked below .cache/bench/trees."""
    if (Path(revision) / "scorpio").is_dir():
        root = Path(revision).resolve()
        return source(toolset, root, f"scorpio source {root.name}", root.name)
    name = _git("rev-parse", "--short=8", f"{revision}^{{commit}}").decode().strip()
    tree = SCRATCH / "trees" / name
    if not tree.exists():
        unfinished = SCRATCH / "trees" / f"{name}.{os.getpid()}"
        with tarfile.open(fileobj=io.BytesIO(_git("archive", name, "scorpio", "tools"))) as archive:
            archive.extractall(unfinished, filter="data")
        unfinished.replace(tree)
    return source(toolset, tree, f"scorpio source {name}", name)


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        raise BenchmarkFailure(f"git {arguments[0]} says: {done.stderr.decode().strip()}")
    return done.stdout


def scorpios(plan: Plan, toolset: str = "sum") -> list[Subject]:
    """All forms of scorpio that can be measured, the one from source first."""
    forms = [source(toolset), *(earlier(revision, toolset) for revision in plan.against)]
    executable = frozen(plan, toolset)
    return forms if executable is None else [*forms, executable]


def limit(plan: Plan, answer: bytes, *run: str) -> Subject:
    """The C loop that answers these bytes; `run`: `--wait` or `--leave` and a command that it starts for each."""
    command = [str(program("limit")), str(plan.file(answer, ".answer")), *run]
    return Subject("limit", command, f"C {_compiler_version()}", ours=True)


@cache
def _compiler_version() -> str:
    compiler = os.environ.get("CC") or "cc"
    done = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=False)
    return f"{Path(compiler).name} {done.stdout.strip()}"


def serving(subject: Subject, *options: str) -> Subject:
    """The same form of scorpio as an HTTP server on a port of its own."""
    at = list(subject.command).index("serve")
    return replace(
        subject, command=[*subject.command[:at], "http", "--port", "0", *subject.command[at + 1 :], *options]
    )


def http_limit(plan: Plan, answer: bytes) -> Subject:
    """The C loop that answers these bytes over HTTP."""
    command = [str(program("http_limit")), str(plan.file(answer, ".answer"))]
    return Subject("limit", command, f"C {_compiler_version()}", ours=True)


def answer_of(plan: Plan, subject: Subject, request: bytes) -> bytes:
    """What a server answers to one request after the handshake; raises BenchmarkFailure where that is an error."""
    kept = plan.folder / f"answer-{hashlib.sha256(request).hexdigest()[:16]}"
    options = ["--handshake", str(plan.file(handshake())), "--request", str(plan.file(request))]
    run_client(plan, subject, [*options, "--count", "1", "--keep", str(kept)])
    answer = kept.read_bytes()
    try:
        plain(answer)
    except ValueError as fault:
        raise BenchmarkFailure(f"{subject.name} answered {fault}") from None
    return answer


def tools_file(plan: Plan, toolset: str = "sum") -> Path:
    """scorpio's list of tools as a JSON file, for the rivals to serve."""
    answer = answer_of(plan, source(toolset), line("tools/list", None, 1_000_001))
    tools = json.loads(answer)["result"]["tools"]
    return plan.file(json.dumps(tools, ensure_ascii=False).encode(), ".tools")


# -- rivals


def rivals(plan: Plan, toolset: str = "sum", over: str = "stdio") -> Iterator[Rival]:
    """Those of the files that can run here; the others go into `skips`."""
    for file in plan.rivals:
        for table in tomllib.loads(file.read_text("utf-8")).values():
            if table.get("over", "stdio") != over:
                continue
            places = {
                "python": sys.executable,
                "python_rivals": str(PYTHON_RIVALS / "venv" / "bin" / "python"),
                "python_folder": str(PYTHON_RIVALS / "venv" / "bin"),
                "npm": str(NPM),
                "rivals": str(RIVALS),
                "rust": str(RUST / "target" / "release" / "rival"),
                "go": str(GO / "rival"),
                "browser": bare_cdp.program() or "",
            }
            missing = _missing(table, places)
            if missing:
                plan.note(table["title"], missing)
                continue
            places["tools"] = str(tools_file(plan, toolset))
            command = [part.format(**places) for part in table["command"]]
            environment = {name: value.format(**places) for name, value in table.get("environment", {}).items()}
            subject = Subject(table["title"], command, _runtime(table["runtime"]), environment=environment)
            yield Rival(subject, table.get("call"), tuple(table.get("takes_part", ())))


def _missing(table: dict[str, Any], places: dict[str, str]) -> str:
    program_name = table["command"][0].format(**places)
    if shutil.which(program_name) is None:
        return f"{Path(program_name).name} is not here"
    for need in table.get("needs", ()):
        if not Path(need.format(**places)).exists():
            return f"{Path(need.format(**places)).name} is not installed below .cache/bench"
    return ""


def _runtime(name: str) -> str:
    return PYTHON if name == "python" else f"node {_node_version()}" if name == "node" else name


@cache
def _node_version() -> str:
    done = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip().lstrip("v")
