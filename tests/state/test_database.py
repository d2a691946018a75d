"""The state database on real files: its promises while processes die, disks fill and files are not what they were."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scorpio.state import database as database_module
from scorpio.state import set_aside as set_aside_module
from scorpio.state.database import Database, StateError
from scorpio.state.home import Home
from scorpio.state.journal_mode import ROLLBACK, WAL, filesystem_type, journal_mode
from scorpio.state.set_aside import file_id, set_aside
from tests.links import ROOT

ONE = ("CREATE TABLE words (word TEXT NOT NULL) STRICT",)
TWO = ("ALTER TABLE words ADD COLUMN count INTEGER NOT NULL DEFAULT 1", "INSERT INTO words (word) VALUES ('two')")
MIGRATIONS = (ONE,)

SOUND = (3, 53, 1)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts a file system, or gives a file away")
needs_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "state"))


@pytest.fixture
def path(home: Home) -> Path:
    return Path(home.path("scorpio.db"))


@pytest.fixture
def open_database(home: Home) -> Iterator[Callable[..., Database]]:
    opened: list[Database] = []

    def make(migrations: tuple[tuple[str, ...], ...] = MIGRATIONS, at: Home = home) -> Database:
        opened.append(Database(at, migrations))
        return opened[-1]

    yield make
    for database in opened:
        database.close()


def put(database: Database, word: str) -> None:
    def work(sql: sqlite3.Connection) -> None:
        sql.execute("INSERT INTO words (word) VALUES (?)", (word,))

    database.write(work)


def words(database: Database) -> list[str]:
    return database.read(lambda sql: [row[0] for row in sql.execute("SELECT word FROM words ORDER BY rowid")])


def filled(open_database: Callable[..., Database], count: int = 200) -> None:
    """A database of several pages, closed."""
    database = open_database()

    def work(sql: sqlite3.Connection) -> None:
        sql.executemany("INSERT INTO words (word) VALUES (?)", [(f"word {n} " + "x" * 100,) for n in range(count)])

    database.write(work)
    database.close()


# -- transactions


def test_what_was_written_is_there_after_reopening(open_database: Callable[..., Database]) -> None:
    put(open_database(), "kept")
    assert words(open_database()) == ["kept"]


def test_an_exception_undoes_the_whole_transaction(open_database: Callable[..., Database]) -> None:
    database = open_database()
    put(database, "before")

    def work(sql: sqlite3.Connection) -> None:
        sql.execute("INSERT INTO words (word) VALUES ('lost')")
        raise LookupError

    with pytest.raises(LookupError):
        database.write(work)
    put(database, "after")
    assert words(database) == ["before", "after"]


def test_a_fault_in_our_sql_is_a_bug_and_not_a_state_error(open_database: Callable[..., Database]) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        open_database().write(lambda sql: sql.execute("INSERT INTO missing VALUES (1)"))


def test_reading_where_nothing_is_creates_nothing(open_database: Callable[..., Database], home: Home) -> None:
    assert words(open_database()) == []
    assert not os.path.lexists(home.root)


def test_a_writer_does_not_block_a_reader_of_another_connection(open_database: Callable[..., Database]) -> None:
    database, other = open_database(), open_database()
    put(database, "old")

    def work(sql: sqlite3.Connection) -> list[str]:
        sql.execute("INSERT INTO words (word) VALUES ('new')")
        return words(other)

    assert database.write(work) == ["old"]


def test_threads_write_side_by_side_and_leave_no_connection_behind(
    open_database: Callable[..., Database], path: Path
) -> None:
    database = open_database()
    for _ in range(3):
        threads = [threading.Thread(target=put, args=(database, f"{n}")) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(words(database)) == 24
    held = [link for fd in os.listdir("/proc/self/fd") if (link := _link(fd)) == str(path)]
    assert len(held) <= 9  # the last eight threads and this one


def _link(fd: str) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/self/fd/{fd}")
    return ""


def test_a_lock_held_too_long_is_said_and_nothing_is_written(
    open_database: Callable[..., Database], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "DATABASE_BUSY_S", 0.05)
    database = open_database()
    put(database, "before")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StateError, match=r"cannot be written: .*another process holds it"):
        put(database, "refused")
    assert words(database) == ["before"]
    holder.close()
    put(database, "after")
    assert words(database) == ["before", "after"]


def test_after_close_calls_are_refused(open_database: Callable[..., Database]) -> None:
    database = open_database()
    put(database, "before")
    database.close()
    with pytest.raises(StateError, match="the server is ending"):
        put(database, "after")


# -- files and their owners


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_the_file_is_private_whatever_the_umask(
    open_database: Callable[..., Database], home: Home, path: Path, umask: int
) -> None:
    old = os.umask(umask)
    try:
        modes = open_database().write(lambda sql: _write_and_look(sql, Path(home.root)))
    finally:
        os.umask(old)
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(os.stat(home.root).st_mode) == 0o700


def _write_and_look(sql: sqlite3.Connection, root: Path) -> dict[str, int]:
    sql.execute("INSERT INTO words (word) VALUES ('x')")
    return {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in root.iterdir()}


def test_a_file_others_could_read_is_made_private(open_database: Callable[..., Database], path: Path) -> None:
    filled(open_database, 1)
    path.chmod(0o666)
    put(open_database(), "x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_symbolic_link_is_refused_and_its_target_left_alone(
    open_database: Callable[..., Database], home: Home, path: Path, tmp_path: Path
) -> None:
    home.directory()
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    path.symlink_to(target)
    for call in (lambda: put(open_database(), "x"), lambda: words(open_database())):
        with pytest.raises(StateError, match=r"it is a symbolic link. Move it away or set SCORPIO_HOME"):
            call()
    assert target.read_bytes() == b"mine"


def test_a_fifo_is_refused_without_being_opened(open_database: Callable[..., Database], home: Home, path: Path) -> None:
    home.directory()
    os.mkfifo(path)
    with pytest.raises(StateError, match="it is not a regular file"):
        put(open_database(), "x")


def test_a_state_directory_that_is_a_symbolic_link_is_refused(
    open_database: Callable[..., Database], home: Home, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    Path(home.root).symlink_to(tmp_path / "elsewhere")
    for call in (lambda: put(open_database(), "x"), lambda: words(open_database())):
        with pytest.raises(StateError, match=r"is not a directory. Move it away or set SCORPIO_HOME"):
            call()
    assert list((tmp_path / "elsewhere").iterdir()) == []


@needs_root
def test_a_state_directory_of_another_user_is_refused(open_database: Callable[..., Database], home: Home) -> None:
    os.chown(home.directory(), 12345, 12345)
    for call in (lambda: put(open_database(), "x"), lambda: words(open_database())):
        with pytest.raises(StateError, match="belongs to user 12345"):
            call()


@needs_root
def test_a_database_of_another_user_is_refused(open_database: Callable[..., Database], path: Path) -> None:
    filled(open_database, 1)
    os.chown(path, 12345, 12345)
    with pytest.raises(StateError, match="it belongs to user 12345"):
        words(open_database())


@needs_user
def test_a_directory_that_cannot_be_written_is_said_and_read_all_the_same(
    open_database: Callable[..., Database], home: Home, path: Path
) -> None:
    put(open_database(), "before")
    os.chmod(home.root, 0o500)
    path.chmod(0o400)
    database = open_database()
    try:
        assert words(database) == ["before"]
    finally:
        os.chmod(home.root, 0o700)


# -- migrations


def test_an_older_database_is_brought_up_to_date(open_database: Callable[..., Database]) -> None:
    put(open_database((ONE,)), "one")
    database = open_database((ONE, TWO))
    assert database.read(lambda sql: sql.execute("SELECT word, count FROM words").fetchall()) == [
        ("one", 1),
        ("two", 1),
    ]
    assert database.read(lambda sql: sql.execute("PRAGMA user_version").fetchone()) == (2,)


def test_a_migration_that_fails_leaves_the_old_database(open_database: Callable[..., Database]) -> None:
    put(open_database((ONE,)), "one")
    broken = ("INSERT INTO words (word) VALUES ('half')", "INSERT INTO missing VALUES (1)")
    with pytest.raises(sqlite3.OperationalError):
        words(open_database((ONE, broken)))
    assert words(open_database((ONE,))) == ["one"]


def test_a_newer_database_is_refused_and_not_touched(open_database: Callable[..., Database], path: Path) -> None:
    newer = open_database((ONE, TWO))
    put(newer, "newer")
    newer.close()
    before = path.read_bytes()
    old = open_database((ONE,))
    for call in (lambda: put(old, "x"), lambda: words(old)):
        with pytest.raises(StateError, match=r"from a newer scorpio .schema 2; this one knows up to 1. and was left"):
            call()
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["scorpio.db"]


def test_a_database_that_became_newer_while_it_was_open_is_refused(open_database: Callable[..., Database]) -> None:
    old = open_database((ONE,))
    put(old, "old")
    put(open_database((ONE, TWO)), "newer")
    with pytest.raises(StateError, match="from a newer scorpio"):
        put(old, "x")


# -- damage


def random_bytes(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(20_000))


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def truncated_in_the_header(path: Path) -> None:
    os.truncate(path, 50)


def text_file(path: Path) -> None:
    path.write_text("tasks: []\n")


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("kept")


def page_of_zeroes(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 * 2 : 4096 * 3] = bytes(4096)
    path.write_bytes(content)


def test_text_that_is_no_utf_8_is_read_all_the_same(open_database: Callable[..., Database]) -> None:
    database = open_database()
    database.write(lambda sql: sql.execute("INSERT INTO words VALUES (CAST(x'61ff62' AS TEXT))").close())
    assert words(database) == ["a\ufffdb"]


def tables_of_another_program(path: Path) -> None:
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE mail (text)")
        other.commit()


DAMAGES = [
    random_bytes, truncated, truncated_in_the_header, text_file, directory, page_of_zeroes, tables_of_another_program
]  # fmt: skip


def content(path: Path) -> object:
    return sorted(path.iterdir()) if path.is_dir() else path.read_bytes()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_moved_aside_whole_and_said_once(
    open_database: Callable[..., Database], path: Path, damage: Callable[[Path], None]
) -> None:
    filled(open_database)
    damage(path)
    kind, before = path.is_dir(), content(path)
    database = open_database()
    put(database, "new")
    [aside] = [entry for entry in path.parent.iterdir() if ".corrupt-" in entry.name]
    assert aside.is_dir() == kind
    assert kind or content(aside) == before
    [notice] = database.take_notices()
    assert notice.startswith("The state database was damaged (")
    assert str(aside) in notice
    assert database.take_notices() == []
    assert words(open_database()) == ["new"]


def test_reading_a_damaged_database_says_so_too(open_database: Callable[..., Database], path: Path) -> None:
    filled(open_database)
    random_bytes(path)
    database = open_database()
    assert words(database) == []
    assert len(database.take_notices()) == 1


def test_damage_under_an_open_connection_is_noticed(open_database: Callable[..., Database], path: Path) -> None:
    filled(open_database)
    database = open_database()
    put(database, "before")
    with path.open("r+b") as stream:
        stream.write(random.Random(2).randbytes(8192))
    put(database, "after")
    assert words(database) == ["after"]
    assert len(database.take_notices()) == 1


def test_files_beside_a_damaged_database_go_with_it(open_database: Callable[..., Database], path: Path) -> None:
    filled(open_database)
    directory(path)
    for side in ("-wal", "-shm", "-journal"):
        Path(f"{path}{side}").write_bytes(b"left behind")
    put(open_database(), "new")
    moved = sorted(entry.name.partition("Z")[2] for entry in path.parent.iterdir() if ".corrupt-" in entry.name)
    assert moved == ["", "-journal", "-shm", "-wal"]
    assert words(open_database()) == ["new"]


def test_two_damaged_databases_within_a_second_are_both_kept(
    open_database: Callable[..., Database], path: Path
) -> None:
    for _ in range(3):
        filled(open_database)
        random_bytes(path)
        assert words(open_database()) == []
    assert len([entry for entry in path.parent.iterdir() if ".corrupt-" in entry.name]) == 3


@pytest.mark.parametrize("journal", [WAL, ROLLBACK])
def test_a_removed_database_is_begun_anew_and_not_written_into_the_void(
    open_database: Callable[..., Database], home: Home, path: Path, journal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if journal == WAL:
        monkeypatch.setattr(sqlite3, "sqlite_version_info", SOUND)
    database = open_database()
    put(database, "gone")
    for entry in path.parent.iterdir():
        entry.unlink()
    assert words(database) == []
    put(database, "again")
    assert words(open_database()) == ["again"]
    for entry in path.parent.iterdir():
        entry.unlink()
    os.rmdir(home.root)
    put(database, "and again")
    assert words(open_database()) == ["and again"]


def test_nothing_is_moved_under_a_transaction(
    open_database: Callable[..., Database], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_aside_module, "DATABASE_BUSY_S", 0.01)
    database = open_database()
    put(database, "before")

    def work(sql: sqlite3.Connection) -> None:
        sql.execute("INSERT INTO words (word) VALUES ('meanwhile')")
        with pytest.raises(OSError, match="other processes are using it"):
            set_aside(str(path), file_id(str(path)))

    database.write(work)
    assert words(open_database()) == ["before", "meanwhile"]


def test_the_successor_of_a_damaged_database_is_not_moved(open_database: Callable[..., Database], path: Path) -> None:
    filled(open_database)
    random_bytes(path)
    damaged = file_id(str(path))
    put(open_database(), "new")
    assert set_aside(str(path), damaged) is None
    assert words(open_database()) == ["new"]


# -- journals


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((3, 37, 0), ROLLBACK),
        ((3, 40, 1), ROLLBACK),
        ((3, 44, 5), ROLLBACK),
        ((3, 44, 6), WAL),
        ((3, 45, 3), ROLLBACK),
        ((3, 50, 6), ROLLBACK),
        ((3, 50, 7), WAL),
        ((3, 51, 2), ROLLBACK),
        ((3, 51, 3), WAL),
        ((3, 53, 0), WAL),
        ((4, 0, 0), WAL),
    ],
)
def test_wal_is_used_only_where_its_reset_bug_is_mended(
    tmp_path: Path, version: tuple[int, ...], expected: str
) -> None:
    assert journal_mode(version, str(tmp_path), mounts(tmp_path, "ext4")) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("ext4", WAL), ("tmpfs", WAL), ("nfs4", ROLLBACK), ("cifs", ROLLBACK), ("fuse.sshfs", ROLLBACK)],
)
def test_a_network_file_system_gets_a_rollback_journal(tmp_path: Path, kind: str, expected: str) -> None:
    assert journal_mode(SOUND, str(tmp_path), mounts(tmp_path, kind)) == expected


def mounts(directory: Path, kind: str) -> str:
    table = directory / "mountinfo"
    point = str(directory).replace(" ", r"\040")
    table.write_text(
        f"21 1 8:1 / / rw - btrfs /dev/sda1 rw\n"
        f"22 21 0:9 / {point}x rw - proc proc rw\n"
        f"23 21 0:8 / {point} rw shared:1 master:2 - {kind} server:/x rw\n"
        "a line of another kind\n"
    )
    return str(table)


def test_the_mount_of_a_path_is_found_with_spaces_and_without_a_table(tmp_path: Path) -> None:
    place = tmp_path / "a b"
    place.mkdir()
    assert filesystem_type(str(place), mounts(place, "nfs")) == "nfs"
    assert filesystem_type(str(place), str(tmp_path / "no table")) == ""


def mode_of(database: Database) -> str:
    return str(database.read(lambda sql: sql.execute("PRAGMA journal_mode").fetchone()[0]))


@pytest.fixture
def _wal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a SQLite whose WAL is sound. Only one process writes in these tests."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", SOUND)


@pytest.mark.usefixtures("_wal")
def test_with_wal_nothing_written_is_lost_and_its_files_are_private(
    open_database: Callable[..., Database], home: Home
) -> None:
    database = open_database()
    put(database, "kept")
    assert mode_of(database) == WAL
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in Path(home.root).iterdir()}
    assert modes == {"scorpio.db": 0o600, "scorpio.db-wal": 0o600, "scorpio.db-shm": 0o600}
    assert words(open_database()) == ["kept"]


@pytest.mark.usefixtures("_wal")
def test_with_wal_a_damaged_database_is_moved_aside_too(open_database: Callable[..., Database], path: Path) -> None:
    filled(open_database)
    random_bytes(path)
    database = open_database()
    put(database, "new")
    assert len(database.take_notices()) == 1
    assert words(open_database()) == ["new"]


@pytest.mark.usefixtures("_wal")
def test_an_older_sqlite_takes_a_wal_database_back_to_a_rollback_journal(
    open_database: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = open_database()
    put(newer, "wal")
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 40, 1))
    beside = open_database()
    assert (mode_of(beside), words(beside)) == (WAL, ["wal"])  # the other has it open: it serves as it is
    newer.close()
    beside.close()
    alone = open_database()
    assert (mode_of(alone), words(alone)) == (ROLLBACK, ["wal"])


# -- processes

WRITER = """
import sqlite3, sys
from scorpio.state.database import Database
from scorpio.state.home import Home
if "wal" in sys.argv:
    sqlite3.sqlite_version_info = (3, 53, 1)
