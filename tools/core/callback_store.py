"""Callbacks, and what waits to be told to a model (tidings), in the state database.

Knows no clock, no client and no thread. What is told is marked, not deleted, until the next addition cleans up.
Everything here blocks and raises StateError.
"""

from __future__ import annotations

import os
import time

from tools.core.callback import Callback
from tools.core.limits import TIDINGS_KEPT_DAYS, TIDINGS_WAITING_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable, Sequence

    from scorpio.state.database import Database

CALLBACK = "callback"
TASK = "task"

FIRES_TOLD_KEPT = 100
"""Marked ones stay that long: whoever could not tell one gives it back, a moment later."""

_COLUMNS = "id, kind, subject, text, how, count, late_s, made_unix_s"


class Tiding:
    """One thing to be told, once."""

    __slots__ = ("count", "how", "id", "kind", "late_s", "made_unix_s", "subject", "text")

    def __init__(
        self,
        kind: str,
        subject: int,
        text: str,
        *,
        how: str = "",
        late_s: float = 0.0,
        made_unix_s: float,
        count: int = 1,
        id: int = 0,
    ) -> None:
        self.kind = kind
        """CALLBACK or TASK."""
        self.subject = subject
        """The slot, or the task's id."""
        self.text = text
        """The message, or the command on one line."""
        self.how = how
        """How a task ended."""
        self.count = count
        """Fires of a callback."""
        self.late_s = late_s
        self.made_unix_s = made_unix_s
        self.id = id
        """In the database; 0: not there yet."""


class Claimed:
    """What a server took over from dead ones."""

    __slots__ = ("callbacks", "empty", "tidings_count")

    def __init__(self) -> None:
        self.callbacks: list[tuple[Callback, float]] = []
        """With the deadline of each, Unix time."""
        self.tidings_count = 0
        self.empty: list[str] = []
        """Dead servers that have nothing left for anybody."""


