"""The executable on macOS and Windows: all that is made differently there.

PyInstaller's own one file, because build/launcher is for Linux. It unpacks itself at every start and is two processes.
Neither system has run it yet; what can be tried on Linux, tests/release/test_one_file.py tries.
"""

from __future__ import annotations

import platform
import shutil
import sys
import sysconfig
from pathlib import Path

import bundle
import freeze

FORM = "file"
"""What scorpio.spec is told."""


def build(root: Path, out: Path) -> tuple[dict[str, str], list[bundle.Component]]:
    """Make `out` from the sources in `root`; what was made, and what is in it. Raises Stop."""
    collected = freeze.collect(root, FORM)
    found = bundle.components(collected, root, launcher=False)
    out.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(freeze.CACHE / made_name(sys.platform), out)
    return {"platform": platform_tag(sys.platform, platform.machine(), platform.mac_ver()[0])}, found


def made_name(system: str) -> str:
    """What PyInstaller calls the file; `system` as sys.platform."""
    return f"{freeze.PROGRAM}.exe" if system == "win32" else freeze.PROGRAM


def platform_tag(system: str, machine: str, macos: str) -> str:
    """The wheel's platform. `macos`: the version it is built on, and nothing older is claimed.

    The compiler's own answer will not do: Python's installer for macOS says universal2 and an old version, which is
    true of Python and not of the libraries that are in the file with it.
    """
    if system == "win32":
        return {"AMD64": "win_amd64", "ARM64": "win_arm64"}.get(machine, "win32")
    if system == "darwin":
        return f"macosx_{macos.partition('.')[0]}_0_{machine}"
    return sysconfig.get_platform()
