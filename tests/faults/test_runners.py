"""The two fault drivers that lie beside the repository, run against both builds: every case, no exception.

`../shared/faults/run.py` sends the bad-input corpus, `orphans.py` looks for processes that commands left behind.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lacking import lacking
from tests.links import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.http_link import HttpProcess

FAULTS = ROOT.parent / "shared" / "faults"
DRIVER_BOUND_S = 900
NOBODY = 65534
PYTHON_OF_ALL = "/usr/bin/python3"
"""The one that tests may lie in a closed home."""

CORPUS = ("F0", "F1", "J", "R0,R1", "R2,R3", "M0,M1", "M2", "D")
SIDE_BY_SIDE = 3
"""Cases of one driver at a time: nearly all of a case is waiting for silence."""

CORPUS_ALONE = ("F2,F3", "P")
"""Cases that measure time or memory."""

ORPHANS = ("C1,O2", "E1a,E1b,E2a,E2b", "E3a,E3b,E4a,E4b", "X1,X2")
ORPHANS_ALONE = ("T1,T2,T3", "T4,T5,T6", "H1,I1,O1,L1,X3")
"""Cases that judge how soon an answer comes, or keep the machine busy."""

pytestmark = [pytest.mark.faults, pytest.mark.timeout(DRIVER_BOUND_S), pytest.mark.slow]


def run(driver: str, arguments: Sequence[str], command: Sequence[str], environ: dict[str, str], report: Path) -> str:
    """The driver's table, once it has written its report."""
    path = FAULTS / driver
    if not path.is_file():
        lacking(f"needs {driver} in ../shared/faults")
    subprocess.run([command[0], "--version"], env=environ, capture_output=True, check=True)  # unpacks the executable
    ended = subprocess.run(
        [sys.executable, str(path), *arguments, "--json", str(report), "--", *command],
        env=environ,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=DRIVER_BOUND_S,
    )
    assert report.is_file(), ended.stderr
    return ended.stdout


def run_corpus(only: str, command: Sequence[str], environ: dict[str, str], tmp_path: Path, jobs: int = 1) -> None:
    report = tmp_path / "corpus.json"
    options = ["--only", only, "--quiet-s", "0.4", "--jobs", str(jobs)]
    table = run("run.py", options, command, environ, report)
    results = json.loads(report.read_text("utf-8"))["results"]
    ids = {result["id"] for result in results}
    assert all(any(id_.startswith(prefix) for id_ in ids) for prefix in only.split(",")), "the driver ran nothing"
    assert not [result["id"] for result in results if not result["ok"]], table
    assert not [result["id"] for result in results if "left" in result["note"]], table


@pytest.mark.parametrize("only", CORPUS)
def test_the_corpus_of_bad_input_is_passed(
    only: str, command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path
) -> None:
    run_corpus(only, command("sum"), environ, tmp_path, jobs=SIDE_BY_SIDE)


@pytest.mark.alone
@pytest.mark.parametrize("only", CORPUS_ALONE)
def test_the_corpus_of_bad_input_is_passed_where_it_measures(
    only: str, command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path
) -> None:
    run_corpus(only, command("sum"), environ, tmp_path)


def test_no_case_of_the_corpus_is_left_out() -> None:
    path = FAULTS / "corpus.jsonl"
    if not path.is_file():
        lacking("needs corpus.jsonl in ../shared/faults")
    ids = [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()]
    prefixes = tuple(",".join((*CORPUS, *CORPUS_ALONE)).split(","))
    assert [id_ for id_ in ids if not id_.startswith(prefixes)] == []


def run_orphans(only: str, command: Sequence[str], environ: dict[str, str], tmp_path: Path) -> None:
    report = tmp_path / "orphans.json"
    table = run("orphans.py", ["--adapter", "scorpio", "--only", only], command, environ, report)
    rows = json.loads(report.read_text("utf-8"))
    assert sorted(row[0] for row in rows) == sorted(only.split(",")), table
    assert all(row[3] for row in rows), table


@pytest.mark.parametrize("only", ORPHANS)
def test_no_process_is_left_behind(
    only: str, command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path
) -> None:
    run_orphans(only, command("core"), environ, tmp_path)


@pytest.mark.alone
@pytest.mark.parametrize("only", ORPHANS_ALONE)
def test_no_process_is_left_behind_and_answers_come_in_time(
    only: str, command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path
) -> None:
    run_orphans(only, command("core"), environ, tmp_path)


