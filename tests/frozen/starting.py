"""Ways to start the launcher in tests, and what the tiny program behind it said.

Mounts are made in a mount namespace of their own, so nothing stays on the machine.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.lacking import lacking

NOBODY = 65534
DAY_S = 86400


def need(condition: bool, what: str) -> None:
    """Skip on a machine that cannot show it; fail in CI, which can."""
    if not condition:
        lacking(f"needs {what}")


def only_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user cannot give a file away")


def start(executable: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`executable` with nothing but these variables; fails the test when it does not end."""
    return start_as(None, executable, *arguments, **environment)


def start_as(
    user: int | None, executable: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`user`: None is whoever runs the tests."""
    return subprocess.run(
        [str(executable), *arguments],
        env={"PATH": os.environ["PATH"], **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )


def in_namespace(script: str, executable: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `script` where mounts are private; $X is the executable, out of the way in /mnt."""
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    probe = subprocess.run([*unshare, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    need(probe.returncode == 0, "mount namespaces")
    prologue = f"set -e; mount -t tmpfs none /mnt; cp {executable} /mnt/scorpio; X=/mnt/scorpio; "
    return subprocess.run(
        [*unshare, "sh", "-c", prologue + script],
        env={"PATH": os.environ["PATH"], **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def said(result: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What the program printed, by name; fails when it did not run."""
    assert result.returncode == 0, result.stderr
    return dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)


def place_of(result: subprocess.CompletedProcess[str]) -> Path:
    """The copy that ran."""
    return Path(said(result)["SCORPIO_SUPERVISOR"]).parent


def snapshot(copy: Path) -> dict[str, tuple[int, int]]:
    """Inode and change time of every file: another unpacking changes both."""
    files = {str(path): path.lstat() for path in copy.rglob("*")}
    return {path: (status.st_ino, status.st_ctime_ns) for path, status in files.items()}


def assert_whole(copy: Path, folder: Path) -> None:
    for path in folder.rglob("*"):
        twin = copy / path.relative_to(folder)
        assert twin.is_dir() if path.is_dir() else twin.read_bytes() == path.read_bytes()
        assert twin.lstat().st_mode & 0o077 == 0


def others(copy: Path) -> list[str]:
    """What lies beside the copy and the lock."""
    return sorted(path.name for path in copy.parent.iterdir() if path.name not in (copy.name, "lock"))


def aged(path: Path, days: float) -> None:
    at = time.time() - days * DAY_S
    os.utime(path, (at, at))
