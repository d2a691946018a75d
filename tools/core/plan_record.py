"""Plan modes on disk: one file for each that is active, locked while the server that holds it lives.

    plan-mode/PROJECT.RANDOM      the record; no such file: no plan mode

A file that cannot be understood is an active plan mode all the same: what was lost must not loosen anything. Does not
know sandboxes or tools.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.state.home import Home

DIRECTORY = "plan-mode"
STDIO_OWNER = "stdio"
"""Owner of the calls of a server on stdio, so of as many servers as there are. See scorpio/transports/stdio.py."""

RECORD_BYTES_MAX = 64 * 1024
"""Read of a record; a goal of 2,000 characters and a few paths have 20 KB at most."""

OTHERS_KEPT_S = 7 * 86400
"""Records of HTTP sessions that are gone, which nobody takes over."""


class Mode:
    """One plan mode. Its fields are written to disk; `plan_file` and `writable` are absolute and resolved."""

    def __init__(self, owner: str, project: str, started_unix_s: float) -> None:
        self.owner = owner
        self.project = project
        self.started_unix_s = started_unix_s
        self.goal: str | None = None
        self.plan_file: str | None = None
        self.writable: list[str] = []
        """The plan file or its directory."""
        self.temporary = ""
        """The private temporary directory of its commands; "" until one is made."""
        self.made: list[str] = []
        """What `enter` created for the plan, in order; removed at the end where it is still empty."""
        self.damaged = False

    def fields(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "damaged"}


class Held:
    """The file of a mode that this server holds; the lock on it tells others that the server lives."""

    __slots__ = ("file", "path")

    def __init__(self, file: int, path: str) -> None:
        self.file = file
        self.path = path

    def remove(self) -> None:
        """Raises OSError: while the file is there the next server takes the mode over."""
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
        self.close()

    def close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def write(home: Home, mode: Mode, held: Held | None) -> Held:
    """Write `mode`, in the place of `held` where it has a file already. Raises OSError."""
    import orjson

    directory = home.directory(DIRECTORY)
    path = held.path if held else os.path.join(directory, f"{_key(mode.project)}.{os.urandom(8).hex()}")
    new = f"{path}.new"
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(new, flags, 0o600)
    try:
        os.fchmod(file, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # before it has its name: nobody may take it over
        os.write(file, orjson.dumps(_text(mode.fields())))
        os.fsync(file)
        os.rename(new, path)
    except OSError:
        os.close(file)
        _unlink(new)
        raise
    if held:
        held.close()
    return Held(file, path)


def adopt(home: Home, owner: str, project: str) -> tuple[Mode, Held] | None:
    """The newest mode of this owner and project whose server has ended, this server's from now on."""
    directory = home.path(DIRECTORY)
    try:
        names = os.listdir(directory)
    except OSError:
        return None
    found: list[tuple[Mode, Held]] = []
    for name in names:
        if name.startswith(_key(project) + ".") and not name.endswith(".new"):
            taken = _take(os.path.join(directory, name), owner, project)
            if taken is not None:
                found.append(taken)
    found.sort(key=lambda taken: taken[0].started_unix_s)
    newest = found.pop() if found else None
    for _, held in found:
        held.close()  # another window's: for its next server
    return newest


def _take(path: str, owner: str, project: str) -> tuple[Mode, Held] | None:
    """None for what a living server holds, and what belongs to another owner."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        state = os.fstat(file)
        if os.lstat(path).st_ino != state.st_ino or not stat.S_ISREG(state.st_mode):
            raise OSError("removed or replaced meanwhile")
        mode = _read(file, owner, project, state.st_mtime)
        if mode.owner != owner:
            if mode.owner != STDIO_OWNER and time.time() - state.st_mtime > OTHERS_KEPT_S:
                _unlink(path)
            raise OSError("another owner's")
    except OSError:
        os.close(file)
        return None
    return mode, Held(file, path)


def _read(file: int, owner: str, project: str, written_unix_s: float) -> Mode:
    import orjson

    try:
        fields = orjson.loads(os.pread(file, RECORD_BYTES_MAX, 0))
        mode = Mode(str(fields["owner"]), str(fields["project"]), float(fields["started_unix_s"]))
        mode.goal = None if fields["goal"] is None else str(fields["goal"])
        mode.plan_file = None if fields["plan_file"] is None else str(fields["plan_file"])
        mode.temporary = str(fields["temporary"])
        mode.writable = [str(path) for path in fields["writable"]]
        mode.made = [str(path) for path in fields["made"]]
    except (ValueError, KeyError, TypeError):
        mode = Mode(owner, project, written_unix_s)
        mode.damaged = True
    return mode


def _key(project: str) -> str:
    return hashlib.sha256(os.fsencode(project)).hexdigest()[:16]


def _text(value: Any) -> Any:
    """Paths that are not UTF-8, as JSON can hold them. Such a plan mode is found again; its paths are not."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {key: _text(each) for key, each in value.items()}
    return [_text(each) for each in value] if isinstance(value, list) else value


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
