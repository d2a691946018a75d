"""The one SQLite file of the state directory: opened safely, migrated, shared with other scorpio processes.

Knows no table: schema and work come from the caller. Refuses the file of a newer scorpio, and anything that is not a
regular file of this user; moves a damaged one aside and says so. Everything here blocks: not for an event loop.

Never opens the file but through SQLite: closing any other descriptor of it would drop SQLite's POSIX locks.
"""

from __future__ import annotations

import os
import select
import sqlite3
import stat
import threading
import time

from scorpio.limits import DATABASE_BUSY_S, DATABASE_CHECK_BYTES_MAX
from scorpio.state.home import PRIVATE_FILE, Home
from scorpio.state.journal_mode import journal_mode, set_journal_mode
from scorpio.state.set_aside import SHARED, file_id, lock_directory, set_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    Result = TypeVar("Result")
    Work = Callable[[sqlite3.Connection], Result]
    Migrations = Sequence[Sequence[str]]
    """One item a schema version, oldest first: its statements. Only ever appended to."""
    FileId = tuple[int, int]

FILE = "scorpio.db"
APPLICATION_ID = 0x73637270  # "scrp"; tells our file from another program's
SQLITE_OLDEST = (3, 37, 0)  # STRICT tables

ATTEMPTS = 3  # each but the last follows a file that was set aside
BEGIN_RETRY_S = 0.002  # SQLite's own retry backs off to 100 ms: of eight writers one waited 4.4 s, and with this 1 s

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full. Free some space, then call again; what is saved can still be read.",
    sqlite3.SQLITE_READONLY: "it is read-only. Make it writable or set SCORPIO_HOME to a directory that is.",
    sqlite3.SQLITE_PERM: "permission is denied. Make it yours or set SCORPIO_HOME to a directory of yours.",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened. Look at its directory and permissions, or set SCORPIO_HOME.",
    sqlite3.SQLITE_IOERR: "the disk does not do what it is told, or a quota is used up. Mend that, then call again.",
    sqlite3.SQLITE_BUSY: f"another process holds it for longer than {DATABASE_BUSY_S:.0f} s. Call again.",
    sqlite3.SQLITE_LOCKED: "another call holds it. Call again.",
    sqlite3.SQLITE_PROTOCOL: "its locks are contended. Call again.",
    sqlite3.SQLITE_NOLFS: "it is larger than this file system allows. Set SCORPIO_HOME to another one.",
    sqlite3.SQLITE_NOMEM: "there is no memory left. Call again when there is.",
}
"""What SQLite tells of the world around it, by primary result code; any other code is a bug of ours."""

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class StateError(Exception):
    """The state cannot be read or written. The text is a sentence: what, which, what next."""


class _Damaged(Exception):
    """The file is no database of ours, or no longer. The text says in what way."""


class _Opened:
    """The file as one thread has it open."""

    __slots__ = ("connection", "file_id", "in_use", "thread")

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self.in_use = threading.Lock()
        self.connection: sqlite3.Connection | None = None
        self.file_id: FileId | None = None

    def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()


