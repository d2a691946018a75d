"""The official conformance suite against the executable, over Streamable HTTP: every scenario, no expected failure.

As a server, and as a client with its log-ins.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.node import node_path, program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.http_link import HttpProcess

BOUND_S = 100
CLIENT_BOUND_S = 280
PASSED = re.compile(r"^✓ ([a-z0-9-]+): \d+ passed, 0 failed", re.MULTILINE)
FAILED = re.compile(r"^✗ ([a-z0-9-]+): ", re.MULTILINE)

PASSED_CLIENT = re.compile(r"^✓ ([a-z0-9_/-]+): [1-9]\d* passed, 0 failed", re.MULTILINE)
FAILED_CLIENT = re.compile(r"^✗ ([a-z0-9_/-]+): ", re.MULTILINE)

SCORED = {"2025-11-25": 30, "2026-07-28": 37}
"""Scenarios that a revision requires, frozen at its release."""

CLIENT_SCORED = {"2025-11-25": 18, "2026-07-28": 32}
CLIENT_NOT_SCORED = 7
"""The six extensions of OAuth among them; each revision's run has the same ones."""

TASKS = "tasks-"
"""Scenarios of the tasks extension begin so."""

pytestmark = pytest.mark.builds("frozen")


@pytest.fixture
def suite(
    start_http: Callable[..., HttpProcess], environ: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`suite("--suite", "all")`: one run of it."""
    conformance, path = program("conformance"), node_path()

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        server = start_http("conformance", environ={**environ, "LOG_LEVEL": "warning"})
        ended = subprocess.run(
            [conformance, "server", "--url", f"http://127.0.0.1:{server.port}/mcp", "-o", "results", *options],
            env={**environ, "PATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=BOUND_S,
        )
        server.stop()
        assert server.wait(BOUND_S) == 0
        assert "Internal error" not in server.stderr()
        return ended

    return run


@pytest.fixture
def client_suite(
    command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`client_suite("--requirements", "2025-11-25")`: one run; it starts a client for every scenario."""
    conformance, path = program("conformance"), node_path()
    executable = os.path.abspath(command()[0])

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [conformance, "client", "--command", f"{executable} client conformance", "-o", "results", *options],
            env={**environ, "PATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=CLIENT_BOUND_S,
        )

    return run


def complaints(results: Path) -> list[Any]:
    """Every check that is neither a success nor for information, warnings included; those of tasks aside."""
    return [
        (str(file.parent.relative_to(results)), check["id"], check["status"], check.get("errorMessage"))
        for file in results.rglob("checks.json")
        for check in json.loads(file.read_text("utf-8"))
        if check["status"] not in ("SUCCESS", "INFO", "SKIPPED") and TASKS not in file.parent.name
    ]


@pytest.mark.requirement("http:conformance")
@pytest.mark.parametrize("required", SCORED)
def test_every_scenario_that_a_revision_requires_passes(
    suite: Callable[..., subprocess.CompletedProcess[str]], required: str, tmp_path: Path
) -> None:
    ended = suite("--requirements", required)
    assert ended.returncode == 0, ended.stdout[-3000:]
    scored = ended.stdout.partition("Not scored")[0]
    passed = set(PASSED.findall(scored)) - set(re.findall(r"^  . ([a-z0-9-]+) \(", ended.stdout, re.MULTILINE))
    assert len(passed) == SCORED[required], ended.stdout[-3000:]
    assert complaints(tmp_path / "results") == []


@pytest.mark.requirement("http:conformance")
def test_every_other_scenario_passes_too(
    suite: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    ended = suite("--suite", "all")
    assert {"server-sse-polling", "http-header-validation", "server-session-lifecycle"} <= {
        *PASSED.findall(ended.stdout)
    }
    assert [name for name in FAILED.findall(ended.stdout) if not name.startswith(TASKS)] == []
    assert complaints(tmp_path / "results") == []


@pytest.mark.requirement("client:conformance")
@pytest.mark.parametrize("required", CLIENT_SCORED)
def test_every_scenario_of_a_client_passes_with_all_log_ins(
    client_suite: Callable[..., subprocess.CompletedProcess[str]], required: str, tmp_path: Path
) -> None:
    ended = client_suite("--requirements", required)
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert FAILED_CLIENT.findall(ended.stdout) == []
    assert len(PASSED_CLIENT.findall(ended.stdout)) == CLIENT_SCORED[required] + CLIENT_NOT_SCORED
    assert complaints(tmp_path / "results") == []
