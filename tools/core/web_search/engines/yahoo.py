"""Yahoo: Bing's index. Sets a cookie by a redirect first; in Europe it may ask for consent instead."""

from __future__ import annotations

from tools.core.web_search.engine import Engine, Hit, Request
from tools.core.web_search.markup import first_text, href_of, page_parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from tools.core.web_search.query import Query


def _request(query: Query) -> Request:
    return Request([("p", query.text), ("ei", "UTF-8")])


def _hits(document: LexborHTMLParser) -> Iterator[Hit]:
    for item in document.css("div.algo"):
        link = item.css_first(".compTitle a[href], h3 a[href]")
        yield Hit(_title(item), href_of(link), first_text(item, ".compText"))


def _title(item: LexborNode) -> str:
    """Where the link stands in the heading, the site's name and path are before the title in it."""
    link = item.css_first("h3 a")
    label = (link.attributes.get("aria-label") or "") if link is not None else ""
    return label or first_text(item, "h3")


ENGINE = Engine(
    "yahoo",
    address="https://search.yahoo.com/search",
    index="bing",
    request=_request,
    parse=page_parser(
        _hits,
        empty=".zrp",
        empty_words=("we did not find results for", "we did not find any results for"),
        wall_words=("unusual activity",),
    ),
    walls=("consent.yahoo.", "guce.yahoo.", "/challenge"),
)
