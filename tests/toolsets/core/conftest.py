"""Servers of the core toolset for one test, on the compiled supervisor where there is a compiler."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.process.commands import BARE, compile_supervisor
from tests.toolsets.core.local_core import LocalCore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def supervisor_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    if not shutil.which("cc"):
        return ""
    return str(compile_supervisor(tmp_path_factory.mktemp("supervisor") / "supervisor", BARE))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def open_core(
    tmp_path: Path, home: Path, supervisor_path: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., LocalCore]]:
    """Opens servers on this test's home: `open_core(bg_survive=True)`; what is open at the end is closed."""
    monkeypatch.setenv("SCORPIO_SUPERVISOR", supervisor_path)
    opened: list[LocalCore] = []

    def open_one(at: Path = home, **settings: Any) -> LocalCore:
        opened.append(LocalCore(at, tmp_path, **settings))
        return opened[-1]

    yield open_one
    for core in opened:
        core.close()


@pytest.fixture
def core(open_core: Callable[..., LocalCore]) -> LocalCore:
    return open_core()


@pytest.fixture(scope="session")
def _shared_reader(tmp_path_factory: pytest.TempPathFactory, supervisor_path: str) -> Iterator[LocalCore]:
    """One server for all tests that only read pages: its browser is started once. Every test has sites of its own."""
    directory = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCORPIO_SUPERVISOR", supervisor_path)
        core = LocalCore(directory / "home", directory)
    yield core
    core.close()


@pytest.fixture
def reader(_shared_reader: LocalCore) -> LocalCore:
    """The shared server without what it has kept: the sites of two tests may have the same address."""
    _shared_reader.state.pages._kept.clear()
    return _shared_reader


@pytest.fixture
def _patient_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start waits for an early death however slow this machine is now. For tasks that do die."""
    monkeypatch.setattr("tools.core.background_tasks.TASK_START_WAIT_MS", 20_000)


@pytest.fixture
def tag() -> str:
    """Seconds to sleep that nobody else sleeps, so that a process can be found by its argument."""
    return str(random.SystemRandom().randrange(10**9, 2 * 10**9))
