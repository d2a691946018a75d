"""One server's searches: all chosen engines asked at once, each within its own time, and what became of each.

No engine's failure is another's. Keeps nothing of a search but which engine asked to be left alone.
"""

from __future__ import annotations

import asyncio
import time

from scorpio.settings import OWN_SEARCH_ENGINE
from tools.core.limits import SEARCH_ENGINE_MS_MAX, SEARCH_MS_MAX, SEARCHES_RUNNING_MAX
from tools.core.web_search.engine import BLOCKED, ERROR, TIMEOUT, Refused
from tools.core.web_search.engines import ENGINES
from tools.core.web_search.engines.searxng import search_address
from tools.core.web_search.fetching import Fetcher
from tools.core.web_search.reader import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scorpio.settings import Settings
    from tools.core.web_search.engine import Engine
    from tools.core.web_search.query import Query

    Tell = Callable[[Sequence[str], int], None]
    """(engines that are still waited for, engines asked)."""


class Outcome:
    """What one engine gave: `hits` are [title, address, text, what the address is compared by]."""

    __slots__ = ("engine", "hits", "reason", "status", "took_ms")

    def __init__(self, engine: Engine, status: str, reason: str = "", hits: Sequence[list[str]] = ()) -> None:
        self.engine = engine
        self.status = status
        self.reason = reason
        """Why there are no hits, in a few words; never holds the query."""
        self.hits = hits
        self.took_ms = 0.0


class Searches:
    """For the slow lane."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._fetcher = Fetcher()
        self._slots = asyncio.Semaphore(SEARCHES_RUNNING_MAX)
        self._resting: dict[str, float] = {}
        """Engine -> until when, by the monotonic clock, it asked to be left alone."""

    @property
    def full(self) -> bool:
        return self._slots.locked()

    def chosen(self) -> list[Engine]:
        """The engines of the configuration, in their own order; an own SearXNG wherever its address is known."""
        names = {*self._settings.websearch_engines} - {OWN_SEARCH_ENGINE}
        if self._settings.searxng_url:
            names.add(OWN_SEARCH_ENGINE)
        return [engine for name, engine in ENGINES.items() if name in names]

    async def search(
        self,
        query: Query,
        tell: Tell,
        engine_ms_max: float = SEARCH_ENGINE_MS_MAX,
        search_ms_max: float = SEARCH_MS_MAX,
    ) -> list[Outcome]:
        """What became of each chosen engine, in their order. A cancelled search leaves no request and no process."""
        async with self._slots, Reader() as reader:
            asked = {asyncio.ensure_future(self._ask(e, query, reader, engine_ms_max)): e for e in self.chosen()}
            warming = asyncio.ensure_future(reader.warm())
            waiting = {*asked}
            end_s = time.monotonic() + search_ms_max / 1000
            try:
                while waiting and (left_s := end_s - time.monotonic()) > 0:
                    tell([engine.name for task, engine in asked.items() if task in waiting], len(asked))
                    _, waiting = await asyncio.wait(waiting, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (*waiting, warming):
                    task.cancel()
                await asyncio.gather(*asked, warming, return_exceptions=True)
            return [_outcome(task, engine, search_ms_max) for task, engine in asked.items()]

    def close(self) -> None:
        self._fetcher.close()

    async def _ask(self, engine: Engine, query: Query, reader: Reader, engine_ms_max: float) -> Outcome:
        started_s = time.monotonic()
        try:
            outcome = await self._asked(engine, query, reader, engine_ms_max)
        except TimeoutError:
            outcome = Outcome(engine, TIMEOUT, f"no answer within {engine_ms_max / 1000:g} s")
        except Refused as refusal:
            outcome = Outcome(engine, refusal.status, str(refusal))
        outcome.took_ms = 1000 * (time.monotonic() - started_s)
        return outcome

    async def _asked(self, engine: Engine, query: Query, reader: Reader, engine_ms_max: float) -> Outcome:
        """Raises Refused, TimeoutError."""
        rest_s = self._resting.get(engine.name, 0.0) - time.monotonic()
        if rest_s > 0:
            raise Refused(BLOCKED, f"asked to be left alone for {rest_s:.0f} s more")
        async with asyncio.timeout(engine_ms_max / 1000):
            answer = await self._fetcher.fetch(
                self._address(engine, query),
                engine.request(query),
                accept_language=query.accept_language,
                plain=engine.plain,
                walls=engine.walls,
            )
        verdict = await reader.read(engine.name, answer)
        if verdict["rest_s"] > 0:
            self._resting[engine.name] = time.monotonic() + verdict["rest_s"]
        return Outcome(engine, verdict["status"], verdict["reason"], verdict["hits"])

    def _address(self, engine: Engine, query: Query) -> str:
        if engine.name == OWN_SEARCH_ENGINE:
            return search_address(self._settings.searxng_url)
        return self._settings.search_endpoint(engine.name) or engine.address.format(language=query.language)


def _outcome(task: asyncio.Future[Outcome], engine: Engine, search_ms_max: float) -> Outcome:
    """Of a task that is done. A bug of ours in one engine is that engine's failure."""
    if task.cancelled():
        return Outcome(engine, TIMEOUT, f"not done when the search ended after {search_ms_max / 1000:g} s")
    fault = task.exception()
    if fault is not None:
        return Outcome(engine, ERROR, f"our own fault: {type(fault).__name__}")
    return task.result()
