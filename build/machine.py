"""What the machine must have beside Python: compiler, headers, git, npm. Installs it where it may, else says what.

Uses the standard library only: it runs before the project's own environment exists. Installs nothing but Debian
packages from the table, and only as root.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = ROOT / ".cache"


class Stop(Exception):
    """An expected failure of a command: one sentence for the person who runs it, instead of a traceback."""


class Need(NamedTuple):
    what: str
    why: str
    debian: tuple[str, ...]
    present: Callable[[], bool]


def compiler() -> str:
    """The C compiler that builds the launcher."""
    return os.environ.get("CC") or "cc"


def _program(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


def _prosody() -> bool:
    """In sbin, which is on root's PATH only."""
    return shutil.which("prosody", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin") is not None


def _compiles_with_zlib() -> bool:
    """A whole program, because libc6-dev and zlib1g-dev hold the files that only linking asks for."""
    SCRATCH.mkdir(exist_ok=True)
    source = "#include <stdio.h>\n#include <zlib.h>\nint main(void) { return puts(zlibVersion()) < 0; }\n"
    command = [compiler(), "-x", "c", "-", "-o", str(SCRATCH / "probe"), "-static", "-lz"]
    return subprocess.run(command, input=source, text=True, capture_output=True, check=False).returncode == 0


def _python_library_loads() -> bool:
    """PyInstaller puts libpython into the executable. Debian's python3 runs without that file being there."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    for library in (name, os.path.join(sysconfig.get_config_var("LIBDIR") or "", name)):
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return bool(name)
    return False


VENV_NEEDS = (
    Need(
        "Python's ensurepip module",
        "makes .cache/venv",
        ("python3-venv",),
        lambda: importlib.util.find_spec("ensurepip") is not None,
    ),
)

_LAUNCHER_NEEDS = (
    Need("a C compiler", "build/launcher is C", ("gcc", "libc6-dev"), _program(compiler())),
    Need("the C library's and zlib's headers", "the launcher unpacks with zlib", ("libc6-dev", "zlib1g-dev"),
         _compiles_with_zlib),
    Need("objdump and strip", "PyInstaller reads and strips libraries", ("binutils",), _program("objdump")),
    Need(
        f"Python's shared library ({sysconfig.get_config_var('INSTSONAME')})",
        "the executable holds it; a Python built by hand needs --enable-shared",
        (f"libpython3.{sys.version_info.minor}-dev",),
        _python_library_loads,
    ),
    Need(
        "Python's headers",
        "build/launcher/interpreter.c starts the Python in the executable",
        (f"libpython3.{sys.version_info.minor}-dev",),
        lambda: Path(sysconfig.get_path("include"), "Python.h").is_file(),
    ),
)  # fmt: skip

BUILD_NEEDS = _LAUNCHER_NEEDS if sys.platform == "linux" else ()
"""Elsewhere PyInstaller brings all that is needed; one_file.py."""

BENCH_NEEDS = (Need("valgrind", "counts the instructions of the hot path", ("valgrind",), _program("valgrind")),)

TEST_NEEDS = (
    *BENCH_NEEDS,
    Need("git", "tests/tidy lists the tracked files, and Bash's tests use it", ("git",), _program("git")),
    Need("npm", "installs the clients of other makers: Inspector, conformance suite", ("npm",), _program("npm")),
    Need("tmux", "AskUserQuestion opens its dialog in a popup", ("tmux",), _program("tmux")),
    Need("bubblewrap", "PlanMode's sandbox where the kernel has no Landlock", ("bubblewrap",), _program("bwrap")),
    Need("chromium", "ReadDocs renders pages, and the inspector page runs in it", ("chromium",), _program("chromium")),
    Need("prosody", "the XMPP server that the xmpp toolset is tested with", ("prosody",), _prosody),
)


def require(needs: tuple[Need, ...], strict: bool = True) -> list[str]:
    """Install what is missing where this may be done. What stays missing is a Stop, or a list when not `strict`."""
    missing = [need for need in needs if not need.present()]
    if missing and _may_install():
        packages = sorted({package for need in missing for package in need.debian})
        print(f"Installing Debian packages: {' '.join(packages)}", file=sys.stderr, flush=True)
        _apt_install(packages)
        importlib.invalidate_caches()
        missing = [need for need in missing if not need.present()]
    sentences = [
        f"This machine lacks {need.what} ({need.why}). On Debian and its relatives: "
        f"sudo apt-get install {' '.join(need.debian)}"
        for need in missing
    ]
    if sentences and strict:
        raise Stop("\n".join(sentences))
    return sentences


def _may_install() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("apt-get") is not None


def _apt_install(packages: list[str]) -> None:
    """Try with the package lists as they are, then with fresh ones: a new container has none."""
    SCRATCH.mkdir(exist_ok=True)
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    with (SCRATCH / "apt.log").open("w") as log:
        for command in (install, ["apt-get", "update"], install):
            done = subprocess.run(
                command,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
            if command is install and done.returncode == 0:
                return
    print(f"apt-get could not install {' '.join(packages)}; .cache/apt.log has its words.", file=sys.stderr)


def python_is_new_enough() -> str:
    """Empty, or the sentence that says which Python to use."""
    if tuple(sys.version_info) >= (3, 11):
        return ""
    newer = [name for name in (f"python3.{minor}" for minor in range(14, 10, -1)) if _runs(name)]
    advice = (
        f"{newer[0]} is here: run {newer[0]} build/dev.py" if newer else "Install a newer one, with its venv module."
    )
    return f"scorpio is built with Python 3.11 or newer, and this is {sys.version.split()[0]}. {advice}"


def _runs(python: str) -> bool:
    """False for the shims of version switchers too, which are there and refuse."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
