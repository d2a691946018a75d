"""Bing. Its links lead through a redirect with the address in base64.

Without a market it takes one by the asker's address, and then answers other questions than were asked.
"""

from __future__ import annotations

from tools.core.page_nodes import drop
from tools.core.web_search.engine import Engine, Hit, Request
from tools.core.web_search.markup import above, first_text, href_of, page_parser, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser

    from tools.core.web_search.query import Query


def _request(query: Query) -> Request:
    return Request([("q", query.text), ("setmkt", query.market), ("setlang", query.language)])


def _hits(document: LexborHTMLParser) -> Iterator[Hit]:
    for item in document.css("li.b_algo:not(.b_ad)"):
        drop(item.css(".algoSlug_icon"))
        heading = item.css_first("h2")
        link = item.css_first("h2 a") or above(heading, "a")
        yield Hit(text_of(heading), href_of(link), first_text(item, ".b_caption p, p[class*=b_lineclamp], p"))


ENGINE = Engine(
    "bing",
    address="https://www.bing.com/search",
    request=_request,
    parse=page_parser(
        _hits,
        empty="li.b_no, div.b_no",
        empty_words=("there are no results for",),
        walls="[src*=turnstile]",
        wall_words=("one last step", "verify that you are not a robot", "enter the characters you see"),
    ),
)
