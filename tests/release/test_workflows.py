"""The workflows, beyond what their linters (`dev.py check`) see: that they ask for what there is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import dev
import environment
import release
from machine import ROOT

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))


def read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe", pure=True).load((FOLDER / name).read_text("utf-8"))
    return loaded


def commands(workflow: dict[str, Any]) -> list[str]:
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [line for step in steps for line in step.get("run", "").splitlines()]


def test_there_are_workflows_to_test_to_release_and_to_measure() -> None:
    assert [path.name for path in WORKFLOWS] == ["benchmark.yml", "release.yml", "test.yml"]


@pytest.mark.requirement("release:platforms")
def test_release_builds_every_platform_of_the_table() -> None:
    jobs = read("release.yml")["jobs"]
    rows = [row for job in jobs.values() for row in job.get("strategy", {}).get("matrix", {}).get("include", ())]
    assert [(row["platform"], row["needed"]) for row in rows] == [
        (each.name, each.needed) for each in release.PLATFORMS
    ]


def test_the_containers_have_the_c_library_of_the_table() -> None:
    rows = read("release.yml")["jobs"]["linux"]["strategy"]["matrix"]["include"]
    images = {row["platform"]: row["image"] for row in rows}
    for target in (each for each in release.PLATFORMS if each.glibc):
        assert f"/manylinux_2_{target.glibc}_{target.machines[0]}@sha256:" in images[target.name]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_step_names_a_verb_that_there_is(path: Path) -> None:
    verbs = {verb.name for verb in dev.VERBS}
    named = 0
    for line in commands(read(path.name)):
        for program, rest in re.findall(r"build/(dev|release)\.py ([^|>&]+)", line):
            named += 1
            if program == "release":
                release._parsed(rest.replace('"', "").split())
                continue
            own, _, further = rest.partition(" -- ")
            assert own.strip() in verbs
            if own.strip() == "release":
                release._parsed(further.split())
    assert named > 0 or path.name == "test.yml"


def test_tests_are_run_as_ci_runs_them() -> None:
    assert ".ci/run" in commands(read("test.yml"))


@pytest.mark.requirement("release:rights")
def test_a_job_that_may_write_runs_nothing_of_ours_but_release_py() -> None:
    for path in WORKFLOWS:
        workflow = read(path.name)
        assert workflow["permissions"] == {}
        for name, job in workflow["jobs"].items():
            if set(job["permissions"].values()) == {"read"}:
                continue
            ours = [line for step in job["steps"] for line in step.get("run", "").splitlines() if "build/" in line]
            assert all(re.match(r"python3 build/release\.py (sums|notes)\b", line) for line in ours), (path.name, name)
            assert not any("actions/setup" in step.get("uses", "") for step in job["steps"])


@pytest.mark.requirement("release:rights")
def test_every_action_is_pinned_by_its_commit_and_says_its_version() -> None:
    for path in WORKFLOWS:
        used = re.findall(r"uses: (.+)", path.read_text("utf-8"))
        assert used
        for line in used:
            assert re.fullmatch(r"[\w-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), f"{path.name}: {line}"


def test_the_same_action_has_the_same_pin_everywhere() -> None:
    pins = {line for path in WORKFLOWS for line in re.findall(r"uses: (.+)", path.read_text("utf-8"))}
    assert len(pins) == len({pin.partition("@")[0] for pin in pins})


@pytest.mark.parametrize(
    ("fault", "before", "after"),
    [
        ("unpinned-uses", r"actions/checkout@\w+ # v[\d.]+", "actions/checkout@v7"),
        ("template-injection", r'check --tag "\$GITHUB_REF_NAME"', "check --tag ${{ github.ref_name }}"),
        ("excessive-permissions", r"(?m)^permissions: \{\}$", "permissions: write-all"),
    ],
)
def test_a_fault_in_a_workflow_is_found_by_the_check(tmp_path: Path, fault: str, before: str, after: str) -> None:
    changed, times = re.subn(before, after, (FOLDER / "release.yml").read_text("utf-8"))
    assert times > 0
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "release.yml").write_text(changed, "utf-8")
    command = [str(environment.program("zizmor")), "--offline", "--quiet", "--persona=auditor", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode != 0
    assert fault in found.stdout + found.stderr
