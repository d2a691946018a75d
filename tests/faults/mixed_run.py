"""Runs the mixed load in a place of its own: a small disk where this machine allows one, another user where asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.links import ROOT

NOBODY = 65534
PYTHON_OF_ALL = "/usr/bin/python3"
"""The one that tests may lie in a closed home."""

DISK_MB = 40
FILES = ("__init__.py", "faults/mixed_client.py", "faults/mixed_load.py")


def shift_library(folder: Path) -> str:
    """clock_shift.c as a library; empty where there is no compiler, and the wall clock then stays as it is."""
    if sys.platform != "linux" or not shutil.which("cc"):
        return ""
    library = folder / "clock_shift.so"
    source = Path(__file__).with_name("clock_shift.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return str(library)


def run(executable: str, seconds: float, seed: int, *, ordinary_user: bool = False) -> dict[str, Any]:
    """What the load printed; with `faults` where a promise was broken or the load itself could not run."""
    folder = Path(tempfile.mkdtemp(prefix="scorpio-mixed-"))
    try:
        return _run(folder, executable, seconds, seed, ordinary_user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(folder: Path, executable: str, seconds: float, seed: int, ordinary_user: bool) -> dict[str, Any]:
    for name in FILES:
        (folder / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / name, folder / "tests" / name)
    program = shutil.copy(executable, folder / "scorpio")
    place = folder / "place"
    place.mkdir()
    options = ["--seconds", str(seconds), "--seed", str(seed), "--shift", shift_library(folder)]
    load = [PYTHON_OF_ALL if ordinary_user else sys.executable, "-m", "tests.faults.mixed_load"]
    command = [*load, program, str(place), *options]
    drop: dict[str, Any] = {}
    if ordinary_user and os.geteuid() == 0:
        for path in (folder, place):
            os.chown(path, NOBODY, NOBODY)
        drop = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    done = subprocess.run(
        [*_small_disk(place, drop), *command],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), "SCORPIO_CACHE_DIR": str(folder / "unpacked")},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + 300,
        **drop,
    )
    try:
        figures: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"faults": [f"the load ended with {done.returncode}: {done.stdout[-1000:]}{done.stderr[-2000:]}"]}
    return figures


def _small_disk(place: Path, drop: dict[str, Any]) -> list[str]:
    """What goes before the command to give it a file system of its own there; nothing where that cannot be had."""
    as_user = [] if os.geteuid() == 0 and not drop else ["--user", "--map-current-user", "--keep-caps"]
    unshare = ["unshare", "--mount", *as_user]
    mount = f"mount -t tmpfs -o size={DISK_MB}m,mode=700 none {place}"
    probe = subprocess.run([*unshare, "sh", "-c", mount], capture_output=True, check=False, **drop)
    return [*unshare, "sh", "-c", f'{mount} && exec "$@"', "sh"] if probe.returncode == 0 else []
