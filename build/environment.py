"""The environments under .cache/: `venv` for Python, `npm` for the clients of other makers that tests run, `audit`.

Installs exactly what the committed lock files name, hash by hash, and nothing when that is already there. Does not
choose versions and knows no index address: pip's and npm's own configuration do.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
from machine import ROOT, SCRATCH, Stop

VENV = SCRATCH / "venv"
STAMP = VENV / "scorpio-requirements.json"
AUDIT = SCRATCH / "audit"
AUDIT_LOCK = "requirements-audit.txt"
AUDIT_STAMP = AUDIT / "scorpio-requirements.sha256"
NPM = SCRATCH / "npm"
NPM_SOURCE = ROOT / "tests" / "clients"
NPM_FILES = ("package.json", "package-lock.json", ".npmrc")
NPM_STAMP = NPM / "scorpio-lock.json"

BUILD = "requirements.txt"
DEV = "requirements-dev.txt"  # holds every line of BUILD


def program(name: str) -> Path:
    """A program of the venv."""
    return VENV / "Scripts" / f"{name}.exe" if os.name == "nt" else VENV / "bin" / name


def python_environment() -> dict[str, str]:
    """The environment of what dev.py starts: bytecode and databases go to .cache/, never beside the sources."""
    return {
        **os.environ,
        "PYTHONPYCACHEPREFIX": str(SCRATCH / "pycache"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(SCRATCH / "hypothesis"),
    }


def ensure(requirements: str) -> None:
    """Make .cache/venv hold `requirements` (BUILD or DEV); no work when its stamp says so."""
    with _alone():
        if program("python").exists() and _stamp().get(requirements) == _digest(ROOT / requirements):
            return
        if not _venv_runs():
            machine.require(machine.VENV_NEEDS)
            _say("Making .cache/venv")
            _run([sys.executable, "-m", "venv", "--clear", str(VENV)], "python -m venv")
        _say(f"Installing {requirements} into .cache/venv")
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r"]
        _run([str(program("python")), *install, str(ROOT / requirements)], "pip install")
        covered = (BUILD,) if requirements == BUILD else (BUILD, DEV)
        STAMP.write_text(json.dumps({name: _digest(ROOT / name) for name in covered}), "utf-8")


def enter(arguments: list[str]) -> None:
    """Go on in the venv's Python with the same arguments; returns when this is it already."""
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    command = [str(program("python")), str(ROOT / "build" / "dev.py"), *arguments]
    sys.stdout.flush()
    if os.name == "nt":  # its exec returns to the shell before the new process is done
        sys.exit(subprocess.run(command, env=python_environment(), check=False).returncode)
    os.execve(command[0], command, python_environment())


def auditor() -> Path:
    """pip-audit, in .cache/audit, which holds what requirements-audit.txt names."""
    with _alone():
        python = AUDIT / "bin" / "python"
        if not AUDIT_STAMP.is_file() or AUDIT_STAMP.read_text("utf-8") != _digest(ROOT / AUDIT_LOCK):
            machine.require(machine.VENV_NEEDS)
            _say(f"Installing {AUDIT_LOCK} into .cache/audit")
            _run([sys.executable, "-m", "venv", "--clear", str(AUDIT)], "python -m venv")
            install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r"]
            _run([str(python), *install, str(ROOT / AUDIT_LOCK)], "pip install")
            AUDIT_STAMP.write_text(_digest(ROOT / AUDIT_LOCK), "utf-8")
        return AUDIT / "bin" / "pip-audit"


def ensure_clients() -> None:
    """Make .cache/npm hold what tests/clients/package-lock.json names; installation scripts are not run."""
    with _alone():
        digest = _digest(NPM_SOURCE / "package-lock.json")
        if NPM_STAMP.is_file() and json.loads(NPM_STAMP.read_text("utf-8")) == digest:
            return
        npm = shutil.which("npm")
        if npm is None:
            raise Stop("npm is missing, so the MCP Inspector cannot be installed. Install Node.js with npm.")
        _say("Installing the clients of tests/clients into .cache/npm")
        NPM.mkdir(parents=True, exist_ok=True)
        for name in NPM_FILES:
            shutil.copyfile(NPM_SOURCE / name, NPM / name)
        _run([npm, "ci", "--ignore-scripts"], "npm ci", cwd=NPM)
        NPM_STAMP.write_text(json.dumps(digest), "utf-8")


def _venv_runs() -> bool:
    """False when there is none, or its Python was removed or moved from under it."""
    question = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    python = program("python")
    return (
        python.exists() and subprocess.run([python, "-c", question], capture_output=True, check=False).returncode == 0
    )


def _stamp() -> dict[str, str]:
    try:
        stamp: dict[str, str] = json.loads(STAMP.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(command: list[str], name: str, cwd: Path = ROOT) -> None:
    if subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise Stop(f"{name} failed; its own words are above.")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def _alone() -> Iterator[None]:
    """One installation at a time, also when two terminals start dev.py in one checkout."""
    SCRATCH.mkdir(exist_ok=True)
    if os.name == "nt":
        yield
        return
    import fcntl

    with (SCRATCH / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
