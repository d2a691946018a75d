"""One test body over both builds: from source, and frozen where there is an executable.

Fixtures: `build`, `command` (its command line), `start` (a server on descriptors of the test's choice),
`start_http` (one on a port of its own).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.http_link import HttpProcess
from tests.links import ROOT, program_of, server_command
from tests.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "builds(*names): the builds that `build` runs with; source and frozen")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "build" in metafunc.fixturenames and not any("build" in names for names in chosen):
        mark = metafunc.definition.get_closest_marker("builds")
        metafunc.parametrize("build", mark.args if mark else ("source", "frozen"))


@pytest.fixture
def command(build: str) -> Callable[..., list[str]]:
    """The command line that serves some toolsets."""

    def command(*toolsets: str) -> list[str]:
        return server_command(build, toolsets)

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


@pytest.fixture
def start_http(build: str, environ: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., HttpProcess]]:
    """`start_http("sum", options=["--metrics"], environ={…})`: serving when it is returned; ended after the test."""
    started: list[HttpProcess] = []

    def start(*toolsets: str, options: Sequence[str] = (), environ: dict[str, str] = environ) -> HttpProcess:
        chosen = ("--toolsets", ",".join(toolsets or ("sum",)), *(() if "--port" in options else ("--port", "0")))
        path = tmp_path / f"http-stderr-{len(started)}"
        started.append(HttpProcess([*program_of(build), "http", *chosen, *options], environ, path, ROOT))
        return started[-1]

    yield start
    for server in started:
        server.kill()