@pytest.fixture
def place_of_nobody() -> Iterator[Path]:
    """A directory of another user, with what he needs to run the drivers; pytest's own are closed to him."""
    if os.geteuid() != 0:
        pytest.skip("an ordinary user runs all of these tests already")
    if not FAULTS.is_dir() or not os.access(PYTHON_OF_ALL, os.X_OK):
        lacking(f"needs ../shared/faults and {PYTHON_OF_ALL}")
    place = Path(tempfile.mkdtemp(prefix="scorpio-nobody-"))
    for name in ("run.py", "orphans.py", "corpus.jsonl"):
        shutil.copy(FAULTS / name, place)
    os.chown(place, NOBODY, NOBODY)
    yield place
    shutil.rmtree(place)


@pytest.mark.builds("frozen")
@pytest.mark.parametrize(
    ("driver", "arguments", "toolset", "cases"),
    [
        ("run.py", ["--only", "F0,R0,P", "--quiet-s", "0.4", "--jobs", str(SIDE_BY_SIDE)], "sum", 25),
        ("orphans.py", ["--adapter", "scorpio", "--only", "E1b,E2b,E3b,C1,X1"], "core", 5),
    ],
)
def test_an_ordinary_user_gets_the_same(
    place_of_nobody: Path,
    command: Callable[..., list[str]],
    driver: str,
    arguments: list[str],
    toolset: str,
    cases: int,
) -> None:
    executable, *options = command(toolset)
    own = shutil.copy(executable, place_of_nobody / "scorpio")
    ended = subprocess.run(
        [PYTHON_OF_ALL, str(place_of_nobody / driver), *arguments, "--", str(own), *options],
        env={"PATH": os.environ["PATH"], "HOME": str(place_of_nobody)},
        cwd=place_of_nobody,
        capture_output=True,
        text=True,
        check=False,
        timeout=DRIVER_BOUND_S,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    marks = re.findall(r"^[A-Z]\w+ +(?:must |want )? *(ok|--) ", ended.stdout, re.MULTILINE)
    assert marks == ["ok"] * cases, ended.stdout


ATTACKED = {
    "normal": "200",
    "Origin evil": "403",
    "Origin null": "403",
    "Origin http://localhost.evil.example": "403",
    "Origin same": "200",
    "Host evil": "421",
    "Host evil:port": "421",
    "Host localhost.evil": "421",
    "Host missing": "400",
    "Content-Type text/plain (no preflight)": "415",
    "OPTIONS preflight evil": "403",
    "invalid JSON": "400",
    "100k deep": "400",
    "5 MB body": "413",
    "bogus session id": "404",
    "smuggle CL+TE": "400",
}


@pytest.mark.requirement("faults:http-attacks")
@pytest.mark.builds("frozen")
def test_http_attacks_get_what_they_deserve(start_http: Callable[..., HttpProcess]) -> None:
    path = FAULTS / "http_attacks.py"
    if not path.is_file():
        lacking("needs http_attacks.py in ../shared/faults")
    server = start_http("sum")
    driver = [sys.executable, str(path), str(server.port)]
    done = subprocess.run(driver, capture_output=True, text=True, check=False, timeout=DRIVER_BOUND_S)
    table = {line[:42].strip(): line[43:] for line in done.stdout.splitlines() if " HTTP/1.1 " in line}
    status = {name: said.split()[1] for name, said in table.items() if said.startswith("HTTP/1.1 ")}
    assert {name: status.get(name) for name in ATTACKED} == ATTACKED, done.stdout
    assert "evil" not in "".join(said for said in table.values() if "access-control" in said.lower())
    assert "300/300 closed by server" in done.stdout, done.stdout


POLITE = """
import json, sys
for line in sys.stdin:
    try:
        id_ = json.loads(line)["id"]
    except (ValueError, KeyError):
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": id_, "result": {}}), flush=True)
"""
"""A server that answers what it understands and is silent on the rest."""


def test_the_driver_sees_a_server_that_is_silent(environ: dict[str, str], tmp_path: Path) -> None:
    """Or the tests above would prove nothing."""
    report = tmp_path / "corpus.json"
    run("run.py", ["--only", "F05,R25"], [sys.executable, "-c", POLITE], environ, report)
    results = json.loads(report.read_text("utf-8"))["results"]
    assert {result["id"]: result["ok"] for result in results} == {"F05": False, "R25": True}