database = Database(Home(sys.argv[1]), [["CREATE TABLE words (word TEXT NOT NULL) STRICT"]])
def put(word):
    database.write(lambda sql: sql.execute("INSERT INTO words (word) VALUES (?)", (word,)).close())
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    put(f"{sys.argv[2]} {number}")
    print(f"{sys.argv[2]} {number}", flush=True)
"""


def child(home: Home, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, home.root, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def run_together(home: Home, processes: int, writes: int) -> list[str]:
    """What writers acknowledged that were let go at once."""
    writers = [child(home, f"w{number}", str(writes)) for number in range(processes)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    said = [writer.communicate(timeout=100)[0].splitlines() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * processes
    return [line for lines in said for line in lines]


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing_and_are_never_told_busy(
    open_database: Callable[..., Database], home: Home
) -> None:
    processes, writes = 8, 200
    acknowledged = run_together(home, processes, writes)
    assert len(acknowledged) == processes * writes
    assert sorted(words(open_database())) == sorted(acknowledged)


@pytest.mark.parametrize("damage", [random_bytes, directory])
def test_processes_that_find_damage_at_once_move_it_once_and_lose_nothing(
    open_database: Callable[..., Database], home: Home, path: Path, damage: Callable[[Path], None]
) -> None:
    filled(open_database)
    damage(path)
    acknowledged = run_together(home, 4, 5)
    assert sorted(words(open_database())) == sorted(acknowledged)
    assert len([entry for entry in path.parent.iterdir() if ".corrupt-" in entry.name]) == 1


@pytest.mark.parametrize("journal", [WAL, ROLLBACK])
@pytest.mark.slow
def test_a_killed_writer_leaves_a_sound_database_with_all_it_acknowledged(
    open_database: Callable[..., Database], home: Home, path: Path, journal: str
) -> None:
    acknowledged: list[str] = []
    for number in range(100):
        writer = child(home, f"r{number}", "100000", journal)
        assert writer.stdin is not None
        assert writer.stdout is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
        before = [writer.stdout.readline().strip() for _ in range(1 + number % 7)]
        writer.kill()  # somewhere within the next write
        acknowledged += before
        acknowledged += writer.stdout.read().split("\n")[:-1]
        writer.wait()
        writer.stdin.close()
        writer.stdout.close()
    database = open_database()
    assert set(acknowledged) <= set(words(database))
    assert database.read(lambda sql: sql.execute("PRAGMA integrity_check").fetchall()) == [("ok",)]
    assert database.take_notices() == []
    assert [entry.name for entry in path.parent.iterdir() if ".corrupt-" in entry.name] == []


# -- disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(place)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("may not mount here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, *, free_bytes: int = 0) -> Path:
    """A file that leaves so much of the disk free."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while stream.write(b"x" * 4096):
            pass
    os.truncate(ballast, max(0, ballast.stat().st_size - free_bytes))
    return ballast


