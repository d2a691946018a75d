"""Mojeek, an index of its own. Answers an address that asks often with 403."""

from __future__ import annotations

from tools.core.web_search.engine import Engine, Hit, Request
from tools.core.web_search.markup import first_text, href_of, page_parser, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser

    from tools.core.web_search.query import Query


def _request(query: Query) -> Request:
    return Request([("q", query.text)])


def _hits(document: LexborHTMLParser) -> Iterator[Hit]:
    for item in document.css("ul.results-standard > li:not(.ad)"):
        link = item.css_first("h2 a, a.title")
        yield Hit(text_of(link), href_of(link), first_text(item, "p.s"))


ENGINE = Engine(
    "mojeek",
    address="https://www.mojeek.com/search",
    request=_request,
    parse=page_parser(
        _hits,
        empty_words=("no pages found matching", "no results found"),
        wall_words=("sending automated queries",),
    ),
)
