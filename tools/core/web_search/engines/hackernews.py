"""Stories of Hacker News by Algolia's interface: the page that one is about, else its discussion."""

from __future__ import annotations

from tools.core.web_search.engine import Engine, Hit, Page, Request, refuse_error
from tools.core.web_search.markup import json_of, plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tools.core.web_search.query import Query

QUERY_CHARS_MAX = 128
"""512 bytes are Algolia's bound; a character has up to 4."""


def _request(query: Query) -> Request:
    return Request([("query", query.text[:QUERY_CHARS_MAX]), ("tags", "story"), ("hitsPerPage", "10")])


def _parse(page: Page) -> list[Hit]:
    refuse_error(page)
    answer: Any = json_of(page)
    return [_hit(story) for story in answer["hits"]]


def _hit(story: dict[str, Any]) -> Hit:
    discussion = f"https://news.ycombinator.com/item?id={story['objectID']}"
    about = f"{story.get('points') or 0} points, {story.get('num_comments') or 0} comments"
    words = plain_text(story.get("story_text") or "")
    return Hit(story["title"], story.get("url") or discussion, f"{about}: {discussion} {words}")


ENGINE = Engine(
    "hackernews", address="https://hn.algolia.com/api/v1/search", request=_request, parse=_parse, plain=True
)
