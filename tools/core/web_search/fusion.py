"""Lists of hits made one, by reciprocal-rank fusion: what several indexes rank high comes first.

Engines that show the same index are one voice: the best of their ranks counts, once.
Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet …", SIGIR 2009, with their k = 60.
"""

from __future__ import annotations

from tools.core.limits import SEARCH_RESULTS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.core.web_search.searches import Outcome

K = 60


class Result:
    """One page that was found: title and address as the engine showed them that ranked it best."""

    __slots__ = ("engines", "rank", "ranks", "snippet", "title", "url")

    def __init__(self, title: str, url: str, snippet: str, rank: int) -> None:
        self.title = title
        self.url = url
        self.snippet = snippet
        self.rank = rank
        self.engines: list[str] = []
        self.ranks: dict[str, int] = {}
        """Index -> best rank in it, from 1."""

    @property
    def score(self) -> float:
        return sum(1 / (K + rank) for rank in self.ranks.values())


def fused(outcomes: Sequence[Outcome]) -> list[Result]:
    """The best SEARCH_RESULTS_MAX results, best first; equals in the order of the engines."""
    found: dict[str, Result] = {}
    for outcome in outcomes:
        for rank, (title, url, snippet, key) in enumerate(outcome.hits, 1):
            result = found.setdefault(key, Result(title, url, snippet, rank))
            if rank < result.rank:
                result.title, result.url, result.rank = title, url, rank
                result.snippet = snippet or result.snippet
            result.snippet = result.snippet or snippet
            result.engines.append(outcome.engine.name)
            index = outcome.engine.index
            result.ranks[index] = min(rank, result.ranks.get(index, rank))
    best = sorted(found.values(), key=lambda result: (-result.score, result.rank))
    return best[:SEARCH_RESULTS_MAX]
