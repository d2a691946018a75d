"""Programs of other makers that run on Node.js, as `dev.py test` installs them from package-lock.json."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from tests.lacking import lacking
from tests.links import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NPM = ROOT / ".cache" / "npm" / "node_modules"


def node_path() -> str:
    """A PATH with the Node.js of the lock file first."""
    path = os.environ.get("PATH", os.defpath)
    nodes = [str(node.parent) for node in NPM.glob("node-*/bin/node")]
    if not nodes and shutil.which("node", path=path) is None:
        lacking("needs Node.js")
    return os.pathsep.join([*nodes, path])


def program(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([str(NPM / ".bin"), os.environ.get("PATH", os.defpath)]))
    if found is None:
        lacking(f"needs {name}: build/dev.py test installs it")
    return found


def run(
    program: str, *words: str, environ: Mapping[str, str], cwd: Path, bound_s: float
) -> subprocess.CompletedProcess[str]:
    """One run of such a program, with its Node.js first on the PATH."""
    return subprocess.run(
        [program, *words], env={**environ, "PATH": node_path()}, cwd=cwd, capture_output=True, text=True, check=False,
        timeout=bound_s,
    )  # fmt: skip


def package(name: str) -> None:
    """Skip, or fail, where a package is not there."""
    if not (NPM / name).is_dir():
        lacking(f"needs {name}: build/dev.py test installs it")
