"""Ids, records and logs on disk, shared by many servers and cleaned after their days."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from scorpio.limits import LOGS_FRESH_S, LOGS_KEPT_BYTES_MAX, TASKS_KEPT_DAYS, TASKS_KEPT_MAX
from scorpio.state.home import Home
from tests.links import ROOT
from tools.core.background_files import BackgroundFiles
from tools.core.background_record import (
    HOST_ENDED,
    LOG,
    SUPERVISOR_KILLED,
    End,
    Record,
    end_of_lost,
    read_cursor,
    read_end,
    read_record,
    write_cursor,
    write_end,
    write_record,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAY_S = 86_400


@pytest.fixture
def files(home: Path) -> Iterator[BackgroundFiles]:
    made = BackgroundFiles(Home(str(home)))
    yield made
    made.close()


def finished(files: BackgroundFiles, ended_s: float) -> tuple[int, str]:
    task_id, directory = files.create()
    write_record(directory, Record("true", "/", "stdio", ended_s))
    write_end(directory, End(0, None, "", ended_s))
    os.utime(os.path.join(directory, "end"), (ended_s, ended_s))
    return task_id, directory


def test_nothing_is_on_disk_before_the_first_task(files: BackgroundFiles, home: Path) -> None:
    assert files.adopt() == []
    files.close()
    assert not home.exists()


def test_ids_count_from_1_and_are_never_used_again(files: BackgroundFiles) -> None:
    long_ago_s = time.time() - 8 * DAY_S
    assert [finished(files, long_ago_s)[0] for _ in range(3)] == [1, 2, 3]
    files.clean()
    assert files.create()[0] == 4


def test_many_processes_at_once_get_different_ids(home: Path) -> None:
    program = (
        "import sys\n"
        "from scorpio.state.home import Home\n"
        "from tools.core.background_files import BackgroundFiles\n"
        "files = BackgroundFiles(Home(sys.argv[1]))\n"
        "print(*(files.create()[0] for _ in range(40)))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, home], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(4)
    ]
    ids = [int(word) for one in running for word in one.communicate()[0].split()]
    assert sorted(ids) == list(range(1, 161))


def test_finished_tasks_stay_their_days_and_no_longer(files: BackgroundFiles, home: Path) -> None:
    now_s = time.time()
    finished(files, now_s - (TASKS_KEPT_DAYS + 1) * DAY_S)
    finished(files, now_s - (TASKS_KEPT_DAYS - 1) * DAY_S)
    files.create()  # running
    files.clean()
    assert sorted(os.listdir(home / "tasks")) == ["2", "3"]


def test_more_finished_tasks_than_are_kept_lose_the_oldest(files: BackgroundFiles, home: Path) -> None:
    now_s = time.time()
    for number in range(TASKS_KEPT_MAX + 5):
        finished(files, now_s - 1000 + number)
    files.clean()
    assert sorted(int(name) for name in os.listdir(home / "tasks")) == list(range(6, TASKS_KEPT_MAX + 6))


def test_a_task_without_an_end_is_never_cleaned(files: BackgroundFiles, home: Path) -> None:
    _, directory = files.create()
    write_record(directory, Record("sleep", "/", "stdio", 0.0))
    os.utime(directory, (0, 0))
    files.create()
    files.clean()
    assert sorted(os.listdir(home / "tasks")) == ["1", "2"]


def test_what_a_server_left_while_starting_a_task_goes_after_a_day(files: BackgroundFiles, home: Path) -> None:
    _, directory = files.create()
    os.utime(directory, (0, 0))
    files.create()
    files.clean()
    assert os.listdir(home / "tasks") == ["2"]


def test_logs_of_bash_stay_their_days_and_no_longer(files: BackgroundFiles, home: Path) -> None:
    kept, old = (files.create_log() for _ in range(2))
    for _, file in (kept, old):
        os.close(file)
    os.utime(old[0], (0, 0))
    files.clean()
    assert [str(path) for path in (home / "output").iterdir()] == [kept[0]]


def log_of(path: Path, written_s: float, size: int) -> Path:
    """A log of that size that takes no place."""
    with path.open("ab") as file:
        file.truncate(size)
    os.utime(path, (written_s, written_s))
    return path


def test_logs_of_tasks_and_of_bash_together_stay_within_their_bytes_and_the_oldest_go(
    files: BackgroundFiles, home: Path
) -> None:
    most, then_s = LOGS_KEPT_BYTES_MAX, time.time() - LOGS_FRESH_S
    for number, size in enumerate((1, most // 2 - 1, 0)):  # tasks 1 to 3, the last of which is the counter of ids
        _, directory = finished(files, then_s - 400 + 100 * number)
        log_of(home / "tasks" / str(number + 1) / LOG, then_s, size)
        assert directory == str(home / "tasks" / str(number + 1))
    logs = []
    for age_s, size in ((350, 1), (250, most // 2), (50, 1)):
        path, file = files.create_log()
        os.close(file)
        logs.append(log_of(home / "output" / os.path.basename(path), then_s - age_s, size))
    files.clean()
    assert sorted(os.listdir(home / "tasks")) == ["2", "3"]
    assert [log.exists() for log in logs] == [False, True, True]


def test_a_log_that_has_just_been_written_stays_however_large(files: BackgroundFiles, home: Path) -> None:
    for _ in range(2):
        path, file = files.create_log()
        os.close(file)
        log_of(home / "output" / os.path.basename(path), time.time() - LOGS_FRESH_S / 2, LOGS_KEPT_BYTES_MAX)
    files.clean()
    assert len(os.listdir(home / "output")) == 2


def test_a_dead_server_without_tasks_leaves_no_trace(home: Path) -> None:
    first, second = BackgroundFiles(Home(str(home))), BackgroundFiles(Home(str(home)))
    task_id, directory = first.create()
    os.rmdir(directory)
    first.close()
    assert second.adopt() == []
    assert list((home / "servers").glob("*.lock")) == []
    assert task_id == 1


def test_a_state_that_cannot_be_written_is_left_for_a_server_that_can(home: Path) -> None:
    first = BackgroundFiles(Home(str(home)))
    finished(first, time.time())
    first.close()
    (home / "servers" / "adopting").mkdir()  # stands in for a read-only file system, also for root
    second = BackgroundFiles(Home(str(home)))
    assert second.adopt() == []
    (home / "servers" / "adopting").rmdir()
    assert [found.task_id for found in second.adopt()] == [1]
    second.close()


def test_a_symbolic_link_is_not_followed(files: BackgroundFiles, home: Path, tmp_path: Path) -> None:
    _, directory = files.create()
    (tmp_path / "victim").write_text("precious")
    os.symlink(tmp_path / "victim", os.path.join(directory, "cursor"))
    write_cursor(directory, 7)
    assert read_cursor(directory) == 0
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_record_and_a_cursor_are_read_as_they_were_written(tmp_path: Path) -> None:
    record = Record("echo zażółć", "/a\udcff", "stdio", 12.5, survive=True)
    record.runs_at(os.getpid(), os.getpid())
    write_record(str(tmp_path), record)
    again = read_record(str(tmp_path))
    assert again is not None
    assert (again.command, again.owner, again.pid, again.started_unix_s) == ("echo zażółć", "stdio", os.getpid(), 12.5)
    assert again.cwd == "/a\ufffd"
    assert again.is_running_alone()
    write_cursor(str(tmp_path), 5_000_000_000)
    write_cursor(str(tmp_path), 12)
    assert read_cursor(str(tmp_path)) == 12


STATUSES = [
    (b"exited 0 -1 - 1700000000000\n", True, (0, None, "")),
    (b"exited 7 -1 - 1700000000000\n", False, (7, None, "")),
    (b"exited -1 11 - 1700000000000\n", True, (None, 11, "")),
    (b"exited -1 15 - 1700000000000\n", False, (None, None, HOST_ENDED)),
    (b"exited -1 15 server 1700000000000\n", False, (None, None, HOST_ENDED)),
    (b"exited -1 9 output 1700000000000\n", True, (None, 9, "output")),
    (b"exited -1 -1 lost 1700000000000\n", True, (None, None, SUPERVISOR_KILLED)),
    (b"", True, (None, None, HOST_ENDED)),
    (b"exited\n", True, (None, None, HOST_ENDED)),
    (b"\xff\xfe nonsense", True, (None, None, HOST_ENDED)),
]


@pytest.mark.parametrize(("status", "survived", "expected"), STATUSES, ids=[repr(row[0]) for row in STATUSES])
def test_the_end_of_a_task_without_a_server_is_what_its_supervisor_wrote(
    tmp_path: Path, status: bytes, survived: bool, expected: tuple[int | None, int | None, str]
) -> None:
    (tmp_path / "status").write_bytes(status)
    end = end_of_lost(str(tmp_path), survived=survived)
    assert (end.code, end.signal, end.reason) == expected
    write_end(str(tmp_path), end)
    again = read_end(str(tmp_path))
    assert again is not None
    assert (again.code, again.signal, again.reason, again.ended_unix_s) == (*expected, end.ended_unix_s)