class CallbackStore:
    """For every server and project of one state directory; `server` is the name of the one that asks."""

    def __init__(self, database: Database, server: str) -> None:
        self._database = database
        self._server = server

    # -- callbacks

    def keep(self, callback: Callback, due_unix_s: float, check: Callable[[], None] = lambda: None) -> None:
        """`check` may raise when the turn has come; nothing is kept then."""

        def work(connection: sqlite3.Connection) -> None:
            check()
            self._keep(connection, callback, due_unix_s)

        self._database.write(work)

    def _keep(self, connection: sqlite3.Connection, callback: Callback, due_unix_s: float) -> None:
        key = (self._server, callback.owner, callback.slot, path_text(callback.project))
        connection.execute(
            "INSERT OR REPLACE INTO callbacks (server, owner, slot, project, message, delay_s, left, due_unix_s) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*key, callback.message, callback.delay_s, callback.left, due_unix_s),
        )

    def drop(self, owner: str, slots: Iterable[int], check: Callable[[], None] = lambda: None) -> None:
        def work(connection: sqlite3.Connection) -> None:
            check()
            for slot in slots:
                self._drop(connection, owner, slot)

        self._database.write(work)

    def _drop(self, connection: sqlite3.Connection, owner: str, slot: int) -> None:
        key = (self._server, owner, slot)
        connection.execute("DELETE FROM callbacks WHERE server = ? AND owner = ? AND slot = ?", key)

    def fire(self, callback: Callback, due_unix_s: float, tiding: Tiding, *, told: bool) -> int:
        """What is left of the callback and its tiding, together; the tiding's id. `told`: it is on its way already."""

        def work(connection: sqlite3.Connection) -> int:
            if callback.over:
                self._drop(connection, callback.owner, callback.slot)
            else:
                self._keep(connection, callback, due_unix_s)
            _clean(connection)
            joined = None if told else self._joined(connection, callback.owner, tiding)
            return joined or self._add(connection, callback.owner, callback.project, tiding, told=told)

        return self._database.write(work)

    def _joined(self, connection: sqlite3.Connection, owner: str, tiding: Tiding) -> int | None:
        """Where too much waits, the earlier fire of this callback that this one is counted with."""
        waiting = "server = ? AND owner = ? AND told = 0 AND kind = 'callback'"
        place = (self._server, owner)
        count = connection.execute(f"SELECT count(*) FROM tidings WHERE {waiting}", place).fetchone()[0]
        if count < TIDINGS_WAITING_MAX:
            return None
        row = connection.execute(
            "UPDATE tidings SET count = count + 1, late_s = ?, made_unix_s = ? WHERE id = "
            f"(SELECT max(id) FROM tidings WHERE {waiting} AND subject = ? AND text = ?) RETURNING id",
            (tiding.late_s, tiding.made_unix_s, *place, tiding.subject, tiding.text),
        ).fetchone()
        return int(row[0]) if row else None

    # -- tidings

    def end_task(self, owner: str, project: str, tiding: Tiding, key: str) -> bool:
        """Keep the end of a task to be told; False where that was done before, by this server or another."""

        def work(connection: sqlite3.Connection) -> bool:
            _clean(connection)
            return bool(self._add(connection, owner, project, tiding, key=key))

        return self._database.write(work)

    def _add(
        self,
        connection: sqlite3.Connection,
        owner: str,
        project: str,
        tiding: Tiding,
        *,
        key: str | None = None,
        told: bool = False,
    ) -> int:
        """The new id; 0 when `key` is known."""
        row = connection.execute(
            "INSERT OR IGNORE INTO tidings (server, owner, project, kind, subject, key, text, how, late_s, "
            "made_unix_s, told) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (
                *(self._server, owner, path_text(project), tiding.kind, tiding.subject, key),
                *(tiding.text, tiding.how, tiding.late_s, tiding.made_unix_s, told),
            ),
        ).fetchone()
        return int(row[0]) if row else 0

    def take(self, owner: str, busy_s: float) -> list[Tiding]:
        """All that waits to be told to this server's `owner`, oldest first; the caller's to tell, and nobody else's."""

        def work(connection: sqlite3.Connection) -> list[Tiding]:
            waiting = "server = ? AND owner = ? AND told = 0"
            place = (self._server, owner)
            rows = connection.execute(f"SELECT {_COLUMNS} FROM tidings WHERE {waiting} ORDER BY id", place).fetchall()
            if rows:
                connection.execute(f"UPDATE tidings SET told = 1 WHERE {waiting}", place)
            return [_tiding(row) for row in rows]

        return self._database.write(work, busy_s)

    def give_back(self, ids: Collection[int]) -> None:
        """What was taken and certainly not told."""
        self._database.write(lambda connection: _mark(connection, ids, told=0))

    def forget_task(self, task_id: int) -> None:
        """Its end has been shown."""
        mark = "UPDATE tidings SET told = 1 WHERE server = ? AND kind = 'task' AND subject = ?"
        self._database.write(lambda connection: connection.execute(mark, (self._server, task_id)).rowcount)

    # -- dead servers

    def claim(self, dead: Sequence[str], owner: str, project: str, free: Collection[int]) -> Claimed:
        """Take over what `dead` servers had of `owner` in `project`, as far as there are `free` slots."""

        def work(connection: sqlite3.Connection) -> Claimed:
            claimed = Claimed()
            left = set(free)
            for server in dead:
                _drop_old(connection, server)
                self._claim_callbacks(connection, server, owner, project, left, claimed)
                place = (server, owner, path_text(project))
                claimed.tidings_count += connection.execute(
                    "UPDATE tidings SET server = ? WHERE server = ? AND owner = ? AND project = ? AND told = 0",
                    (self._server, *place),
                ).rowcount
                if not _has_anything(connection, server):
                    claimed.empty.append(server)
            return claimed

        return self._database.write(work)

    def _claim_callbacks(
        self,
        connection: sqlite3.Connection,
        server: str,
        owner: str,
        project: str,
        free: set[int],
        claimed: Claimed,
    ) -> None:
        rows = connection.execute(
            "SELECT slot, message, delay_s, left, due_unix_s FROM callbacks "
            "WHERE server = ? AND owner = ? AND project = ? ORDER BY slot",
            (server, owner, path_text(project)),
        ).fetchall()
        for old, message, delay_s, left, due_unix_s in rows:
            if not free:
                return
            slot = old if old in free else min(free)
            free.discard(slot)
            connection.execute(
                "UPDATE callbacks SET server = ?, slot = ? WHERE server = ? AND owner = ? AND slot = ?",
                (self._server, slot, server, owner, old),
            )
            claimed.callbacks.append((Callback(owner, project, slot, message, delay_s, left, 0.0), due_unix_s))


