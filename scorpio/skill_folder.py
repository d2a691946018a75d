"""One folder of a skill as others may read it: which files it has, and their bytes.

What may be read is what a walk of the folder found, never a path that somebody sent: `..`, absolute paths and NUL bytes
are names that nothing has. A file that a symbolic link leads to out of the folder is none of its files, whoever owns
the folder. Names that begin with a dot are not looked at (`.env`, `.git`). Knows no JSON and no tool.
"""

from __future__ import annotations

import os
import stat
import time

from scorpio.limits import (
    SKILL_FOLDER_BYTES_MAX,
    SKILL_FOLDER_ENTRIES_MAX,
    SKILL_FOLDER_FILE_BYTES_MAX,
    SKILL_FOLDER_FILES_MAX,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Signature = tuple[int, ...]

FILE_NAME = "SKILL.md"
DEPTH_MAX = 16
SKIPPED = ("__pycache__", "node_modules")
"""Folders whose files nobody reads by name; those that begin with a dot are skipped too."""

UNSETTLED_NS = 50_000_000
"""A file that changed this recently may change again within one tick of its clock (4 ms), and look the same."""


class Refused(Exception):
    """Why something that is there cannot be used: a clause that goes on after its name."""


class SkillFolder:
    """A folder with a SKILL.md, whose name is the skill's."""

    __slots__ = ("directory", "name", "within")

    def __init__(self, directory: str, within: str = "") -> None:
        self.directory = directory
        self.name = os.path.basename(directory)
        self.within = within
        """Resolved directory that it and its SKILL.md may not lead out of; "" where links are the user's own."""


class Files:
    """What a walk of one folder found. Paths are relative to it, with `/`."""

    __slots__ = ("directories", "left_out", "paths", "root", "size")

    def __init__(self, root: str) -> None:
        self.root = root
        """The resolved folder."""
        self.paths: dict[str, str] = {}
        """Each file's resolved place; SKILL.md first, then in order."""
        self.directories: dict[str, None] = {"": None}
        self.left_out: dict[str, str] = {}
        """What is there and is not one of its files, and why: a clause."""
        self.size = 0
        """Bytes of all files."""

    def take(self, path: str, real: str, size: int) -> None:
        """Raises Refused, as for every bound of a folder: the list of its files is whole or there is none."""
        self.paths[path] = real
        self.size += size
        if size > SKILL_FOLDER_FILE_BYTES_MAX:
            raise Refused(f"has {path} of {size} bytes; a file of a skill has at most {SKILL_FOLDER_FILE_BYTES_MAX}")
        if self.size > SKILL_FOLDER_BYTES_MAX:
            raise Refused(f"has more than {SKILL_FOLDER_BYTES_MAX} bytes in its files")
        if len(self.paths) > SKILL_FOLDER_FILES_MAX:
            raise Refused(f"has more than {SKILL_FOLDER_FILES_MAX} files")


def files_of(folder: SkillFolder) -> Files:
    """Raises Refused: there is no SKILL.md, or the folder leads elsewhere, or is larger than others must take."""
    root = os.path.realpath(folder.directory)
    head = os.path.realpath(os.path.join(folder.directory, FILE_NAME))
    for path in (root, head):
        if folder.within and not is_inside(path, folder.within):
            raise Refused(f"leads out of {folder.within}")
    files = Files(root)
    if not os.path.isfile(head):
        raise Refused(f"has no {FILE_NAME} that is a file")
    files.take(FILE_NAME, head, os.path.getsize(head))
    _walk(files, root, "", [0])
    files.paths = {FILE_NAME: head, **dict(sorted(files.paths.items()))}
    return files


def read_file(path: str, bytes_max: int, size_max: int) -> tuple[bytes, int, Signature]:
    """(at most `bytes_max` bytes, size, signature) of a resolved path. Raises Refused."""
    try:
        # a FIFO must not hang, and what was resolved must not have become a link
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW)
    except OSError as error:
        raise Refused(f"cannot be opened: {error.strerror}") from None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise Refused("is not a regular file")
        if status.st_size > size_max:
            raise Refused(f"has {status.st_size} bytes; at most {size_max} are read")
        parts = []
        left = bytes_max
        while left and (part := os.read(file, min(left, 1024 * 1024))):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from None
    finally:
        os.close(file)
    return b"".join(parts), status.st_size, signature_of(status)


def is_inside(path: str, directory: str) -> bool:
    """Both resolved. `/proj-evil` is not inside `/proj`."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def signature_of(status: os.stat_result) -> Signature:
    """Changes with the file's content; () while that cannot be told."""
    if abs(time.time_ns() - status.st_mtime_ns) < UNSETTLED_NS:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def children(files: Files, directory: str) -> Mapping[str, bool]:
    """What stands directly in one directory of the folder: name -> whether it is a directory itself."""
    prefix = directory + "/" if directory else ""
    found = {path[len(prefix) :]: False for path in files.paths if path.startswith(prefix)}
    found |= {path[len(prefix) :]: True for path in files.directories if path.startswith(prefix) and path != directory}
    return {name: found[name] for name in sorted(found) if "/" not in name and name}


def _walk(files: Files, directory: str, below: str, counted: list[int]) -> None:
    try:
        with os.scandir(directory) as entries:
            folders = []
            for entry in entries:
                counted[0] += 1
                if counted[0] > SKILL_FOLDER_ENTRIES_MAX:
                    raise Refused(f"holds more than {SKILL_FOLDER_ENTRIES_MAX} files and directories")
                path = below + entry.name
                if entry.name.startswith(".") or entry.name in SKIPPED or path == FILE_NAME:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, path))
                elif why := _take(files, entry, path):
                    files.left_out[path] = why
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from None
    for place, path in folders:
        if path.count("/") >= DEPTH_MAX:
            raise Refused(f"is nested deeper than {DEPTH_MAX} directories")
        files.directories[path] = None
        _walk(files, place, path + "/", counted)


def _take(files: Files, entry: os.DirEntry[str], path: str) -> str:
    """Keep a file where it is one of the folder's; else why not."""
    if not entry.is_symlink():
        if not entry.is_file(follow_symlinks=False):
            return "is not a regular file"
        files.take(path, entry.path, entry.stat(follow_symlinks=False).st_size)
        return ""
    real = os.path.realpath(entry.path)
    if not is_inside(real, files.root):
        return "is a link out of the skill's folder"
    if any(part.startswith(".") for part in real[len(files.root) :].split("/")):
        return "is a link to a hidden file"
    if not os.path.isfile(real):
        return "is a link to no file"
    files.take(path, real, os.path.getsize(real))
    return ""


def folders_in(directory: str) -> list[SkillFolder]:
    """The skills that a toolset brings with it."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    paths = [os.path.join(directory, name) for name in names]
    return [SkillFolder(path) for path in paths if os.path.isfile(os.path.join(path, FILE_NAME))]
