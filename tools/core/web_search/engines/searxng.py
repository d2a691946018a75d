"""A SearXNG of the user's own, whose address is SEARXNG_URL: asked beside the others, and as one engine."""

from __future__ import annotations

from tools.core.web_search.engine import ERROR, Engine, Hit, Page, Refused, Request, refuse_error
from tools.core.web_search.markup import json_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tools.core.web_search.query import Query

FORBIDDEN = 403
"""Its answer where the format is not allowed: https://docs.searxng.org/dev/search_api.html"""


def _request(query: Query) -> Request:
    return Request([("q", query.text), ("format", "json")])


def _parse(page: Page) -> list[Hit]:
    if page.status == FORBIDDEN:
        raise Refused(ERROR, "HTTP 403: its settings.yml must list json under search.formats")
    refuse_error(page)
    answer: Any = json_of(page)
    hits = [Hit(r["title"], r["url"], r.get("content") or "") for r in answer["results"]]
    if not hits and answer.get("unresponsive_engines"):
        raise Refused(ERROR, "none of its engines answered")
    return hits


def search_address(url: str) -> str:
    """Of SEARXNG_URL, which names the instance or its search."""
    return url if url.rstrip("/").endswith("/search") else url.rstrip("/") + "/search"


ENGINE = Engine("searxng", address="", request=_request, parse=_parse, plain=True)
