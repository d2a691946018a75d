"""Moves a damaged database out of the way: once, whichever process finds it, and never under a transaction.

Deletes nothing.
"""

from __future__ import annotations

import fcntl
import os
import select
import time

from scorpio.limits import DATABASE_BUSY_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    FileId = tuple[int, int]

SIDE_FILES = ("-wal", "-shm", "-journal")
RETRY_S = 0.01

SHARED = fcntl.LOCK_SH
ALONE = fcntl.LOCK_EX


def file_id(path: str) -> FileId | None:
    """Device and inode: what tells a file from its successor at the same path. None where there is none."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def lock_directory(directory: str, how: int) -> int:
    """A descriptor of `directory` that holds a lock until it is closed. Raises OSError.

    Transactions hold it SHARED, whoever moves the file ALONE: else a commit could go to the file that was moved.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    end_s = time.monotonic() + DATABASE_BUSY_S
    while True:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end_s:
                os.close(descriptor)
                raise OSError("other processes are using it") from None
            select.select((), (), (), RETRY_S)
        except OSError:  # a file system without flock: SQLite's own locks are all there is
            return descriptor
        else:
            return descriptor


def set_aside(path: str, damaged: FileId | None) -> str | None:
    """The new path of the file, with what belongs to it beside it; None when `damaged` is no longer at `path`.

    Raises OSError.
    """
    directory = lock_directory(os.path.dirname(path), ALONE)
    try:
        if damaged is None or file_id(path) != damaged:
            return None
        target = _free_name(f"{path}.corrupt-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
        for side in SIDE_FILES:
            if os.path.lexists(path + side):
                os.rename(path + side, target + side)
        os.rename(path, target)
        return target
    finally:
        os.close(directory)


def _free_name(wanted: str) -> str:
    name, count = wanted, 1
    while os.path.lexists(name):
        count += 1
        name = f"{wanted}-{count}"
    return name
