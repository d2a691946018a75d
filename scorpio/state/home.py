"""The state directory: where it is, and that it is private.

Creates nothing until it is asked for a directory, so that a read-only home costs nobody the handshake.
"""

from __future__ import annotations

import os
import stat

PRIVATE_DIRECTORY = 0o700
PRIVATE_FILE = 0o600


def home_path(environ: dict[str, str] | os._Environ[str]) -> str:
    """SCORPIO_HOME, else `~/.scorpio`; absolute."""
    chosen = environ.get("SCORPIO_HOME")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    return os.path.join(os.path.abspath(os.path.expanduser("~")), ".scorpio")


class Home:
    """One state directory. Mode 0700, files 0600, whatever the umask."""

    __slots__ = ("root",)

    def __init__(self, root: str) -> None:
        self.root = root

    def path(self, *parts: str) -> str:
        """Absolute path below the state directory; nothing is created or checked."""
        return os.path.join(self.root, *parts)

    def directory(self, *parts: str) -> str:
        """The same path as a directory of ours, created 0700 where missing.

        Raises OSError whose text names the path and the cure: not creatable, a symbolic link, another user's, one that
        others may write to.
        """
        path = self.root
        self._own(path, parents=True)
        for part in parts:
            path = os.path.join(path, part)
            self._own(path)
        return path

    @staticmethod
    def _own(path: str, *, parents: bool = False) -> None:
        try:
            if parents:
                os.makedirs(os.path.dirname(path), exist_ok=True)
            os.mkdir(path, PRIVATE_DIRECTORY)
            os.chmod(path, PRIVATE_DIRECTORY)  # mkdir's mode passes through the umask
            return
        except FileExistsError:
            pass
        except OSError as error:
            why = f"State cannot be written: {path}: {error.strerror}. Set SCORPIO_HOME to a directory of yours"
            raise OSError(error.errno, why) from None
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            raise OSError(f"State cannot be written: {path} is not a directory. Move it away or set SCORPIO_HOME")
        if found.st_uid != os.geteuid():
            raise OSError(f"State cannot be written: {path} belongs to user {found.st_uid}. Set SCORPIO_HOME")
        if found.st_mode & 0o022:
            raise OSError(
                f"State cannot be written: others may write to {path}. Look at what is in it, then chmod 700 it"
            )
        if found.st_mode & 0o077:
            os.chmod(path, PRIVATE_DIRECTORY)
