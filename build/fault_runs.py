"""What `dev.py soak` and `dev.py faults` run, and what they keep of it in tests/faults/measured.json."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import fault_matrix


def mixed_load(executable: str, minutes: float, seed: int) -> bool:
    """Two thirds of the time as this user, the rest as an ordinary one where this is root. Prints the figures."""
    from tests.faults import mixed_run

    root = os.geteuid() == 0
    shares = ((2 / 3, False), (1 / 3, True)) if root else ((1.0, False),)
    soaks = []
    for share, ordinary in shares:
        print(f"-- mixed load, seed {seed}, {minutes * share:.1f} minutes", flush=True)
        soaks.append(mixed_run.run(executable, minutes * share * 60, seed, ordinary_user=ordinary))
        print(json.dumps(soaks[-1], indent=1, ensure_ascii=False), flush=True)
    good = not any(soak["faults"] for soak in soaks)
    if good:
        fault_matrix.keep(soak=soaks)
    return good


def matrix() -> bool:
    """Every test of the map on the executable."""
    with tempfile.TemporaryDirectory() as folder:
        said = fault_matrix.run_tests(Path(folder) / "report.xml")
    fault_matrix.keep(tests=said, tests_run=fault_matrix.today())
    return not any(outcome.startswith("failed") for outcome in said.values())


def peers() -> bool:
    """The corpus of bad input against scorpio and the official SDKs."""
    from benchmarks import corpus
    from benchmarks.harness import BenchmarkFailure

    try:
        rows, left_out = corpus.compare()
    except BenchmarkFailure as failure:
        print(f"{failure}. The table of other servers stays as it was.")
        return True
    for name, reason in left_out.items():
        print(f"{name}: {reason}.")
    fault_matrix.keep(peers=rows)
    right, all_of_them = rows[0]["must"]
    return bool(right == all_of_them)
