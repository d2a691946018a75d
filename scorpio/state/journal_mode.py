"""Which journal SQLite may keep beside a database: WAL where that is safe, else a rollback journal.

Asks the kernel's mount table, never the file system itself: one that hangs must not hang us too.
"""

from __future__ import annotations

import os
import sqlite3

WAL = "wal"
ROLLBACK = "delete"

WAL_RESET_FIXED = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""First sound releases of their branches. Below, a checkpoint beside a writer in another process may skip committed
pages. Source: sqlite.org/wal.html#the_wal_reset_bug."""

MOUNT_TABLE = "/proc/self/mountinfo"

NETWORK_TYPES = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs"),
        *("gfs2", "ocfs2", "beegfs", "orangefs", "pvfs2", "virtiofs", "vboxsf", "vmhgfs", "prl_fs"),
    )
)
"""Types whose files another machine may have open: WAL shares memory, which two machines cannot."""


def journal_mode(version: tuple[int, ...], directory: str, mount_table: str = MOUNT_TABLE) -> str:
    """WAL, or ROLLBACK where this SQLite's WAL has the reset bug or `directory` is on a network."""
    branch = [release for release in WAL_RESET_FIXED if release[:2] == version[:2]]
    if version < (branch[0] if branch else WAL_RESET_FIXED[-1]):
        return ROLLBACK
    kind = filesystem_type(directory, mount_table)
    return ROLLBACK if kind in NETWORK_TYPES or kind.startswith("fuse") else WAL  # FUSE may be anything


def set_journal_mode(connection: sqlite3.Connection, wanted: str) -> str:
    """The mode the file is in now. While others have it open it cannot change, and then the mode found serves."""
    try:
        return str(connection.execute(f"PRAGMA journal_mode={wanted}").fetchone()[0])
    except sqlite3.OperationalError:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


def filesystem_type(path: str, mount_table: str = MOUNT_TABLE) -> str:
    """Type of the mount that holds `path`, as the kernel calls it; empty where there is no such table.

    Source: proc_pid_mountinfo(5): fields 5 (mount point, spaces as octal) and the one after " - ".
    """
    try:
        with open(mount_table, "rb") as table:
            mounts = table.read().splitlines()
    except OSError:
        return ""
    place = os.fsencode(os.path.realpath(path)) + b"/"
    best, kind = b"", b""
    for mount in mounts:
        left, _, right = mount.partition(b" - ")
        fields = left.split(b" ")
        if len(fields) < 5 or not right:
            continue
        point = _unescaped(fields[4]).rstrip(b"/") + b"/"
        if place.startswith(point) and len(point) >= len(best):  # of equal ones the later lies on top
            best, kind = point, right.split(b" ")[0]
    return kind.decode("ascii", "replace")


def _unescaped(field: bytes) -> bytes:
    for code, byte in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        field = field.replace(code, byte)
    return field
