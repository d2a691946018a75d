"""Tasks and their steps, by project, in the state database.

Says nothing to a model and renders nothing. Bounds are the caller's, but for the completed tasks kept.
"""

from __future__ import annotations

import os
import unicodedata

from scorpio.limits import TASKS_DONE_KEPT_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from scorpio.state.database import Database

    Result = TypeVar("Result")

INTEGER_MAX = 2**63 - 1
"""What a column of SQLite holds; a larger id is nobody's."""

_TASK = (
    "SELECT t.id, t.name, t.done, count(s.id), coalesce(sum(s.done), 0) FROM tasks t "
    "LEFT JOIN steps s ON s.project = t.project AND s.task = t.id WHERE t.project = ?"
)


class Task:
    __slots__ = ("done", "id", "name", "steps", "steps_done")

    def __init__(self, task_id: int, name: str, done: int, steps: int, steps_done: int) -> None:
        self.id = task_id
        self.name = name
        self.done = bool(done)
        self.steps = steps
        """How many it has."""
        self.steps_done = steps_done


class Step:
    __slots__ = ("done", "id", "task_id", "text")

    def __init__(self, task_id: int, step_id: int, text: str, done: int) -> None:
        self.task_id = task_id
        self.id = step_id
        self.text = text
        self.done = bool(done)


