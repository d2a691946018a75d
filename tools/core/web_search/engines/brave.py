"""Brave Search, an index of its own. Sends programs to /captcha, or answers 429."""

from __future__ import annotations

from tools.core.web_search.engine import Engine, Hit, Request
from tools.core.web_search.markup import first_text, href_of, page_parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser

    from tools.core.web_search.query import Query

SNIPPETS = ".generic-snippet .content, .video-snippet .content, .snippet-description, .snippet-content, .description"


def _request(query: Query) -> Request:
    return Request([("q", query.text), ("source", "web")])


def _hits(document: LexborHTMLParser) -> Iterator[Hit]:
    for item in document.css("[data-type=web]"):
        title = first_text(item, ".search-snippet-title, .snippet-title, .title")
        yield Hit(title, href_of(item.css_first("a[href]")), first_text(item, SNIPPETS))


ENGINE = Engine(
    "brave",
    address="https://search.brave.com/search",
    request=_request,
    parse=page_parser(
        _hits,
        empty="#search-elsewhere",
        empty_words=("not many great matches came back", "no results found"),
        wall_words=("flagged as being suspicious", "confirm you're human"),
    ),
    walls=("/captcha", "/verify"),
)
