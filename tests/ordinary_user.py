"""A server as root and as an ordinary user: the fixture `user`, and the command line that this user may run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lacking import lacking
from tests.links import ROOT, executable_under_test, frozen_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOBODY = 65534
PYTHON_OF_ALL = "/usr/bin/python3"


@pytest.fixture(params=["as it runs", "nobody"])
def user(request: pytest.FixtureRequest) -> int | None:
    if request.param == "as it runs":
        return None
    if os.geteuid() != 0:
        pytest.skip("an ordinary user runs all of these tests already")
    return NOBODY


@pytest.fixture(scope="session")
def common_of() -> Iterator[Callable[[int | None], Path]]:
    """`common_of(user)`: a directory of this user for what all of his servers need, which takes seconds to make."""
    made: dict[int | None, Path] = {}

    def common_of(user: int | None) -> Path:
        if user not in made:
            made[user] = Path(tempfile.mkdtemp(prefix="scorpio-common-", dir="/var/tmp")).resolve()
            made[user].chmod(0o755)
            if user is not None:
                os.chown(made[user], user, user)
        return made[user]

    yield common_of
    for path in made.values():
        shutil.rmtree(path)


def as_user(user: int | None) -> list[str]:
    """What stands before a command line."""
    return ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"] if user is not None else []


def command_of(build: str, root: Path, user: int | None, environ: dict[str, str]) -> list[str]:
    """The command line of a server that `user` may run; what it needs is put below `root`, and into `environ`."""
    environ["SCORPIO_CACHE_DIR"] = str(root / "cache")
    if build == "frozen":
        executable = executable_under_test()
        if user is not None:
            own = root / "scorpio"
            executable = str(own if own.exists() else shutil.copy(executable, own))
        return frozen_command(executable, ["core"])
    if user is None:
        return [sys.executable, "-m", "scorpio", "serve"]
    return [_python_of_all(root, environ), "-m", "scorpio", "serve"]


def _python_of_all(root: Path, environ: dict[str, str]) -> str:
    """A Python that another user may run, with the sources and orjson where he may read them."""
    import orjson

    said = subprocess.run([PYTHON_OF_ALL, "-V"], capture_output=True, text=True, check=False).stdout.split()[-1:]
    if not said or said[0].split(".")[:2] != [str(part) for part in sys.version_info[:2]]:
        lacking(f"{PYTHON_OF_ALL} is not of the version that runs these tests")
    sources = root / "sources"
    if not sources.exists():
        for name in ("scorpio", "tools"):
            shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(Path(orjson.__file__).parent, sources / "orjson")
    environ["PYTHONPATH"] = str(sources)
    return PYTHON_OF_ALL