class TaskStore:
    """The tasks of every project. Not for an event loop: it waits for the disk and for other processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def look(self, project: str, work: Callable[[ProjectTasks], Result]) -> Result:
        """What `work` returns of the tasks of the project at this path. `work` may run again. Raises StateError."""
        return self._database.read(lambda connection: work(ProjectTasks(connection, project)))

    def change(self, project: str, work: Callable[[ProjectTasks], Result]) -> Result:
        """The same; all that `work` changed is on disk on return, nothing of it after an exception."""
        return self._database.write(lambda connection: work(ProjectTasks(connection, project)))

    def take_notices(self) -> list[str]:
        return self._database.take_notices()


class ProjectTasks:
    """The tasks of one project inside one transaction; of no use when it has ended."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._sql = connection
        self._path = os.fsencode(path).decode("utf-8", "backslashreplace")
        found = connection.execute("SELECT id, current_task FROM projects WHERE path = ?", (self._path,)).fetchone()
        self._project: int = found[0] if found else 0  # ids begin with 1
        self.current_id: int | None = found[1] if found else None

    # -- looking

    def task(self, task_id: int) -> Task | None:
        if not 0 < task_id <= INTEGER_MAX:
            return None
        row = self._sql.execute(f"{_TASK} AND t.id = ? GROUP BY t.id", (self._project, task_id)).fetchone()
        return Task(*row) if row else None

    def current(self) -> Task | None:
        return None if self.current_id is None else self.task(self.current_id)

    def open_tasks(self) -> list[Task]:
        """In order of their ids."""
        rows = self._sql.execute(f"{_TASK} AND t.done = 0 GROUP BY t.id ORDER BY t.id", (self._project,))
        return [Task(*row) for row in rows.fetchall()]

    def done_tasks(self) -> list[Task]:
        """The newest first."""
        rows = self._sql.execute(f"{_TASK} AND t.done = 1 GROUP BY t.id ORDER BY t.id DESC", (self._project,))
        return [Task(*row) for row in rows.fetchall()]

    def counts(self) -> tuple[int, int]:
        """(open tasks, completed tasks)"""
        row = self._sql.execute(
            "SELECT count(*) - coalesce(sum(done), 0), coalesce(sum(done), 0) FROM tasks WHERE project = ?",
            (self._project,),
        ).fetchone()
        return row[0], row[1]

    def last_id(self) -> int:
        """The highest id a task of this project ever had."""
        row = self._sql.execute("SELECT last_task FROM projects WHERE id = ?", (self._project,)).fetchone()
        return row[0] if row else 0

    def steps(self, task_id: int) -> list[Step]:
        rows = self._sql.execute(
            "SELECT task, id, text, done FROM steps WHERE project = ? AND task = ? ORDER BY id",
            (self._project, task_id),
        )
        return [Step(*row) for row in rows.fetchall()]

    def step(self, task_id: int, step_id: int) -> Step | None:
        if not 0 < step_id <= INTEGER_MAX:
            return None
        row = self._sql.execute(
            "SELECT task, id, text, done FROM steps WHERE project = ? AND task = ? AND id = ?",
            (self._project, task_id, step_id),
        ).fetchone()
        return Step(*row) if row else None

    def open_named(self, key: str) -> Task | None:
        row = self._sql.execute(
            f"{_TASK} AND t.done = 0 AND t.key = ? GROUP BY t.id ORDER BY t.id LIMIT 1", (self._project, key)
        ).fetchone()
        return Task(*row) if row else None

    def tasks_like(self, key: str, *, done: bool) -> list[Task]:
        """Tasks whose name is `key`; if there is none, those whose name contains it."""
        rows = self._sql.execute(
            f"{_TASK} AND t.done = ? AND instr(t.key, ?) GROUP BY t.id ORDER BY t.id", (self._project, done, key)
        ).fetchall()
        return _exact_or_all([Task(*row) for row in rows], [key_of(row[1]) == key for row in rows])

    def steps_like(self, key: str, *, done: bool) -> list[Step]:
        """The same for steps of open tasks, or of the current one."""
        rows = self._sql.execute(
            "SELECT s.task, s.id, s.text, s.done FROM steps s JOIN tasks t ON t.project = s.project AND t.id = s.task "
            "WHERE s.project = ? AND (t.done = 0 OR t.id = ?) AND s.done = ? AND instr(s.key, ?) ORDER BY s.task, s.id",
            (self._project, self.current_id, done, key),
        ).fetchall()
        return _exact_or_all([Step(*row) for row in rows], [key_of(row[2]) == key for row in rows])

    def ids_with(self, key: str) -> set[int]:
        """Ids of tasks with `key` in their name or in one of their steps."""
        rows = self._sql.execute(
            "SELECT id FROM tasks WHERE project = ? AND instr(key, ?) UNION "
            "SELECT task FROM steps WHERE project = ? AND instr(key, ?)",
            (self._project, key, self._project, key),
        )
        return {row[0] for row in rows.fetchall()}

    # -- changing

    def create(self, name: str) -> Task:
        """A new open task, current from now on. The oldest completed ones beyond TASKS_DONE_KEPT_MAX are deleted."""
        if not self._project:
            row = self._sql.execute("INSERT INTO projects (path) VALUES (?) RETURNING id", (self._path,)).fetchone()
            self._project = row[0]
        task_id: int = self._sql.execute(
            "UPDATE projects SET last_task = last_task + 1 WHERE id = ? RETURNING last_task", (self._project,)
        ).fetchone()[0]
        self._sql.execute(
            "INSERT INTO tasks (project, id, name, key) VALUES (?, ?, ?, ?)",
            (self._project, task_id, name, key_of(name)),
        )
        self.make_current(task_id)
        self._sql.execute(
            "DELETE FROM tasks WHERE project = ?1 AND done = 1 AND id <= (SELECT id FROM tasks "
            "WHERE project = ?1 AND done = 1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
            (self._project, TASKS_DONE_KEPT_MAX),
        )
        return Task(task_id, name, 0, 0, 0)

    def make_current(self, task_id: int) -> None:
        self._sql.execute("UPDATE projects SET current_task = ? WHERE id = ?", (task_id, self._project))
        self.current_id = task_id

    def add_steps(self, task_id: int, texts: Sequence[str]) -> list[int]:
        """Ids of the new steps. The task is open from now on."""
        last: int = self._sql.execute(
            "UPDATE tasks SET last_step = last_step + ?, done = 0 WHERE project = ? AND id = ? RETURNING last_step",
            (len(texts), self._project, task_id),
        ).fetchone()[0]
        ids = list(range(last - len(texts) + 1, last + 1))
        self._sql.executemany(
            "INSERT INTO steps (project, task, id, text, key) VALUES (?, ?, ?, ?, ?)",
            [(self._project, task_id, step_id, text, key_of(text)) for step_id, text in zip(ids, texts, strict=True)],
        )
        return ids

    def complete_step(self, task_id: int, step_id: int) -> None:
        """With the last of them the task is complete."""
        row = (self._project, task_id)
        self._sql.execute("UPDATE steps SET done = 1 WHERE project = ? AND task = ? AND id = ?", (*row, step_id))
        self._sql.execute(
            "UPDATE tasks SET done = 1 WHERE project = ?1 AND id = ?2 "
            "AND NOT EXISTS (SELECT 1 FROM steps WHERE project = ?1 AND task = ?2 AND done = 0)",
            row,
        )

    def complete_task(self, task_id: int) -> None:
        """With all of its steps."""
        row = (self._project, task_id)
        self._sql.execute("UPDATE steps SET done = 1 WHERE project = ? AND task = ?", row)
        self._sql.execute("UPDATE tasks SET done = 1 WHERE project = ? AND id = ?", row)


def key_of(text: str) -> str:
    """What names are compared by: neither case nor the way a letter is encoded makes two of one."""
    return unicodedata.normalize("NFKC", text).casefold()


def _exact_or_all(found: list[Result], exact: Sequence[bool]) -> list[Result]:
    return [item for item, same in zip(found, exact, strict=True) if same] or found
