"""Every benchmark runs, with tiny input, and gives the same answers each time. No time is looked at."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import commands, http, memory, profiles, receive, startup, stdio, subjects, workloads
from benchmarks.harness import SMALL, BenchmarkFailure, Plan, Record, Run, Subject, alternate, run_client
from tests.lacking import lacking

ROOT = Path(__file__).resolve().parent.parent
RIVALS = ROOT / "benchmarks" / "rivals.toml"

COUNTING = """
import sys
for number, line in enumerate(sys.stdin):
    if '"id"' in line:
        print(line[:30] + '"result":{"number":%d}}' % number, flush=True)
"""
"""A server whose answers are all different."""


@pytest.fixture
def compiler() -> None:
    """The client that measures is C."""
    if shutil.which(os.environ.get("CC") or "cc") is None:
        lacking("no C compiler")


needs_compiler = pytest.mark.usefixtures("compiler")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(tmp_path, SMALL)


def rival(folder: Path, name: str) -> Path:
    """A file with one of the rivals: those that are installed here are more and slower than a test needs."""
    text = RIVALS.read_text("utf-8")
    alone = folder / "one.toml"
    alone.write_text(text[text.index(f"[{name}]\n") :].partition("\n\n")[0], "utf-8")
    return alone


def hashes(records: Iterator[Record]) -> dict[str, str]:
    """Hash of the answers by subject, of runs that were alike within themselves."""
    found = {}
    for record in records:
        assert record.answers_alike
        found[record.subject] = record.hash
    return found


@needs_compiler
@pytest.mark.parametrize("workload", [workload.name for workload in workloads.stdio()])
def test_scorpio_and_the_limit_answer_the_same_bytes(plan: Plan, workload: str) -> None:
    plan.only = f"stdio {workload}"
    found = hashes(record for record in stdio.run(plan) if record.benchmark == plan.only)
    assert found.keys() >= {"limit", "scorpio source"}
    assert len({*found.values()}) == 1
    assert "differs" not in found["limit"]


@needs_compiler
@pytest.mark.parametrize("kind", [kind.name for kind in http.kinds()])
def test_scorpio_and_the_limit_answer_the_same_bytes_over_http(plan: Plan, kind: str) -> None:
    plan.only = f"http {kind}"
    found = hashes(http.run(plan))
    assert found.keys() >= {"limit", "scorpio source"}
    assert len({*found.values()}) == 1


@needs_compiler
def test_a_rival_over_http_means_the_same_as_scorpio(plan: Plan, tmp_path: Path) -> None:
    plan.only = "http modern"
    plan.rivals = [rival(tmp_path, "python-sdk-http")]
    by_subject = {record.subject: record for record in http.run(plan)}
    assert len({record.same for record in by_subject.values()}) == 1
    assert "Python SDK 2.3.0 HTTP" in by_subject


@needs_compiler
def test_a_start_is_answered_the_same_by_every_form(plan: Plan) -> None:
    found = hashes(startup.run(plan))
    assert len({*found.values()}) == 1


@needs_compiler
@pytest.mark.parametrize("kind", ["command bash at once", "command background"])
def test_a_command_answers_what_the_bare_spawn_says(plan: Plan, kind: str) -> None:
    plan.only = kind
    found = {record.subject: record.hash for record in commands.run(plan)}
    assert "limit" in found
    assert len({*found.values()}) == 1


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_is_measured_of_a_server_that_answered(plan: Plan) -> None:
    records = [*memory.run(plan)]
    assert {"memory idle rss", "memory idle pss"} <= {record.benchmark for record in records}
    assert all(record.min > 0 for record in records if "idle" in record.benchmark)
    assert not [record for record in records if "differs" in record.hash]


@pytest.mark.parametrize("case", receive.cases())
def test_a_step_in_process_gives_the_same_each_time(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCORPIO_HOME", str(tmp_path))
    _, first, differing = receive.measured(case, 2)
    _, second, _ = receive.measured(case, 2)
    assert (second, differing) == (first, 0)


@needs_compiler
def test_a_rival_means_the_same_as_scorpio(plan: Plan, tmp_path: Path) -> None:
    plan.only = "stdio sum x64"
    plan.rivals = [rival(tmp_path, "python-sdk")]
    by_subject = {record.subject: record for record in stdio.run(plan)}
    assert len({record.same for record in by_subject.values()}) == 1
    assert "Python SDK 2.3.0" in by_subject


@needs_compiler
def test_a_rival_that_is_not_here_is_named_with_the_reason(plan: Plan, tmp_path: Path) -> None:
    rivals = tmp_path / "rivals.toml"
    rivals.write_text('[other]\ntitle = "Other 1"\ncommand = ["no-such-program"]\nruntime = "other"\n', "utf-8")
    plan.rivals = [rivals]
    assert [*subjects.rivals(plan)] == []
    assert plan.notes == {"Other 1": "no-such-program is not here"}


@needs_compiler
def test_an_answer_that_changed_changes_the_hash(plan: Plan) -> None:
    ping = workloads.Workload("ping", "ping", count=4)
    runs = [
        stdio.round_trips(plan, subjects.limit(plan, answer), ping)
        for answer in (
            b'{"jsonrpc":"2.0","id":1000001,"result":{}}\n',
            b'{"jsonrpc":"2.0","id":1000001,"result":{"a":1}}\n',
        )
    ]
    assert runs[0].hash != runs[1].hash


@needs_compiler
def test_answers_that_differ_within_a_run_are_counted(plan: Plan) -> None:
    subject = Subject("counting", [sys.executable, "-c", COUNTING], "")
    assert stdio.round_trips(plan, subject, workloads.Workload("ping", "ping", count=4)).differing == 3


@needs_compiler
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no room here >&2", "no room here"),
        ('while read l; do echo \'{"jsonrpc":"2.0","id":1000000,"result":{}}\'; done', "id 1000000"),
        (
            'while read l; do i=$(echo $l | cut -c18-29); echo "{\\"jsonrpc\\":\\"2.0\\",$i,\\"error\\":{}}"; done',
            "error",
        ),
    ],
    ids=["dies", "another id", "an error"],
)
def test_a_server_that_does_not_answer_is_a_failure_with_its_words(plan: Plan, script: str, words: str) -> None:
    subject = Subject("broken", ["sh", "-c", script], "")
    with pytest.raises(BenchmarkFailure, match=words):
        stdio.round_trips(plan, subject, workloads.Workload("ping", "ping", count=4))


@needs_compiler
def test_a_command_that_does_not_exist_is_a_failure(plan: Plan) -> None:
    with pytest.raises(BenchmarkFailure, match="No such file"):
        run_client(plan, Subject("absent", ["no-such-program"], ""), ["--start", "--handshake", "/dev/null"])


def test_subjects_take_turns_and_ratios_are_of_the_same_round() -> None:
    turns = []
    times = {"a": iter([1.0, 10.0, 100.0]), "b": iter([2.0, 30.0, 200.0])}

    def measure(subject: Subject) -> Run:
        turns.append(subject.name)
        return Run([next(times[subject.name])], "h")

    records = alternate("b", [Subject("a", [], ""), Subject("b", [], "")], 3, measure, "us")
    assert turns == ["a", "b", "b", "a", "a", "b"]
    assert (records[1].ratio, records[1].ratio_min, records[1].ratio_max) == (2.0, 2.0, 3.0)


@needs_compiler
def test_every_number_is_kept_with_where_it_comes_from(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    command = [sys.executable, "benchmarks/run.py", "--small", "--only", "stdio ping", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    kept = json.loads(out.read_text("utf-8"))
    assert all(row["machine"] and row["runtime"] for row in kept["records"])
    assert {row["commit"] for row in kept["records"] if row["subject"] != "limit"} == {kept["commit"]}
    lines = done.stdout.splitlines()
    assert all(any(row["subject"] in line and row["hash"][:8] in line for line in lines) for row in kept["records"])


@needs_compiler
def test_a_profile_tells_all_five_parts_and_what_the_shares_add_up_to(plan: Plan) -> None:
    text = profiles.page(plan, "here")
    assert text.count("\n## ") == len(profiles.PARTS)
    if "Not measured" in text:
        lacking(text[text.index("Not measured") :].partition("\n")[0])
    for part in text.split("\n## ")[2:]:
        shares = [int(row.split("|")[3].strip(" %")) for row in part.splitlines() if row.rstrip(" |").endswith("%")]
        assert 97 <= sum(shares) <= 103, part
