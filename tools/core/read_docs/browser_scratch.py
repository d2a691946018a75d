"""The one directory in which a browser keeps everything, and what tells a living server's from a dead one's: a lock."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time

from tools.core.read_docs import browser_program

PREFIX = "scorpio-browser-"
SOCKET_PATH_CHARS = 60
"""Of a temporary directory: Chromium dies when the path of a socket it makes below is longer than 107."""

ORPHAN_S = 60
"""A scratch directory without a lock is left from a server that died while making it; by then surely."""


def roots() -> list[str]:
    """Where scratch directories may be, the preferred place first."""
    places = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    return list(dict.fromkeys(place for place in places if len(place) <= SOCKET_PATH_CHARS and os.path.isdir(place)))


def create() -> tuple[str, int]:
    """(path, a lock that is held as long as this server lives). Raises OSError."""
    fault: OSError | None = None
    for root in roots():
        try:
            directory = tempfile.mkdtemp(prefix=PREFIX, dir=root)
        except OSError as error:
            fault = error
            continue
        lock_fd = os.open(f"{directory}/lock", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock_fd, fcntl.LOCK_EX)
        os.mkdir(f"{directory}/tmp", 0o700)
        os.makedirs(f"{directory}/profile/Default", 0o700)
        with open(f"{directory}/profile/Default/Preferences", "w", encoding="ascii") as file:
            file.write(browser_program.PREFERENCES)
        return directory, lock_fd
    raise fault or OSError("no temporary directory is there")


def sweep() -> None:
    """Delete what servers left that were killed together with their supervisors."""
    for root in roots():
        try:
            names = [name for name in os.listdir(root) if name.startswith(PREFIX)]
        except OSError:
            continue
        for name in names:
            path = os.path.join(root, name)
            if _is_abandoned(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    try:
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
        lock_fd = os.open(f"{path}/lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return time.time() - found.st_mtime > ORPHAN_S
    except OSError:
        return False
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(lock_fd)
