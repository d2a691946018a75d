"""Files that a client had made in its session, as resources of that session and of no other."""

from __future__ import annotations

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEME = "demo://resource/session/"
MIME_TYPE = "application/gzip"

FILES_MAX = 64
"""Of one client, the newest."""

FILES_BYTES_MAX = 32 * 1024 * 1024
"""Of one client, the newest: three of the largest there may be."""

OWNERS_MAX = 64
"""Clients whose files are kept; those of the modern era do not say when they go, so the oldest give way."""


class SessionFiles:
    """By owner. From any thread."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._of: dict[str, dict[str, bytes]] = {}
        self._ending: set[str] = set()

    def add(self, owner: str, name: str, content: bytes, *, session: bool) -> str:
        """The URI; a file of the same name is replaced. `session`: they are forgotten when the client has gone."""
        from urllib.parse import quote

        with self._lock:
            files = self._of.pop(owner, {})
            self._of[owner] = files  # now the newest
            files.pop(name, None)
            files[name] = content
            while len(files) > FILES_MAX or (len(files) > 1 and sum(map(len, files.values())) > FILES_BYTES_MAX):
                del files[next(iter(files))]
            while len(self._of) > OWNERS_MAX:
                self._drop(next(iter(self._of)))
            if session:
                self._ending.add(owner)
        return SCHEME + quote(name, safe="")

    def resources(self, owner: str) -> list[dict[str, Any]]:
        from urllib.parse import quote

        with self._lock:
            files = dict(self._of.get(owner, {}))
        return [
            {
                "uri": SCHEME + quote(name, safe=""),
                "name": name,
                "description": "A file that was compressed in this session",
                "mimeType": MIME_TYPE,
                "size": len(content),
            }
            for name, content in files.items()
        ]

    def read(self, uri: str, owner: str) -> list[dict[str, Any]] | None:
        import base64
        from urllib.parse import unquote

        if not uri.startswith(SCHEME):
            return None
        content = self._of.get(owner, {}).get(unquote(uri.removeprefix(SCHEME)))
        if content is None:
            return None
        return [{"uri": uri, "mimeType": MIME_TYPE, "blob": base64.b64encode(content).decode()}]

    def client_gone(self, owner: str) -> None:
        with self._lock:
            if owner in self._ending:
                self._drop(owner)

    def _drop(self, owner: str) -> None:
        self._of.pop(owner, None)
        self._ending.discard(owner)
