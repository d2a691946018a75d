"""One test body over both supervisors: the compiled one and its Python twin."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.lacking import lacking
from tests.process.commands import BARE, WITH_LIBC, Commands, compile_supervisor


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("cc"):
        lacking("no C compiler")
    return compile_supervisor(tmp_path_factory.mktemp("supervisor") / "supervisor", BARE)


@pytest.fixture(scope="session")
def compiled_with_libc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("cc"):
        lacking("no C compiler")
    return compile_supervisor(tmp_path_factory.mktemp("supervisor") / "supervisor-libc", WITH_LIBC)


@pytest.fixture(params=["compiled", "twin"])
def supervisor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which supervisor this test runs under: path of the compiled one, or empty."""
    path = str(request.getfixturevalue("compiled")) if request.param == "compiled" else ""
    monkeypatch.setenv("SCORPIO_SUPERVISOR", path)
    return path


@pytest.fixture
def commands(supervisor: str, tmp_path: Path) -> Commands:
    return Commands(tmp_path)


@pytest.fixture
def tag() -> str:
    """Seconds to sleep that nobody else sleeps, so that a process can be found by its argument."""
    return str(random.SystemRandom().randrange(10**9, 2 * 10**9))
