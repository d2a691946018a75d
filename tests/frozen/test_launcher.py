"""The launcher: what it unpacks, and what the program it becomes inherits."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frozen.starting import assert_whole, others, place_of, said, snapshot, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the launcher is for Linux")


def test_first_start_unpacks_everything_and_the_second_nothing(executable: Path, folder: Path, home: Path) -> None:
    copy = place_of(start(executable, HOME=str(home)))
    before = snapshot(copy)
    again = place_of(start(executable, HOME=str(home)))
    assert copy.parent == home / ".scorpio" / "cache"
    assert_whole(copy, folder)
    assert again == copy
    assert snapshot(copy) == before
    assert others(copy) == []


def test_sixteen_first_starts_at_once_all_run_and_leave_one_copy(executable: Path, folder: Path, home: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    children = [
        subprocess.Popen([str(executable)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(16)
    ]
    results = [(child.communicate(timeout=60), child.returncode) for child in children]
    assert [(errors, code) for (_, errors), code in results] == [("", 0)] * 16
    (copy,) = {re.findall("SCORPIO_SUPERVISOR=(.*)/", out)[0] for (out, _), _ in results}
    assert_whole(Path(copy), folder)
    assert others(Path(copy)) == []


def test_the_program_is_the_process_that_was_started(executable: Path, home: Path) -> None:
    child = subprocess.Popen([str(executable)], env={"HOME": str(home)}, stdout=subprocess.PIPE, text=True)
    out, _ = child.communicate(timeout=60)
    assert f"pid={child.pid}\n" in out


def test_arguments_and_environment_arrive_as_they_were_given(executable: Path, home: Path) -> None:
    strange = ["", "a b", "--help", "ü\n" + "x" * 5000]
    heard = subprocess.run(
        ["any name", *strange[:3]],
        executable=executable,
        env={"HOME": str(home), "ODD": "a=b", "SCORPIO_EXECUTABLE": "/outer", "SCORPIO_SUPERVISOR": "/outer"},
        capture_output=True,
        text=True,
        check=False,
    )
    facts = said(heard)
    assert [facts[f"argv{i}"] for i in range(4)] == ["any name", *strange[:3]]
    assert facts["ODD"] == "a=b"
    assert facts["SCORPIO_EXECUTABLE"] == str(executable)
    assert facts["SCORPIO_SUPERVISOR"] == f"{place_of(heard)}/scorpio-supervisor"
    assert f"argv1={strange[3]}\n" in start(executable, strange[3], HOME=str(home)).stdout


def test_executable_is_named_by_its_real_path_when_started_through_a_link(executable: Path, home: Path) -> None:
    link = home / "scorpio-mcp"
    link.symlink_to(executable)
    assert said(start(link, HOME=str(home)))["SCORPIO_EXECUTABLE"] == str(executable)


def test_exit_code_and_signal_are_the_programs_own(executable: Path, home: Path) -> None:
    assert start(executable, "exit", "7", HOME=str(home)).returncode == 7
    assert start(executable, "die", HOME=str(home)).returncode == -signal.SIGTERM


@pytest.mark.parametrize("before", [None, "", "/usr/local/lib:/opt"])
def test_library_path_gets_our_directory_in_front(executable: Path, home: Path, before: str | None) -> None:
    outer = {} if before is None else {"LD_LIBRARY_PATH": before}
    result = start(executable, HOME=str(home), **outer)
    expected = f"{place_of(result)}/lib" + ("" if before is None else f":{before}")
    assert said(result)["LD_LIBRARY_PATH"] == expected


def test_closed_standard_descriptors_become_dev_null(executable: Path, home: Path, tmp_path: Path) -> None:
    report = tmp_path / "report"
    for _ in ("first start", "later start"):
        command = f"exec {executable} to {report} 0<&- 1>&- 2>&-"
        subprocess.run(["sh", "-c", command], env={"HOME": str(home)}, check=True)
        facts = dict(line.split("=", 1) for line in report.read_text().splitlines())
        assert [facts["fd0"], facts["fd1"], facts["fd2"]] == ["/dev/null"] * 3


def test_open_standard_descriptors_stay_what_they_are(executable: Path, home: Path, tmp_path: Path) -> None:
    with (tmp_path / "in").open("w+") as stdin, (tmp_path / "out").open("w+") as stdout:
        subprocess.run([str(executable)], env={"HOME": str(home)}, stdin=stdin, stdout=stdout, check=True)
        stdout.seek(0)
        facts = dict(line.split("=", 1) for line in stdout.read().splitlines())
    assert (facts["fd0"], facts["fd1"]) == (str(tmp_path / "in"), str(tmp_path / "out"))
