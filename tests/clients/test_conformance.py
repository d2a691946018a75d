"""The official conformance suite against the executable, over Streamable HTTP: every scenario, no expected failure."""

from __future__ import annotations

import json
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
PASSED = re.compile(r"^✓ ([a-z0-9-]+): \d+ passed, 0 failed", re.MULTILINE)
FAILED = re.compile(r"^✗ ([a-z0-9-]+): ", re.MULTILINE)

SCORED = {"2025-11-25": 30, "2026-07-28": 37}
"""Scenarios that a revision requires, frozen at its release."""

TASKS = ("lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input", "request-headers")
MORE_TASKS = ("dispatch-and-envelope", "required-task-error", "mrtr-composition")
"""Scenarios of the tasks extension. A tenth, status-notifications, looks at nothing in this release of the suite."""

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


def complaints(results: Path) -> list[Any]:
    """Every check that is neither a success nor for information, warnings included."""
    return [
        (file.parent.name, check["id"], check["status"], check.get("errorMessage"))
        for file in results.glob("*/checks.json")
        for check in json.loads(file.read_text("utf-8"))
        if check["status"] not in ("SUCCESS", "INFO", "SKIPPED")
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
    assert ended.returncode == 0, ended.stdout[-3000:]
    wanted = {f"tasks-{name}" for name in (*TASKS, *MORE_TASKS)}
    wanted |= {"server-sse-polling", "http-header-validation", "server-session-lifecycle"}
    assert wanted <= {*re.findall(r"^✓ ([a-z0-9-]+): [1-9]\d* passed, 0 failed", ended.stdout, re.MULTILINE)}
    assert FAILED.findall(ended.stdout) == []
    assert complaints(tmp_path / "results") == []
