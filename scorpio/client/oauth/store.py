"""Tokens between two runs: a file a server, readable by its owner only, replaced whole."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import secrets
import stat
from collections.abc import AsyncIterator
from typing import Any

ENTRY_BYTES_MAX = 1 << 18
"""Of a file; two tokens and a key."""

LOCK_S = 30
"""For another process to refresh a token: as long as its request may take."""

LOCK_LOOK_S = 0.05

FILE = 0o600
DIRECTORY = 0o700


class Store:
    """Raises nothing: who cannot keep a token logs in again. `complain` is told once why."""

    def __init__(self, directory: str, complain: Any = lambda sentence: None) -> None:
        """Its parent is the state directory; both are created 0700 when something is kept."""
        self._directory = directory
        self._complain = complain

    def load(self, server_url: str) -> dict[str, Any]:
        """{} where nothing is kept, or what lies there is not ours alone."""
        path = self._path(server_url)
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            return {}
        with open(descriptor, "rb") as file:
            about = os.fstat(file.fileno())
            ours = os.name == "nt" or (about.st_uid == os.geteuid() and not about.st_mode & 0o077)
            if not stat.S_ISREG(about.st_mode) or not ours:
                self._complain(f"{path} can be read by others, so it is not used; remove it.")
                return {}
            try:
                value = json.loads(file.read(ENTRY_BYTES_MAX))
            except (ValueError, RecursionError, OSError):
                return {}
        return value if type(value) is dict and value.get("server") == server_url else {}

    def save(self, server_url: str, entry: dict[str, Any]) -> None:
        path = self._path(server_url)
        beside = f"{path}.{secrets.token_hex(4)}"
        try:
            self._make_directory()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
            with open(os.open(beside, flags, FILE), "w", encoding="utf-8") as file:
                if os.name != "nt":
                    os.fchmod(file.fileno(), FILE)  # the umask may take, never give
                json.dump({"server": server_url, **entry}, file)
            os.replace(beside, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            self._complain(f"The log-in cannot be kept ({error.strerror or error}); the next run asks for it again.")

    def forget(self, server_url: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path(server_url))

    @contextlib.asynccontextmanager
    async def locked(self, server_url: str) -> AsyncIterator[None]:
        """Two processes must not spend one refresh token: the second would end both log-ins."""
        descriptor = -1
        try:
            import fcntl

            self._make_directory()
            descriptor = os.open(self._path(server_url) + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE)
            for _ in range(int(LOCK_S / LOCK_LOOK_S)):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                await asyncio.sleep(LOCK_LOOK_S)
        except (ImportError, OSError):
            pass  # no such locks here: then it is as it would be without
        try:
            yield
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _path(self, server_url: str) -> str:
        """No part of an address becomes a name: it may hold anything."""
        return os.path.join(self._directory, hashlib.sha256(server_url.encode()).hexdigest()[:32] + ".json")

    def _make_directory(self) -> None:
        for path in (os.path.dirname(self._directory), self._directory):
            with contextlib.suppress(FileExistsError):
                os.makedirs(path, DIRECTORY)
                os.chmod(path, DIRECTORY)
            about = os.lstat(path)
            if not stat.S_ISDIR(about.st_mode) or (os.name != "nt" and about.st_uid != os.geteuid()):
                raise OSError(0, f"{path} is not a directory of yours")
            if about.st_mode & 0o077 and os.name != "nt":
                os.chmod(path, DIRECTORY)