@needs_root
def test_a_full_disk_is_said_and_read_and_works_again_when_there_is_room(
    open_database: Callable[..., Database], small_disk: Path
) -> None:
    database = open_database(at=Home(str(small_disk / "state")))
    put(database, "before")
    ballast = fill(small_disk)
    for _ in range(2):
        with pytest.raises(StateError, match=r"cannot be written: .* the disk is full"):
            put(database, "x" * 10_000)
        assert words(database) == ["before"]
    assert words(open_database(at=Home(str(small_disk / "state")))) == ["before"]
    ballast.unlink()
    put(database, "after")
    assert words(database) == ["before", "after"]


@needs_root
def test_a_disk_that_is_full_from_the_start_reads_as_empty(
    open_database: Callable[..., Database], small_disk: Path
) -> None:
    ballast = fill(small_disk)
    database = open_database(at=Home(str(small_disk / "state")))
    with pytest.raises(StateError, match="annot be written"):
        put(database, "x")
    assert words(database) == []
    ballast.unlink()
    put(database, "after")
    assert words(database) == ["after"]


@needs_root
@pytest.mark.parametrize("wal", [False, True])
def test_wherever_the_disk_fills_up_the_old_state_or_the_new_one_is_there(
    open_database: Callable[..., Database], small_disk: Path, monkeypatch: pytest.MonkeyPatch, wal: bool
) -> None:
    if wal:
        monkeypatch.setattr(sqlite3, "sqlite_version_info", SOUND)
    database = open_database(at=Home(str(small_disk / "state")))
    expected = ["first"]
    put(database, "first")
    outcomes = set()
    for free_bytes in range(0, 120_000, 4096):
        ballast = fill(small_disk, free_bytes=free_bytes)
        word = f"{free_bytes} " + "x" * 12_000
        try:
            put(database, word)
        except StateError:
            outcomes.add("refused")
        else:
            outcomes.add("written")
            expected.append(word)
        assert words(database) == expected
        ballast.unlink()
        database.write(lambda sql: sql.execute("DELETE FROM words WHERE length(word) > 10"))
        del expected[1:]
    assert outcomes == {"refused", "written"}


@needs_root
def test_a_read_only_disk_is_said_and_read(open_database: Callable[..., Database], small_disk: Path) -> None:
    at = Home(str(small_disk / "state"))
    first = open_database(at=at)
    put(first, "before")
    first.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    database = open_database(at=at)
    assert words(database) == ["before"]
    with pytest.raises(StateError, match="cannot be written"):
        put(database, "refused")
    database.close()
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    again = open_database(at=at)
    put(again, "after")
    assert words(again) == ["before", "after"]
