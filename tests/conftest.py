"""The `connect` fixture: one test body over transport x revision, each test with a home and environment of its own."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests.http_link import HttpLink, HttpProcess, http_command
from tests.in_process_http import InProcessHttp
from tests.links import ROOT, ChildProcess, InProcess, clean_environment, server_command
from tests.wire import REVISIONS, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.links import Link

pytest_plugins = ("tests.builds", "tests.ordinary_user", "tests.web_site")

TRANSPORTS = ("in-process", "stdio", "frozen", "http")
"""Where every `connect` test runs. `http-frozen` is for those that name it: the executable over HTTP."""

hypothesis.settings.register_profile("default", deadline=None, max_examples=50)
hypothesis.settings.register_profile("ci", deadline=None, max_examples=200, print_blob=True)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=1000, print_blob=True)  # a round of `fuzz`
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure(config: pytest.Config) -> None:
    for ours in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):  # whoever starts tests with `nohup … &` ignores them,
        if signal.getsignal(ours) == signal.SIG_IGN:  # and every process under test would, as it should
            signal.signal(ours, signal.SIG_DFL)
    config.addinivalue_line("markers", "revisions(*names): the revisions `connect` and `revision` run with; all five")
    config.addinivalue_line("markers", "transports(*names): the transports `connect` runs over; all of them")
    config.addinivalue_line(
        "markers", "not_over(transport, *revisions): left out there, in all revisions if none is named"
    )
    config.addinivalue_line("markers", "requirement(id): the sentence of tests/requirements.toml that this test shows")
    config.addinivalue_line("markers", "slow: waits for real seconds")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite what transcripts expect by what was answered")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = set(metafunc.fixturenames)
    for fixture, marker, every in (("transport", "transports", TRANSPORTS), ("revision", "revisions", REVISIONS)):
        if fixture in names:
            mark = metafunc.definition.get_closest_marker(marker)
            metafunc.parametrize(fixture, mark.args if mark else every)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if _is_left_out(item)]
    if left_out:
        items[:] = [item for item in items if not _is_left_out(item)]
        config.hook.pytest_deselected(items=left_out)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name raw bytes by their argument and number: both workers must find the same names, and gzip holds the time."""
    return argname if isinstance(val, bytes) and not val.decode("latin-1").isprintable() else None


THINNED = {"stdio": ("2025-11-25", "2026-07-28"), "http": ("2025-03-26", "2025-11-25", "2026-07-28")}
"""Revisions that a test without a choice of its own runs with there. The others run in process and frozen: all twenty
combinations would take a quarter of an hour more, and have never told anything that these did not."""


def _is_left_out(item: pytest.Item) -> bool:
    given: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    if given.get("transport") in THINNED and given.get("revision", "") in REVISIONS:
        chosen = item.get_closest_marker("revisions") or item.get_closest_marker("transports")
        if chosen is None and given["revision"] not in THINNED[given["transport"]]:
            return True
    transport = given.get("transport", "").partition("-")[0]
    return any(
        mark.args[0] == transport and (not mark.args[1:] or given.get("revision") in mark.args[1:])
        for mark in item.iter_markers("not_over")
    )


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the executable unpacks itself: once for all tests of a worker, 60 MB and a quarter of a second each."""
    return str(tmp_path_factory.mktemp("unpacked"))


@pytest.fixture
def environ(tmp_path: Path, unpacked: str) -> dict[str, str]:
    """What a server of this test gets as its environment; a test may add to it before it connects."""
    return clean_environment(tmp_path, {"SCORPIO_CACHE_DIR": unpacked})


@pytest.fixture(autouse=True)
def _home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that runs in this process finds the state or the settings of the person who tests."""
    for name in tuple(os.environ):
        if name.startswith(("SCORPIO_", "TOOL_", "CLAUDE_")) and name not in KEPT_HERE:
            monkeypatch.delenv(name)
    monkeypatch.setenv("SCORPIO_HOME", str(tmp_path / ".scorpio"))


KEPT_HERE = ("SCORPIO_STRICT", "SCORPIO_EXECUTABLE_UNDER_TEST")


@pytest.fixture
def link(transport: str, environ: dict[str, str], tmp_path: Path) -> Callable[..., Link]:
    """Makes a link of this test's transport: `link(*toolsets)`."""
    made = 0

    def make(*toolsets: str) -> Link:
        nonlocal made
        made += 1
        quiet = {"LOG_LEVEL": "warning"}  # no line for every request
        stderr_path = tmp_path / f"stderr-{made}"
        if transport == "in-process":
            return InProcess(toolsets, environ, stderr_path)
        if transport == "http":
            return HttpLink(InProcessHttp(toolsets, {**quiet, **environ}, stderr_path))
        if transport == "http-frozen":
            return HttpLink(HttpProcess(http_command(toolsets), {**quiet, **environ}, stderr_path, ROOT))
        if transport == "stdio":
            return ChildProcess(server_command("source", toolsets), environ, stderr_path, ROOT)
        return ChildProcess(server_command("frozen", toolsets), environ, stderr_path, ROOT)

    return make


@pytest.fixture
def connect(link: Callable[..., Link], revision: str) -> Iterator[Callable[..., Wire]]:
    """Opens a connection: `connect("sum", capabilities={...}, handshake=False)`; closed and judged at the end."""
    wires: list[Wire] = []

    def open_wire(*toolsets: str, handshake: bool = True, **options: Any) -> Wire:
        wire = Wire(link(*(toolsets or ("conformance",))), options.pop("revision", revision), **options)
        wires.append(wire)
        if handshake:
            wire.open()
        return wire

    yield open_wire
    for wire in wires:
        if not wire.closed:
            wire.close()
