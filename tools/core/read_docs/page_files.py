"""Pages that are longer than an answer, as files of the state directory that the answer names."""

from __future__ import annotations

import os
import time

from scorpio.limits import TASKS_KEPT_DAYS
from tools.core.limits import PAGE_FILES_KEPT_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.state.home import Home

FOLDER = "pages"


def save(home: Home, text: str, suffix: str) -> str:
    """Absolute path of a new private file with `text`. Removes old ones. Raises OSError."""
    directory = home.directory(FOLDER)
    _clean(directory)
    path = os.path.join(directory, os.urandom(8).hex() + suffix)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(file, "w", encoding="utf-8", errors="replace", newline="\n") as stream:
        os.fchmod(file, 0o600)
        stream.write(text)
    return path


def _clean(directory: str) -> None:
    oldest_s = time.time() - TASKS_KEPT_DAYS * 86400
    found = []
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        try:
            found.append((os.lstat(path).st_mtime, path))
        except OSError:
            continue
    found.sort(reverse=True)
    for number, (written_s, path) in enumerate(found):
        if number >= PAGE_FILES_KEPT_MAX - 1 or written_s < oldest_s:
            try:
                os.unlink(path)
            except OSError:
                continue
