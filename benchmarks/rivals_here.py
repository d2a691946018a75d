"""The rivals' own environments below .cache/bench: packages from lock files, servers of ours made with cargo and go.

Installs what benchmarks/rivals/ pins and nothing else; what cannot be installed here becomes a note of the plan, and
the run goes on without it. No package runs code of its own while npm installs it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.harness import SCRATCH, Plan

RIVALS = Path(__file__).resolve().parent / "rivals"
NPM = SCRATCH / "npm"
PYTHON = SCRATCH / "python"
RUST = SCRATCH / "rust"
GO = SCRATCH / "go"
INSTALL_S_MAX = 900
"""A cargo build with all of its dependencies takes two minutes on two idle cores."""


class _Failed(Exception):
    """The sentence for the plan's notes."""


def install_rivals(plan: Plan, titles: Sequence[str] = ("Node.js", "Python", "Rust", "Go")) -> None:
    """Those that can be installed here; a note of the plan for each that cannot."""
    installers = {
        "Node.js": (("package.json", "package-lock.json", ".npmrc"), _install_npm),
        "Python": (("requirements.txt",), _install_python),
        "Rust": (("rust/Cargo.toml", "rust/src/main.rs"), _install_rust),
        "Go": (("go/go.mod", "go/go.sum", "go/main.go"), _install_go),
    }
    for title in titles:
        files, install = installers[title]
        try:
            install(files)
        except _Failed as why:
            plan.note(f"rivals in {title}", str(why))
    if (NPM / "node_modules").is_dir():
        for script in RIVALS.glob("*.mjs"):  # Node looks for packages beside the script
            shutil.copyfile(script, NPM / script.name)


def _install_npm(files: Sequence[str]) -> None:
    npm = _program("npm")
    _once(NPM, files, lambda: _run([npm, "ci", "--ignore-scripts", "--silent"], NPM))


def _install_python(files: Sequence[str]) -> None:
    """An environment of their own: FastMCP asks for other versions than the project's tests."""

    def install() -> None:
        _run([sys.executable, "-m", "venv", "--clear", str(PYTHON / "venv")], PYTHON)
        pip = [
            str(PYTHON / "venv" / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        _run([*pip, "--only-binary", ":all:", "--require-hashes", "-r", str(PYTHON / "requirements.txt")], PYTHON)

    _once(PYTHON, files, install)


def _install_rust(files: Sequence[str]) -> None:
    cargo = _program("cargo")
    _once(RUST, files, lambda: _run([cargo, "build", "--release", "--quiet"], RUST / "rust"))


def _install_go(files: Sequence[str]) -> None:
    go = _program("go")
    flags = ["-trimpath", "-ldflags=-s -w", "-o", str(GO / "rival")]
    _once(GO, files, lambda: _run([go, "build", *flags, "."], GO / "go"))


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise _Failed(f"{name} is not here")
    return found


def _once(folder: Path, files: Sequence[str], install: Callable[[], None]) -> None:
    """Copy the files of rivals/ into `folder` and install, unless just these were installed there."""
    sources = [RIVALS / name for name in files if (RIVALS / name).is_file()]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources) + sys.version.encode()).hexdigest()
    stamp = folder / "installed.sha256"
    if stamp.is_file() and stamp.read_text("utf-8") == digest:
        return
    for source in sources:
        target = folder / source.relative_to(RIVALS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    print(f"Installing rivals into .cache/bench/{folder.name}", file=sys.stderr, flush=True)
    install()
    stamp.write_text(digest, "utf-8")


def _run(command: list[str], folder: Path) -> None:
    """Its words go to a file beside it; raises _Failed with their end."""
    name = Path(command[0]).name
    with (folder / "install.log").open("ab") as log:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=INSTALL_S_MAX,
                env={**os.environ, "CARGO_TARGET_DIR": str(RUST / "target")},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _Failed(f"{name} took more than {INSTALL_S_MAX} s") from None
    if done.returncode != 0:
        words = (folder / "install.log").read_text("utf-8", "replace").strip().splitlines()[-1:]
        raise _Failed(f"{name} failed: {''.join(words)[:200]}")
