"""One client's file: read, edited, kept a copy of, replaced in one step.

The copy stands beside it, `NAME.scorpio-backup`: the bytes before the entry came. Removing the entry gives those bytes
back where nothing else has changed since.
"""

from __future__ import annotations

import difflib
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scorpio.limits import CLIENT_FILE_BYTES_MAX
from scorpio.registration.edit import EditFailure

if TYPE_CHECKING:
    from scorpio.registration.clients import Client, Machine

BACKUP_SUFFIX = ".scorpio-backup"


class Change(NamedTuple):
    """What would become of a file."""

    file: Path
    before: bytes | None
    """None: there is no file."""
    after: bytes | None
    """None: there will be none."""
    backup: bytes | None = None
    """Bytes to keep beside it; None: a copy that is there already stays as it is, or goes with the entry."""

    @property
    def is_none(self) -> bool:
        return self.before == self.after

    def difference(self) -> str:
        """As a unified diff."""
        return "".join(
            difflib.unified_diff(
                _lines(self.before), _lines(self.after), f"{self.file} (now)", f"{self.file} (then)", n=3
            )
        )


def registered(client: Client, machine: Machine, command: str) -> Change:
    """The file with the entry. Raises EditFailure."""
    file = location(client, machine)
    before = _read(file)
    text = _text(before or b"")
    after = client.editor.with_entry(text, client.path, client.entry(command)).encode()
    known = client.editor.entry_at(text, client.path) is not None
    return Change(file, before, after, None if known else before)


def unregistered(client: Client, machine: Machine) -> Change:
    """The file without the entry. Raises EditFailure."""
    file = location(client, machine)
    before = _read(file)
    if before is None:
        return Change(file, None, None)
    text = _text(before)
    entry = client.editor.entry_at(text, client.path)
    if entry is None:
        return Change(file, before, before)
    copy = _read(backup_of(file))
    if copy is not None and client.editor.with_entry(_text(copy), client.path, entry) == text:
        return Change(file, before, copy)
    if copy is None and client.editor.with_entry("", client.path, entry) == text:
        return Change(file, before, None)  # `install` made the file
    return Change(file, before, client.editor.without_entry(text, client.path).encode())


def apply(change: Change) -> None:
    """Carry it out. Raises OSError, and EditFailure when another program wrote the file meanwhile."""
    if _read(change.file) != change.before:
        raise EditFailure("another program has changed it just now; try again")
    if change.backup is not None:
        _replace(backup_of(change.file), change.backup, like=change.file)
    if change.after is None:
        change.file.unlink()
    else:
        change.file.parent.mkdir(parents=True, exist_ok=True)
        _replace(change.file, change.after, like=change.file)


def location(client: Client, machine: Machine) -> Path:
    """The real file: people keep their settings elsewhere and leave a link."""
    return Path(os.path.realpath(client.file(machine)))


def backup_of(file: Path) -> Path:
    return file.with_name(file.name + BACKUP_SUFFIX)


def found(client: Client, machine: Machine) -> bool:
    """Whether the client seems to be on this machine."""
    file = Path(client.file(machine))
    if file.exists() or any(shutil.which(program) for program in client.programs):
        return True
    return not client.shared_directory and file.parent.is_dir()


def _read(file: Path) -> bytes | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # or a pipe would be waited for
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise EditFailure("it is not a regular file")
            content = opened.read(CLIENT_FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise EditFailure("it is a directory") from None
    if len(content) > CLIENT_FILE_BYTES_MAX:
        raise EditFailure(f"it is longer than {CLIENT_FILE_BYTES_MAX // 2**20} MiB")
    return content


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as fault:
        raise EditFailure(f"byte {fault.start} of it is not UTF-8") from None


def _replace(file: Path, content: bytes, *, like: Path) -> None:
    """A reader sees the old bytes or the new ones. Mode and owner are those of `like`; private where it is new."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as written:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
        try:
            known = like.stat()
        except FileNotFoundError:
            known = None
        if known is not None:
            os.chmod(name, stat.S_IMODE(known.st_mode))
            if hasattr(os, "chown") and os.geteuid() == 0:
                os.chown(name, known.st_uid, known.st_gid)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
