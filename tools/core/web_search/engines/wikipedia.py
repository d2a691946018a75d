"""Wikipedia in the query's language, by MediaWiki's interface: articles with their first sentences."""

from __future__ import annotations

from tools.core.web_search.engine import BLOCKED, ERROR, Engine, Hit, Page, Refused, Request, refuse_error
from tools.core.web_search.markup import json_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tools.core.web_search.query import Query

QUERY_CHARS_MAX = 300
"""CirrusSearch refuses longer ones."""

SNIPPET_CHARS = 300
ARTICLES = 10


def _request(query: Query) -> Request:
    return Request(
        [
            ("action", "query"),
            ("generator", "search"),
            ("gsrsearch", query.text[:QUERY_CHARS_MAX]),
            ("gsrlimit", str(ARTICLES)),
            ("prop", "info|extracts"),
            ("inprop", "url"),
            ("exintro", "1"),
            ("explaintext", "1"),
            ("exlimit", str(ARTICLES)),
            ("exchars", str(SNIPPET_CHARS)),
            ("format", "json"),
            ("formatversion", "2"),
        ]
    )


def _parse(page: Page) -> list[Hit]:
    refuse_error(page)
    answer: Any = json_of(page)
    if "error" in answer:
        code = str(answer["error"]["code"])
        raise Refused(BLOCKED if code in ("ratelimited", "maxlag", "blocked") else ERROR, f"says {code[:40]}")
    if "query" not in answer and "batchcomplete" not in answer:
        raise KeyError("query")
    articles = sorted(answer.get("query", {}).get("pages", []), key=lambda article: article["index"])
    return [Hit(article["title"], article["fullurl"], article.get("extract", "")) for article in articles]


ENGINE = Engine(
    "wikipedia", address="https://{language}.wikipedia.org/w/api.php", request=_request, parse=_parse, plain=True
)
