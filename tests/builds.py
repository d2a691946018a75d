"""One test body over both builds: from source, and frozen where there is an executable.

Fixtures: `build`, `command` (its command line), `start` (a server on descriptors of the test's choice).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from tests.links import ROOT, executable_under_test, frozen_command, source_command
from tests.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "builds(*names): the builds that `build` runs with; source and frozen")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "build" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("builds")
        metafunc.parametrize("build", mark.args if mark else ("source", "frozen"))


def lacking(what: str) -> NoReturn:
    """Skip; fail where SCORPIO_STRICT=1 says that nothing may be left out."""
    if os.environ.get("SCORPIO_STRICT") == "1":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture
def command(build: str) -> Callable[..., list[str]]:
    """The command line that serves some toolsets."""

    def command(*toolsets: str) -> list[str]:
        if build == "source":
            return source_command(toolsets)
        try:
            return frozen_command(executable_under_test(), toolsets)
        except FileNotFoundError as missing:
            lacking(str(missing))

    return command


@pytest.fixture
def start(
    command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path
) -> Iterator[Callable[..., ServerProcess]]:
    """`start("sum", wrapped=["sh", "-c", …], stdin=fd, environ={…})`; ended by force after the test."""
    started: list[ServerProcess] = []

    def start(*toolsets: str, wrapped: Sequence[str] = (), **options: Any) -> ServerProcess:
        options.setdefault("cwd", ROOT)
        server = ServerProcess(
            [*wrapped, *command(*(toolsets or ("sum",)))],
            options.pop("environ", environ),
            tmp_path / f"stderr-{len(started)}",
            **options,
        )
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()
