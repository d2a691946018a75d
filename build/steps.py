"""Steps that verbs are made of: a command in the project's root, a run of pytest, a heading above either."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

NOTHING_COLLECTED = 5
"""pytest's exit status when no test matched."""

TESTS_FAILED = 1
"""pytest's exit status when tests failed."""

FAILED_AGAIN_MAX = 12
"""More failures than this are no accident of a busy machine."""


def pytest(*options: str) -> int:
    return call([sys.executable, "-m", "pytest", *options])


def call(command: list[str]) -> int:
    sys.stdout.flush()
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def heading(text: str) -> None:
    print(f"-- {text}", flush=True)


def again_by_themselves(status: int) -> int:
    """A few failures run once more, one by one: a machine too busy for a bound is told from a fault, and both are told.

    Thousands of tests start some ten thousand processes on two cores; one that passes by itself is named, not hidden.
    """
    record = ROOT / ".cache" / "pytest" / "v" / "cache" / "lastfailed"
    if status != TESTS_FAILED or not record.is_file():
        return status
    failed = list(json.loads(record.read_text("utf-8")))
    if not 0 < len(failed) <= FAILED_AGAIN_MAX or not all("::" in name for name in failed):
        return status  # a name without `::` is no test but a worker or a file, and would run everything again
    heading(f"pytest, once more by themselves: {len(failed)} that failed beside others")
    again = pytest(*failed)
    if again == 0:
        print("Passed by themselves, failed beside others:", *failed, sep="\n  ", flush=True)
    return again
