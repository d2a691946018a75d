"""DuckDuckGo's page without scripts, and the one its scripts make: most of Bing's index.

Refuses queries of 500 characters; answers programs with HTTP 202 and a form to be solved.
"""

from __future__ import annotations

from tools.core.web_search.engine import Engine, Hit, Request
from tools.core.web_search.markup import first_text, href_of, page_parser, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser

    from tools.core.web_search.query import Query

QUERY_CHARS_MAX = 499
ANYWHERE = "wt-wt"


def _request(query: Query) -> Request:
    return Request(
        form=[("q", query.text[:QUERY_CHARS_MAX]), ("b", ""), ("kl", ANYWHERE)],
        headers={
            "origin": "https://html.duckduckgo.com",
            "referer": "https://html.duckduckgo.com/",
            "sec-fetch-site": "same-origin",
        },
    )


def _hits(document: LexborHTMLParser) -> Iterator[Hit]:
    for item in document.css("div.result:not(.result--ad):not(.result--no-result)"):
        link = item.css_first("a.result__a, .result__title a")
        yield Hit(text_of(link), href_of(link), first_text(item, ".result__snippet"))
    for item in document.css("article[data-testid=result]"):
        link = item.css_first("a[data-testid=result-title-a]")
        yield Hit(text_of(link), href_of(link), first_text(item, "[data-result=snippet]"))


ENGINE = Engine(
    "duckduckgo",
    address="https://html.duckduckgo.com/html/",
    index="bing",
    request=_request,
    parse=page_parser(
        _hits,
        empty=".no-results, .result--no-result",
        empty_words=("no results found for",),
        wall_words=("bots use duckduckgo too",),
    ),
)
