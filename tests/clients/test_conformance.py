"""The official conformance suite against the executable, over Streamable HTTP: every scenario, no expected failure.

As a server, and as a client with its log-ins.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.node import program, run

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.http_link import HttpProcess

BOUND_S = 100
CLIENT_BOUND_S = 280
PASSED = re.compile(r"^✓ ([a-z0-9_-]+): \d+ passed, 0 failed", re.MULTILINE)
FAILED = re.compile(r"^✗ ([a-z0-9_-]+): ", re.MULTILINE)

PASSED_CLIENT = re.compile(r"^✓ ([a-z0-9/_-]+): [1-9]\d* passed, 0 failed", re.MULTILINE)
FAILED_CLIENT = re.compile(r"^✗ ([a-z0-9/_-]+): ", re.MULTILINE)

SCORED = {"2025-11-25": 30, "2026-07-28": 37}
"""Scenarios that a revision requires, frozen at its release."""

TASKS = ("lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input", "request-headers")
MORE_TASKS = ("dispatch-and-envelope", "required-task-error", "mrtr-composition")
"""Scenarios of the tasks extension. A tenth, status-notifications, looks at nothing in this release of the suite."""

SKILLS = {"enumeration": 31, "manifest": 5, "directory": 6}
"""Scenarios of the skills extension and how much each looks at. No revision requires them: `--suite all` has them."""

NOT_IN_SESSIONS = ["sep-2640-skills-get-cache-attributes", "sep-2640-skills-list-cache-attributes"]
"""What they leave out before 2026-07-28: ttlMs and cacheScope came with it."""

CLIENT_SCORED = {"2025-11-25": 18, "2026-07-28": 32}
CLIENT_NOT_SCORED = 7
"""The six extensions of OAuth among them; each revision's run has the same ones."""

pytestmark = pytest.mark.builds("frozen")


@pytest.fixture
def suite(
    start_http: Callable[..., HttpProcess], environ: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`suite("--suite", "all")`: one run of it."""
    conformance = program("conformance")

    def suite(*options: str) -> subprocess.CompletedProcess[str]:
        server = start_http("conformance", environ={**environ, "LOG_LEVEL": "warning"})
        words = ("server", "--url", f"http://127.0.0.1:{server.port}/mcp", "-o", "results", *options)
        ended = run(conformance, *words, environ=environ, cwd=tmp_path, bound_s=BOUND_S)
        server.stop()
        assert server.wait(BOUND_S) == 0
        assert "Internal error" not in server.stderr()
        return ended

    return suite


@pytest.fixture
def client_suite(
    command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`client_suite("--requirements", "2025-11-25")`: the other half, which starts a client a scenario."""
    conformance = program("conformance")
    [executable, *_] = command()

    def suite(*options: str) -> subprocess.CompletedProcess[str]:
        words = ("client", "--command", f"{executable} client conformance", "-o", "results", *options)
        return run(conformance, *words, environ=environ, cwd=tmp_path, bound_s=CLIENT_BOUND_S)

    return suite


def complaints(results: Path) -> list[Any]:
    """Every check that is neither a success nor for information, warnings included."""
    return [
        (str(file.parent.relative_to(results)), check["id"], check["status"], check.get("errorMessage"))
        for file in results.rglob("checks.json")
        for check in json.loads(file.read_text("utf-8"))
        if check["status"] not in ("SUCCESS", "INFO", "SKIPPED")
    ]


def skipped(results: Path, begin: str = "") -> list[str]:
    """Every check that looked at nothing, and what it says of that."""
    return [
        f"{check['id']}: {check['description']}"
        for file in sorted(results.rglob("checks.json"))
        for check in json.loads(file.read_text("utf-8"))
        if check["status"] == "SKIPPED" and check["id"].startswith(begin)
    ]


def statuses(results: Path) -> list[str]:
    """How the checks of the skills extension ended."""
    return [
        check["status"]
        for file in results.rglob("checks.json")
        for check in json.loads(file.read_text("utf-8"))
        if check["id"].startswith("sep-2640")
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
@pytest.mark.requirement("skills-extension:conformance")
def test_every_other_scenario_passes_too(
    suite: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    ended = suite("--suite", "all")
    assert ended.returncode == 0, ended.stdout[-3000:]
    wanted = {f"tasks-{name}" for name in (*TASKS, *MORE_TASKS)}
    wanted |= {"server-sse-polling", "http-header-validation", "server-session-lifecycle"}
    wanted |= {f"sep-2640-skills-{name}" for name in SKILLS}
    assert wanted <= {*re.findall(r"^✓ ([a-z0-9-]+): [1-9]\d* passed, 0 failed", ended.stdout, re.MULTILINE)}
    assert FAILED.findall(ended.stdout) == []
    assert complaints(tmp_path / "results") == []

    assert statuses(tmp_path / "results") == ["SUCCESS"] * sum(SKILLS.values())
    assert [note for note in skipped(tmp_path / "results") if "declare" in note] == []
    assert skipped(tmp_path / "results", "tasks-status-notifications") == [
        "tasks-status-notifications: Status notifications conformance, pending subscriptions/listen rewrite."
    ], "the suite looks at status notifications now: say so in TASKS"


@pytest.mark.requirement("skills-extension:conformance")
def test_the_skills_extension_passes_in_a_session_too(
    suite: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    for name, count in SKILLS.items():
        options = ("--scenario", f"sep-2640-skills-{name}", "--spec-version", "2025-11-25", "--force")
        ended = suite(*options, "-o", name)
        assert ended.returncode == 0, ended.stdout[-3000:]
        left_out = [note.partition(":")[0] for note in skipped(tmp_path / name, "sep-2640")]
        assert sorted(left_out) == (NOT_IN_SESSIONS if name == "enumeration" else [])
        assert statuses(tmp_path / name).count("SUCCESS") == count - len(left_out)


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
