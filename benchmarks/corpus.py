"""The corpus of bad input against scorpio and the official SDKs: `python3 build/dev.py faults`.

Runs ../shared/faults/run.py, which knows no server, once a server, and keeps what it said: how many cases each passed,
which it left unanswered though their id can be read, and what became of it. Measures no time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, SCRATCH, SMALL, BenchmarkFailure, Plan, Subject
from benchmarks.rivals_here import install_rivals
from benchmarks.subjects import frozen, rivals

DRIVER = ROOT.parent / "shared" / "faults" / "run.py"
RIVALS = ROOT / "benchmarks" / "rivals.toml"
CORPUS_BOUND_S = 1800
LEFT_OUT = ("server-everything 2026.8.31",)
"""No SDK's own example: the SDK below it is in the table already."""


def passed(driver: Path, subject: Subject, folder: Path) -> dict[str, Any]:
    """What the driver kept about one server. Raises BenchmarkFailure where the server does not even start."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, str(driver), "--quiet-s", "0.5", "--json", str(report), "--", *subject.command],
        cwd=subject.cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=CORPUS_BOUND_S,
    )
    if not report.is_file():
        raise BenchmarkFailure(f"{subject.name}: {done.stdout[-500:]}{done.stderr[-500:]}")
    results = json.loads(report.read_text("utf-8"))["results"]
    return {
        "server": subject.name,
        "cases": {result["id"]: _words(result) for result in results},
        "title": {result["id"]: result["title"] for result in results},
        "must": [sum(r["ok"] for r in results if r["level"] == "must"), sum(r["level"] == "must" for r in results)],
        "want": [sum(r["ok"] for r in results if r["level"] == "want"), sum(r["level"] == "want" for r in results)],
    }


def _words(result: dict[str, Any]) -> str:
    """Such as `ok`, or `silent`, `exited`, an answer that must not be."""
    if result["ok"]:
        return "ok"
    outcome = str(result["outcome"])
    return outcome if len(outcome) <= 40 else f"{outcome[:37]}…"


def compare(driver: Path = DRIVER) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """(a row for each server, reasons of those that are left out)."""
    if not driver.is_file():
        raise BenchmarkFailure(f"needs {driver.name} in ../shared/faults")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH, prefix="corpus-") as folder:
        plan = Plan(Path(folder), SMALL, "", (), (RIVALS,))
        install_rivals(plan)
        ours = frozen(plan)
        others = [rival.subject for rival in rivals(plan) if rival.subject.name not in LEFT_OUT]
        rows = []
        for subject in [*([ours] if ours else []), *others]:
            print(f"{subject.name}: {' '.join(subject.command)}", flush=True)
            rows.append(passed(driver, subject, Path(folder)))
            print(f"  must {rows[-1]['must']}, want {rows[-1]['want']}", flush=True)
    return rows, dict(plan.notes)
