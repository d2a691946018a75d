"""Startpage: Google's results. They stand in a script that makes the page, and in some answers in the page as well.

Programs get a proof of work (Anubis) or /sp/captcha.
"""

from __future__ import annotations

from tools.core.web_search.engine import Engine, Hit, Page, Request, refuse_error
from tools.core.web_search.markup import first_text, href_of, page_parser, plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from selectolax.lexbor import LexborHTMLParser

    from tools.core.web_search.query import Query

SCRIPT = "React.createElement(UIStartpage.AppSerpWeb, {"
"""What stands before the JSON object with the results; its brace belongs to that."""


def _request(query: Query) -> Request:
    """As a browser asks that has it among its search engines: no form with a key of the home page is needed then."""
    return Request([("query", query.text), ("cat", "web"), ("pl", "opensearch")])


def _hits(document: LexborHTMLParser) -> Iterator[Hit]:
    for item in document.css("div.result, .w-gl__result"):
        link = item.css_first("a.result-title, a.w-gl__result-title, a.result-link")
        title = first_text(item, "h2, h3, .w-gl__result-title")
        yield Hit(title, href_of(link), first_text(item, "p.description, .w-gl__description"))


_parse_page = page_parser(
    _hits,
    empty=".no-results, [class*=no-results]",
    empty_words=("did not match any", "no results found"),
)


def _parse(page: Page) -> list[Hit]:
    refuse_error(page)
    boxes = _boxes(page.text)
    hits = [_hit(result) for box in boxes if box["display_type"] == "web-google" for result in box["results"]]
    said_empty = any("noresults" in box["display_type"] for box in boxes)
    return hits if hits or said_empty else _parse_page(page)


def _boxes(text: str) -> list[dict[str, Any]]:
    """The boxes of the main column, adverts among them; none where the script is another one."""
    start = text.find(SCRIPT)
    if start < 0:
        return []
    import json

    try:
        data, _ = json.JSONDecoder().raw_decode(text, start + len(SCRIPT) - 1)
        boxes = data["render"]["presenter"]["regions"]["mainline"]
        return [box for box in boxes if isinstance(box.get("results"), list)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _hit(result: dict[str, Any]) -> Hit:
    return Hit(plain_text(result["title"]), result["clickUrl"], plain_text(result.get("description") or ""))


ENGINE = Engine(
    "startpage",
    address="https://www.startpage.com/sp/search",
    index="google",
    request=_request,
    parse=_parse,
    walls=("/sp/captcha",),
)
