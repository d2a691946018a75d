"""The tables of the core toolset, as the steps that made them.

Item N (from 1) leads to schema version N (`PRAGMA user_version`). Items are appended, never edited: databases of every
earlier version are in use. Python, not .sql files, so that the executable needs no data files.
"""

from __future__ import annotations

_TASKS = (
    """
    CREATE TABLE projects (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        current_task INTEGER,
        last_task INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    """
    CREATE TABLE tasks (
        project INTEGER NOT NULL REFERENCES projects (id),
        id INTEGER NOT NULL,
        name TEXT NOT NULL,
        key TEXT NOT NULL,
        done INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
        last_step INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (project, id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX tasks_open ON tasks (project, key) WHERE done = 0",
    """
    CREATE TABLE steps (
        project INTEGER NOT NULL,
        task INTEGER NOT NULL,
        id INTEGER NOT NULL,
        text TEXT NOT NULL,
        key TEXT NOT NULL,
        done INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
        PRIMARY KEY (project, task, id),
        FOREIGN KEY (project, task) REFERENCES tasks (project, id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
    """,
)
"""`key`: what names are compared by (`task_store.key_of`). `last_task` and `last_step`: the highest ids ever given,
as no id comes twice."""

_CALLBACKS = (
    """
    CREATE TABLE callbacks (
        server TEXT NOT NULL,
        owner TEXT NOT NULL,
        slot INTEGER NOT NULL,
        project TEXT NOT NULL,
        message TEXT NOT NULL,
        delay_s INTEGER NOT NULL,
        left INTEGER NOT NULL,
        due_unix_s REAL NOT NULL,
        PRIMARY KEY (server, owner, slot)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE tidings (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        server TEXT NOT NULL,
        owner TEXT NOT NULL,
        project TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('callback', 'task')),
        subject INTEGER NOT NULL,
        key TEXT UNIQUE,
        text TEXT NOT NULL,
        how TEXT NOT NULL DEFAULT '',
        count INTEGER NOT NULL DEFAULT 1,
        late_s REAL NOT NULL DEFAULT 0,
        made_unix_s REAL NOT NULL,
        told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1))
    ) STRICT
    """,
    "CREATE INDEX tidings_waiting ON tidings (project, server, owner) WHERE told = 0",
)
"""`server`: the name of `server_presence.Presence`. `left`: fires to come, -1 for ever. `subject`: slot or task id;
`key`: of a task's end, so that it is kept once, by whichever server."""

MIGRATIONS = (_TASKS, _CALLBACKS)
