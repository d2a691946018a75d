"""Commands of scorpio as a person types them: each a process of its own, in a project whose home is above it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.links import ROOT, executable_under_test, program_of

Run = Callable[..., "subprocess.CompletedProcess[str]"]

BOUND_S = 100.0
"""Over the longest, a doctor that tries everything; it only guards against a hang."""


@pytest.fixture
def executable() -> str:
    return executable_under_test()


@pytest.fixture
def environment(tmp_path: Path, unpacked: str) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "SCORPIO_CACHE_DIR": unpacked}


@pytest.fixture
def program(build: str) -> list[str]:
    """The words that start either build."""
    return program_of(build)


@pytest.fixture
def run(program: list[str], environment: dict[str, str], tmp_path: Path) -> Run:
    """`run("config", "--dump", LOG_LEVEL="debug")`: one command of either build, and what became of it."""
    project = tmp_path / "project"
    project.mkdir()
    own = {"PATH": "/usr/bin:/bin", "SCORPIO_CWD": str(project), "PYTHONPATH": str(ROOT)}

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*program, *arguments], env=environment | own | variables, cwd=project,
            stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=BOUND_S, check=False,
        )  # fmt: skip

    return run