class WaitingTidings:
    """What waits in one project, whichever server it came from: for a process that is no server."""

    def __init__(self, database: Database, project: str) -> None:
        self._database = database
        self._project = path_text(project)

    def next(self) -> Tiding | None:
        """The oldest one; the caller's to tell, and nobody else's. Looks first, so that looking writes nothing."""
        some = "SELECT min(id) FROM tidings WHERE project = ? AND told = 0"
        if self._database.read(lambda connection: connection.execute(some, (self._project,)).fetchone()[0]) is None:
            return None

        def work(connection: sqlite3.Connection) -> Tiding | None:
            row = connection.execute(
                f"UPDATE tidings SET told = 1 WHERE id = ({some}) RETURNING {_COLUMNS}", (self._project,)
            ).fetchone()
            return _tiding(row) if row else None

        return self._database.write(work)

    def give_back(self, tiding: Tiding) -> None:
        self._database.write(lambda connection: _mark(connection, [tiding.id], told=0))

    def callbacks_count(self) -> int:
        """Callbacks that may fire in this project."""
        count = "SELECT count(*) FROM callbacks WHERE project = ?"
        return int(self._database.read(lambda connection: connection.execute(count, (self._project,)).fetchone()[0]))


def path_text(path: str) -> str:
    """A path as the database has it, whatever its bytes are."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _tiding(row: tuple[int, str, int, str, str, int, float, float]) -> Tiding:
    id_, kind, subject, text, how, count, late_s, made_unix_s = row
    return Tiding(kind, subject, text, how=how, count=count, late_s=late_s, made_unix_s=made_unix_s, id=id_)


def _mark(connection: sqlite3.Connection, ids: Iterable[int], *, told: int) -> None:
    connection.executemany("UPDATE tidings SET told = ? WHERE id = ?", [(told, id_) for id_ in ids])


def _clean(connection: sqlite3.Connection) -> None:
    """Told ends of tasks stay for days: their keys keep another server from telling them again."""
    connection.execute(
        "DELETE FROM tidings WHERE made_unix_s < ? "
        "OR (told = 1 AND kind = 'callback' AND id <= (SELECT max(id) FROM tidings) - ?)",
        (_oldest_unix_s(), FIRES_TOLD_KEPT),
    )


def _drop_old(connection: sqlite3.Connection, server: str) -> None:
    row = (server, _oldest_unix_s())
    connection.execute("DELETE FROM callbacks WHERE server = ? AND due_unix_s < ?", row)
    connection.execute("DELETE FROM tidings WHERE server = ? AND made_unix_s < ?", row)


def _has_anything(connection: sqlite3.Connection, server: str) -> bool:
    callback = connection.execute("SELECT 1 FROM callbacks WHERE server = ? LIMIT 1", (server,)).fetchone()
    tiding = connection.execute("SELECT 1 FROM tidings WHERE server = ? AND told = 0 LIMIT 1", (server,)).fetchone()
    return callback is not None or tiding is not None


def _oldest_unix_s() -> float:
    return time.time() - TIDINGS_KEPT_DAYS * 86400
