"""What a run's records become: targets, a page, charts, and the guard that counts instructions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import resvg_py

from benchmarks import charts, instructions, report, rivals_here, scaling, subjects, targets, workloads
from benchmarks.harness import SMALL, Plan, Record
from benchmarks.stdio import round_trips
from tests.lacking import lacking

ROOT = Path(__file__).resolve().parent.parent


def record(benchmark: str, subject: str, median: float, ratio: float = 1.0) -> Record:
    return Record(
        benchmark,
        subject,
        "us",
        median,
        median,
        4 * median,
        ratio,
        ratio,
        ratio,
        None,
        "h",
        True,
        1,
        1,
        "",
        False,
        "m",
        "",
        "",
    )


def row_of(found: list[targets.Reached], against: str, what: str) -> tuple[str, ...]:
    return next(each.row() for each in found if each.row()[:2] == (against, what))


ECHO = [
    record("stdio sum", "limit", 5.0),
    record("stdio sum", "scorpio", 10.0, 2.0),
    record("stdio sum", "Rust SDK 3.9.0", 40.0, 8.0),
]


def test_a_target_is_judged_by_the_ratio_of_the_same_rounds() -> None:
    found = targets.reached(ECHO)
    assert row_of(found, "limit", "echo (`sum`)") == ("limit", "echo (`sum`)", "≤ 1.8×", "2×", "**not met**")
    assert row_of(found, "Rust SDK 3.9.0", "echo") == ("Rust SDK 3.9.0", "echo", "≥ 1×", "4×", "ok")
    assert row_of(found, "absolute", "p99 of an echo, of its median")[3:] == ("4×", "ok")


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    assert row_of(targets.reached(ECHO), "limit", "Bash")[3:] == ("not measured", "–")


def test_every_target_names_a_benchmark_and_a_subject_that_exist() -> None:
    tables = tomllib.loads((ROOT / "benchmarks" / "rivals.toml").read_text("utf-8"))
    titles = {table["title"] for table in tables.values()} | {targets.LIMIT, ""}
    names = {f"stdio {workload.name}" for workload in workloads.stdio()}
    names |= {"startup", "memory idle pss", "memory idle rss", "command bash", "command output", "http modern sum x64"}
    assert {target.against for target in targets.targets()} <= titles
    assert {target.benchmark for target in targets.targets()} <= names
    assert {name for name, _ in report.COLUMNS} - names == {"command bash at once", "command background"}
    assert {bar[1] for bar in charts.BARS} <= names


def test_growth_faster_than_what_is_asked_is_named_with_its_step() -> None:
    steady = [record(f"scaling calls {number}", "scorpio", 3.0 * number) for number in (1, 4, 16)]
    square = [record(f"scaling tools {number}", "scorpio", 0.1 * number**2) for number in (13, 50, 200)]
    assert scaling.grown_too_fast(steady) == []
    assert scaling.grown_too_fast([*steady, *square]) == [
        "scaling tools: 50 cost 3.8 times their part of 13",
        "scaling tools: 200 cost 4.0 times their part of 50",
    ]


def test_charts_are_pictures_of_the_records(tmp_path: Path) -> None:
    curve = [record(f"scaling message {number}", "scorpio", number / 7) for number in (1_000, 10_000, 32_000_000)]
    drawn = charts.draw([*ECHO, *curve], tmp_path)
    assert [path.name for path in drawn] == ["echo.svg", "scaling.svg"]
    for path in drawn:
        picture = resvg_py.svg_to_bytes(svg_string=path.read_text("utf-8"))
        assert bytes(picture).startswith(b"\x89PNG")
    text = drawn[0].read_text("utf-8")
    assert all(words in text for words in ("C loop (limit)", "Rust SDK 3.9.0", ">scorpio<", ">40<"))


def test_a_page_holds_targets_medians_growth_and_what_was_left_out() -> None:
    page = report.page(ECHO, "machine, commit", {"Go SDK": "go is not here"})
    assert page.startswith("# machine, commit\n")
    assert "| scorpio | 10 (2×) |" in page
    assert "- Go SDK: go is not here.\n" in page


def test_over_twenty_per_cent_more_instructions_is_a_regression_and_less_is_none() -> None:
    known = {"ping": 1000, "sum": 1000, "gone": 5}
    assert instructions.regressions({"ping": 1200, "sum": 100, "new": 9}, known) == []
    (sentence,) = instructions.regressions({"ping": 1201, "sum": 1000}, known)
    assert sentence.startswith("ping: 1,201 instructions a message, 20% more than the 1,000 of ")


def test_the_committed_counts_are_of_the_workloads_that_are_counted() -> None:
    kept = json.loads(instructions.BASELINE.read_text("utf-8"))
    names = [workload.name for workload in instructions.workloads()]
    assert kept
    assert all(sorted(counts) == sorted(names) for counts in kept.values())


def test_counted_instructions_are_more_when_there_are_more_messages(tmp_path: Path) -> None:
    if not shutil.which("valgrind"):
        lacking("valgrind is not installed")
    plan = Plan(tmp_path, SMALL)
    ping = next(instructions.workloads())
    limit = subjects.limit(
        plan, b'{"jsonrpc":"2.0","id":1000001,"result":{}}\n'
    )  # starts sooner than Python in valgrind
    few, many = (instructions.instructions_of(plan, limit, ping, number) for number in (1, 101))
    assert 0 < many - few < few


def test_a_paused_request_waits_before_each_round_trip(tmp_path: Path) -> None:
    plan = Plan(tmp_path, replace(SMALL, paused_count=3))
    limit = subjects.limit(plan, b'{"jsonrpc":"2.0","id":1000001,"result":{}}\n')
    paused = workloads.Workload("ping", "ping", count=100, pause_ms=20)
    started_ns = time.monotonic_ns()
    assert len(round_trips(plan, limit, paused).samples) == 3
    assert time.monotonic_ns() - started_ns >= 3 * 20_000_000  # it cannot be quicker, however busy the machine


def test_a_toolset_of_any_size_lists_all_of_its_tools(tmp_path: Path) -> None:
    plan = Plan(tmp_path, SMALL)
    tree = scaling.tree_of_tools(tmp_path / "tree", 3)
    listed = subjects.answer_of(plan, subjects.source("many", tree), workloads.line("tools/list", None, 1_000_001))
    names = {tool["name"] for tool in json.loads(listed)["result"]["tools"]}
    assert {"Tool0", "Tool1", "Tool2"} <= names


def test_a_rival_whose_installer_is_missing_is_a_note_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("NPM", "RUST", "GO"):
        monkeypatch.setattr(rivals_here, name, tmp_path / name.lower())
    plan = Plan(tmp_path, SMALL)
    rivals_here.install_rivals(plan, ("Node.js", "Rust", "Go"))
    assert plan.notes == {
        "rivals in Node.js": "npm is not here",
        "rivals in Rust": "cargo is not here",
        "rivals in Go": "go is not here",
    }


def test_a_partial_run_leaves_the_committed_results_alone(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    command = [sys.executable, "benchmarks/run.py", "--small", "--only", "scaling tools", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "## Growth" in (tmp_path / "table.md").read_text("utf-8")
    rows = json.loads(out.read_text("utf-8"))["records"]
    assert [row["benchmark"] for row in rows] == ["scaling tools 13", "scaling tools 50"]
