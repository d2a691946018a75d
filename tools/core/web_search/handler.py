"""WebSearch: one query to all search engines at once; their results as one list."""

from __future__ import annotations

from scorpio.tool import ToolFailure, text
from tools.core.limits import SEARCHES_RUNNING_MAX
from tools.core.web_search.answer import result_text
from tools.core.web_search.query import checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorpio.tool import Call, ToolResult
    from tools.core._catalog import WebSearchArguments
    from tools.core.state import CoreState


async def handle(arguments: WebSearchArguments, call: Call[CoreState]) -> ToolResult:
    query = checked(arguments["query"])
    searches = call.state.searches
    if not searches.chosen():
        raise ToolFailure(
            "WEBSEARCH_ENGINES names only searxng, and SEARXNG_URL is not set. "
            "Set SEARXNG_URL to the address of a SearXNG, or name other engines."
        )
    if searches.full:
        call.activity = f"waiting: {SEARCHES_RUNNING_MAX} searches are running"

    def tell(waiting: Sequence[str], asked: int) -> None:
        call.activity = f"searching: waiting for {', '.join(waiting)}"
        call.progress(asked - len(waiting), asked, call.activity)

    answer, failed = result_text(query, await searches.search(query, tell))
    return text(answer, is_error=failed)
