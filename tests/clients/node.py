"""Programs of other makers that run on Node.js, as `dev.py test` installs them from package-lock.json."""

from __future__ import annotations

import os
import shutil

from tests.lacking import lacking
from tests.links import ROOT

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


def package(name: str) -> None:
    """Skip, or fail, where a package is not there."""
    if not (NPM / name).is_dir():
        lacking(f"needs {name}: build/dev.py test installs it")
