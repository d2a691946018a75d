"""What a start needs: no home, no temporary directory, few descriptors, few imports. What waiting costs: nothing."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.links import ROOT
from tests.server_process import ServerProcess, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WINDOW_S = 2.0


def assert_serves(server: ServerProcess) -> None:
    server.open()
    assert [tool["name"] for tool in server.request("tools/list")["result"]["tools"]] == ["sum"]
    assert server.call("sum", {"a": 3, "b": 4})["result"]["content"] == [{"type": "text", "text": "3 + 4 = 7"}]
    server.close_stdin()
    assert (server.rest(), server.status()) == (b"", 0)


@pytest.mark.parametrize("home", [None, "/dev/null", "/nonexistent", "/proc", "relative"])
def test_it_serves_without_a_home_it_could_write(
    start: Callable[..., ServerProcess], environ: dict[str, str], home: str | None
) -> None:
    environ = {name: value for name, value in environ.items() if name not in ("HOME", "SCORPIO_HOME")}
    assert_serves(start(environ=environ | ({} if home is None else {"HOME": home})))


def test_it_serves_with_a_state_directory_that_is_a_file(
    start: Callable[..., ServerProcess], environ: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.touch()
    assert_serves(start(environ={**environ, "SCORPIO_HOME": str(path)}))


@pytest.mark.builds("frozen")
def test_the_executable_serves_where_home_and_temporary_directory_are_none(
    start: Callable[..., ServerProcess], environ: dict[str, str]
) -> None:
    kept = {name: value for name, value in environ.items() if name in ("PATH", "LANG")}
    assert_serves(start(environ={**kept, "HOME": "/dev/null", "TMPDIR": "/nonexistent"}))


def test_it_serves_with_an_empty_environment_but_for_its_own_path(
    start: Callable[..., ServerProcess], environ: dict[str, str]
) -> None:
    own = ("PYTHONPATH", "PYTHONPYCACHEPREFIX", "SCORPIO_CACHE_DIR")
    assert_serves(start(environ={name: environ[name] for name in own}))


def test_it_serves_where_the_temporary_directory_is_missing(
    start: Callable[..., ServerProcess], environ: dict[str, str]
) -> None:
    assert_serves(start(environ={**environ, "TMPDIR": "/nonexistent/tmp"}))


def test_it_serves_from_a_directory_that_was_removed(start: Callable[..., ServerProcess], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    assert_serves(start(wrapped=["sh", "-c", 'cd "$1" && rmdir "$1" && shift && exec "$@"', "sh", str(gone)]))


def test_it_serves_with_64_descriptors(start: Callable[..., ServerProcess]) -> None:
    assert_serves(start(wrapped=["sh", "-c", 'ulimit -n 64 && exec "$@"', "sh"]))


def test_it_serves_slow_calls_with_64_descriptors(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance", wrapped=["sh", "-c", 'ulimit -n 64 && exec "$@"', "sh"]).open()
    assert server.call("test_slow", {"ms": 1})["result"]["isError"] is False


def test_a_slow_call_whose_lane_cannot_start_is_answered_and_the_next_one_is_served(
    start: Callable[..., ServerProcess],
) -> None:
    server = start("conformance").open()
    server.request("ping")  # after the imports that follow the first answer
    bounds = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    used = max(map(int, os.listdir(f"/proc/{server.pid}/fd"))) + 1
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used + 2, bounds[1]))  # modules, but no event loop
    assert server.call("test_slow", {"ms": 1})["error"]["code"] == -32603
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, bounds)
    assert server.call("test_slow", {"ms": 1})["result"]["isError"] is False


def test_a_pipe_in_place_of_a_projects_configuration_does_not_hold_the_start(
    start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    (tmp_path / ".scorpio").mkdir()
    os.mkfifo(tmp_path / ".scorpio" / "scorpio-env.txt")
    assert_serves(start(cwd=tmp_path))


@pytest.mark.parametrize("prefix", ["x y", "é", "a.b", "p" * 65, "a\n"])
def test_a_prefix_that_no_name_of_a_tool_can_have_is_refused(start: Callable[..., ServerProcess], prefix: str) -> None:
    server = start(f"sum:{prefix}")
    assert (server.rest(), server.status()) == (b"", 2)
    assert "is no prefix" in server.stderr()


def test_an_unknown_toolset_is_one_line_on_stderr_and_status_2(start: Callable[..., ServerProcess]) -> None:
    server = start("nothing_like_it")
    assert (server.rest(), server.status()) == (b"", 2)
    assert server.stderr().startswith("scorpio: There is no toolset 'nothing_like_it'")
    assert server.stderr().count("\n") == 1


def test_a_server_that_waits_does_not_wake_up(start: Callable[..., ServerProcess]) -> None:
    server = start("conformance").open()
    server.call("test_slow", {"ms": 1})  # the slow lane waits too
    server.request("ping")
    settled = -1
    while settled != (settled := server.wakeups()):
        readable(server.stdout_fd, 0.2)
    before_ticks = server.processor_ticks()
    assert not readable(server.stdout_fd, WINDOW_S)
    assert server.wakeups() - settled <= WINDOW_S
    assert server.processor_ticks() - before_ticks <= 1


COSTLY = {
    "argparse",
    "asyncio",
    "contextlib",
    "dataclasses",
    "enum",
    "fastjsonschema",
    "functools",
    "json",
    "logging",
    "orjson",
    "pathlib",
    "re",
    "signal",
    "socket",
    "subprocess",
    "tempfile",
    "typing",
}
SLOW_LANE_ONLY = {
    "argparse",
    "asyncio",
    "fastjsonschema",
    "logging",
    "multiprocessing",
    "socket",
    "subprocess",
    "tempfile",
}


def imported(stderr: str) -> list[tuple[int, str]]:
    """Depth and name of every import that -X importtime reported; who imports stands after what it imported."""
    found = []
    for line in stderr.splitlines():
        if line.startswith("import time:") and "cumulative" not in line:
            name = line.rpartition("|")[2]
            found.append(((len(name) - len(name.lstrip())) // 2, name.strip()))
    return found


@pytest.fixture(scope="module")
def python_s_own() -> set[str]:
    """What `python -m` imports before it runs anything."""
    command = [sys.executable, "-X", "importtime", "-m", "scorpio.limits"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=ROOT)
    return {name for _, name in imported(ended.stderr)}


@pytest.fixture
def timed(environ: dict[str, str], tmp_path: Path) -> Iterator[ServerProcess]:
    """A server started as a client's configuration starts it, without arguments, that reports its imports."""
    command = [sys.executable, "-X", "importtime", "-m", "scorpio"]
    server = ServerProcess(command, {**environ, "TOOLSETS": "sum"}, tmp_path / "stderr", cwd=ROOT)
    yield server.open()
    server.kill()


def test_the_first_answer_needs_no_costly_import(timed: ServerProcess, python_s_own: set[str]) -> None:
    timed.close_stdin()
    assert timed.status() == 0
    imports = imported(timed.stderr())
    [orjson_at] = [at for at, (_, name) in enumerate(imports) if name == "orjson"]
    before = orjson_at
    while imports[before - 1][0] > imports[orjson_at][0]:  # what orjson imports stands before it, deeper
        before -= 1
    first = {name for _, name in imports[:before]}
    assert "scorpio.server.server" in first
    assert not (first - python_s_own) & COSTLY


def test_instant_calls_need_no_import_of_the_slow_lane(timed: ServerProcess, python_s_own: set[str]) -> None:
    timed.request("tools/list")
    assert timed.call("sum", {"a": "3", "b": 4.0})["result"]["isError"] is False
    assert timed.call("sum", {"a": []})["result"]["isError"] is True
    timed.close_stdin()
    assert timed.status() == 0
    assert not ({name for _, name in imported(timed.stderr())} - python_s_own) & SLOW_LANE_ONLY
