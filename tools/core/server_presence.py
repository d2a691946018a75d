"""Servers as they see each other: one lives while it holds the lock of its file in `callbacks/`.

A lock goes with its process, however that ends. Knows nothing of what a server has; names are never used again.
"""

from __future__ import annotations

import _thread
import fcntl
import os

from tools.core.background_record import names_in, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.state.home import Home

DIRECTORY = "callbacks"
SUFFIX = ".lock"


class Presence:
    """This server. Others see nothing of it before `show`. From any thread."""

    def __init__(self, home: Home) -> None:
        self.name = os.urandom(8).hex()
        self._home = home
        self._path = home.path(DIRECTORY, self.name + SUFFIX)
        self._file = -1
        self._lock = _thread.allocate_lock()

    def show(self) -> None:
        """From now on others see this server, and that it lives. Raises StateError."""
        from scorpio.state.database import StateError

        with self._lock:
            if self._file >= 0 and os.path.lexists(self._path):
                return
            self._let_go()  # somebody removed the state directory
            try:
                self._file = self._locked_file()
            except OSError as error:
                why = error.strerror or str(error)
                said = why if why.startswith("State") else f"State cannot be written: {self._path}: {why}"
                raise StateError(said.rstrip(".") + ".") from None

    def _locked_file(self) -> int:
        """Locked before it has its name, so that nobody takes it for dead. Raises OSError."""
        unlocked = os.path.join(self._home.directory(DIRECTORY), self.name)
        file = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(unlocked, self._path)
        except OSError:
            os.close(file)
            remove(unlocked)
            raise
        return file

    def stir(self) -> None:
        """Who watches the directory looks: there is something new."""
        with self._lock:
            if self._file >= 0:
                try:
                    os.utime(self._file)
                except OSError:  # read-only since: they look by themselves too, only later
                    pass

    def others(self) -> tuple[list[str], list[str]]:
        """Names of the other servers of this state directory: (those that are dead, those that live)."""
        dead: list[str] = []
        living: list[str] = []
        for name in names_in(self._home.path(DIRECTORY)):
            server = name.removesuffix(SUFFIX)
            if server not in (name, self.name):
                (dead if self._is_dead(name) else living).append(server)
        return dead, living

    def _is_dead(self, name: str) -> bool:
        try:
            file = os.open(self._home.path(DIRECTORY, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: several may look at once
        except OSError:
            return False
        finally:
            os.close(file)
        return True

    def forget(self, server: str) -> None:
        """A dead server that left nothing."""
        remove(self._home.path(DIRECTORY, server + SUFFIX))

    def close(self, *, leaves: bool) -> None:
        """From now on this server counts as dead; with `leaves` others look for what it left."""
        with self._lock:
            if self._file >= 0 and not leaves:
                remove(self._path)
            self._let_go()

    def _let_go(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
