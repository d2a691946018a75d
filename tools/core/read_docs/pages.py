"""What the calls of one server share: the documents' machinery, made at first use, and a cache of what was read."""

from __future__ import annotations

import time

from tools.core.limits import PAGE_CACHE_CHARS_MAX, PAGE_CACHE_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.gate import Resolve
    from scorpio.settings import Settings
    from tools.core.read_docs.documents import Documents, Found

    Key = tuple[str, str, int | None]


class Pages:
    """For the slow lane."""

    def __init__(self, settings: Settings, resolve: Resolve | None = None) -> None:
        """`resolve`: in place of this machine's resolver."""
        self._settings = settings
        self._resolve = resolve
        self._documents: Documents | None = None
        self._kept: dict[Key, tuple[float, Found]] = {}
        """The oldest first."""

    @property
    def documents(self) -> Documents:
        if self._documents is None:
            from tools.core.read_docs.documents import Documents

            self._documents = Documents(self._settings, self._resolve)
        return self._documents

    @property
    def started(self) -> Documents | None:
        """The same, where it was needed already."""
        return self._documents

    def kept(self, key: Key) -> tuple[Found, float] | None:
        """What was read, and how many seconds ago, when that is not too long."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        age_s = time.monotonic() - kept[0]
        return (kept[1], age_s) if age_s <= PAGE_CACHE_S else None

    def keep(self, key: Key, found: Found) -> None:
        if not found.cacheable or len(found.text) > PAGE_CACHE_CHARS_MAX // 4:
            return
        self._kept.pop(key, None)
        self._kept[key] = (time.monotonic(), found)
        while sum(len(each.text) for _, each in self._kept.values()) > PAGE_CACHE_CHARS_MAX:
            del self._kept[next(iter(self._kept))]

    def close(self) -> None:
        self._kept.clear()
        if self._documents is not None:
            self._documents.close()