class Database:
    """`read` and `write` run a function in a transaction, from any thread. One object a process and state directory."""

    def __init__(self, home: Home, migrations: Migrations) -> None:
        self._home = home
        self._path = home.path(FILE)
        self._migrations = migrations
        self._here = threading.local()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._every: list[_Opened] = []
        self._notices: list[str] = []
        self._sound: FileId | None = None
        self._closed = False

    def read(self, work: Work[Result]) -> Result:
        """What `work` returns of a consistent view. Where there is no file, of an empty database; none is created.

        `work` may run again, so it has no effect but through its connection, and it fetches all that it reads.
        Raises StateError.
        """
        return self._run(work, writes=False)

    def write(self, work: Work[Result], busy_s: float = DATABASE_BUSY_S) -> Result:
        """What `work` returns, once all it wrote is committed; an exception of `work` undoes all of it.

        As for `read`. A writer waits for another at most `busy_s`.
        """
        if not self._writing.acquire(timeout=busy_s):  # the threads of one process queue here, not at the file
            raise self._error(_REASONS[sqlite3.SQLITE_LOCKED], writes=True)
        try:
            return self._run(work, writes=True, busy_s=busy_s)
        finally:
            self._writing.release()

    def take_notices(self) -> list[str]:
        """What a user should be told, a sentence each, once."""
        with self._lock:
            notices, self._notices = self._notices, []
        return notices

    def close(self) -> None:
        """A transaction in progress closes its own connection when it ends."""
        with self._lock:
            self._closed = True
            every, self._every = self._every, []
        for opened in every:
            if opened.in_use.acquire(blocking=False):
                opened.close()
                opened.in_use.release()

    # -- one transaction

    def _run(self, work: Work[Result], *, writes: bool, busy_s: float = DATABASE_BUSY_S) -> Result:
        for _ in range(ATTEMPTS):
            if not writes and not self._has_content():
                return self._of_nothing(work)
            opened = self._opened()
            with opened.in_use:
                try:
                    return self._attempt(opened, work, busy_s, writes=writes)
                except _Damaged as damage:
                    opened.close()
                    self._set_aside(opened.file_id, str(damage))
                except sqlite3.Error as error:
                    opened.close()
                    code = getattr(error, "sqlite_errorcode", -1)
                    if code == sqlite3.SQLITE_READONLY_DBMOVED:  # removed under us, and nothing was written
                        continue
                    code &= 0xFF
                    if code in _REASONS:
                        raise self._error(_REASONS[code], writes=writes) from None
                    if code not in _DAMAGE:
                        raise
                    self._set_aside(opened.file_id, str(error))
                finally:
                    if self._closed:
                        opened.close()
        raise self._error("it is damaged again as soon as it is made anew. Look at its disk.", writes=writes)

    def _attempt(self, opened: _Opened, work: Work[Result], busy_s: float, *, writes: bool) -> Result:
        """With the directory locked: the file this thread has open stays the one at its path until the commit."""
        if self._closed:
            raise self._error("the server is ending. Call again when it is back.", writes=writes)
        try:
            directory = lock_directory(self._home.directory(), SHARED)
        except OSError as error:
            raise _home_error(error) from None
        try:
            if opened.connection is not None and opened.file_id != file_id(self._path):
                opened.close()
            if opened.connection is None:
                self._open(opened, writes=writes)
            assert opened.connection is not None
            return self._transaction(opened.connection, work, busy_s, writes=writes)
        finally:
            os.close(directory)

    def _transaction(
        self, connection: sqlite3.Connection, work: Work[Result], busy_s: float = DATABASE_BUSY_S, *, writes: bool
    ) -> Result:
        if writes:
            _begin_writing(connection, busy_s)
        else:
            connection.execute("BEGIN")
        try:
            self._require_known(_pragma(connection, "user_version"), writes=writes)
            result = work(connection)
            connection.execute("COMMIT")
        except sqlite3.Error:  # the caller closes the connection, which undoes what is left to undo
            raise
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        return result

    def _require_known(self, version: int, *, writes: bool) -> None:
        known = len(self._migrations)
        if version > known:
            raise self._error(
                f"it is from a newer scorpio (schema {version}; this one knows up to {known}) and was left as it is. "
                "Update scorpio, or set SCORPIO_HOME to another directory.",
                writes=writes,
            )

    def _error(self, reason: str, *, writes: bool) -> StateError:
        return StateError(f"State cannot be {'written' if writes else 'read'}: {self._path}: {reason}")

    # -- opening

    def _opened(self) -> _Opened:
        """This thread's; those of threads that have ended are closed."""
        opened: _Opened | None = getattr(self._here, "opened", None)
        if opened is None:
            opened = self._here.opened = _Opened()
            with self._lock:
                ended = [other for other in self._every if not other.thread.is_alive()]
                self._every = [*(other for other in self._every if other.thread.is_alive()), opened]
            for other in ended:
                other.close()
        return opened

    def _has_content(self) -> bool:
        try:
            if os.path.lexists(self._home.root):
                self._home.directory()
            return os.lstat(self._path).st_size > 0
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _home_error(error) from None

    def _of_nothing(self, work: Work[Result]) -> Result:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            self._migrate(connection)
            return work(connection)
        finally:
            connection.close()

    def _open(self, opened: _Opened, *, writes: bool) -> None:
        if sqlite3.sqlite_version_info < SQLITE_OLDEST:
            oldest = ".".join(map(str, SQLITE_OLDEST))
            raise self._error(f"SQLite is {sqlite3.sqlite_version}; scorpio needs {oldest} or newer.", writes=writes)
        self._require_own_file(opened, writes=writes)
        connection = sqlite3.connect(self._path, timeout=DATABASE_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            self._set_up(connection, opened, writes=writes)
        except BaseException:
            connection.close()
            raise
        opened.connection = connection

    def _require_own_file(self, opened: _Opened, *, writes: bool) -> None:
        opened.file_id = None
        try:
            found = os.lstat(self._path)
        except FileNotFoundError:
            return
        opened.file_id = (found.st_dev, found.st_ino)
        if stat.S_ISDIR(found.st_mode):
            raise _Damaged("it is a directory")
        if not stat.S_ISREG(found.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
            raise self._error(f"it is {kind}. Move it away or set SCORPIO_HOME.", writes=writes)
        if found.st_uid != os.geteuid():
            raise self._error(f"it belongs to user {found.st_uid}. Move it away or set SCORPIO_HOME.", writes=writes)
        if stat.S_IMODE(found.st_mode) != PRIVATE_FILE:
            _make_private(self._path)

    def _set_up(self, connection: sqlite3.Connection, opened: _Opened, *, writes: bool) -> None:
        """Reads only, until the file is known to be ours, sound, and not newer."""
        connection.text_factory = _decoded
        if opened.file_id is None:
            _make_private(self._path)  # its journal takes the mode from it
            opened.file_id = file_id(self._path)
        connection.execute("BEGIN")  # one view: another process may be making the first tables
        version = _pragma(connection, "user_version")
        if _pragma(connection, "application_id") != APPLICATION_ID and _has_tables(connection):
            raise _Damaged("it holds tables of another program")
        connection.execute("COMMIT")
        self._require_known(version, writes=writes)
        if self._sound != opened.file_id and os.lstat(self._path).st_size <= DATABASE_CHECK_BYTES_MAX:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
            if found != "ok":
                raise _Damaged(found.replace("\n", " "))
        self._sound = opened.file_id
        mode = set_journal_mode(connection, journal_mode(sqlite3.sqlite_version_info, self._home.root))
        # WAL: a power cut may take the last commits, never the file. A rollback journal needs FULL for as much.
        connection.execute(f"PRAGMA synchronous={'NORMAL' if mode == 'wal' else 'FULL'}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA temp_store=MEMORY")
        if version < len(self._migrations):
            self._transaction(connection, self._migrate, writes=True)

    def _migrate(self, connection: sqlite3.Connection) -> None:
        for statements in self._migrations[_pragma(connection, "user_version") :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={len(self._migrations)}")

    # -- damage

    def _set_aside(self, damaged: FileId | None, reason: str) -> None:
        try:
            target = set_aside(self._path, damaged)
        except OSError as error:
            why = error.strerror or str(error)
            raise StateError(
                f"State cannot be read: {self._path} is damaged ({reason}) and cannot be moved aside: {why}. "
                "Move it away yourself, then call again."
            ) from None
        if target is not None:
            with self._lock:
                self._notices.append(
                    f"The state database was damaged ({reason}). It was moved to {target}, and a new, empty one begun."
                )


def _begin_writing(connection: sqlite3.Connection, busy_s: float) -> None:
    connection.execute("PRAGMA busy_timeout=0")
    end_s = time.monotonic() + busy_s
    try:
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end_s:
                    raise
                select.select((), (), (), BEGIN_RETRY_S)
            else:
                return
    finally:
        connection.execute(f"PRAGMA busy_timeout={int(busy_s * 1000)}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _make_private(path: str) -> None:
    try:
        os.chmod(path, PRIVATE_FILE)
    except OSError:  # a read-only file system; the directory above is private already
        pass


def _home_error(error: OSError) -> StateError:
    """`Home` says in a sentence what is wrong; other errors of the system are put into one."""
    said = error.strerror or str(error)
    if not said.startswith("State"):
        said = f"State cannot be read or written: {error.filename or 'the state directory'}: {said}"
    return StateError(said if said.endswith(".") else f"{said}.")
