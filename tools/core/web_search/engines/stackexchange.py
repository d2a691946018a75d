"""Stack Overflow's questions by the Stack Exchange interface: 300 requests a day and address without a key.

It says how long to rest (`backoff`), and shuts out who does not.
"""

from __future__ import annotations

from tools.core.web_search.engine import BLOCKED, ERROR, Engine, Hit, Page, Refused, Request, refuse_error
from tools.core.web_search.markup import json_of, plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tools.core.web_search.query import Query


def _request(query: Query) -> Request:
    return Request(
        [
            ("q", query.text),
            ("site", "stackoverflow"),
            ("sort", "relevance"),
            ("order", "desc"),
            ("pagesize", "10"),
        ]
    )


def _parse(page: Page) -> list[Hit]:
    """An error is HTTP 400 with its name in JSON."""
    if page.status != 400:
        refuse_error(page)
    answer: Any = json_of(page)
    page.rest_s = float(answer.get("backoff", 0))
    if "error_name" in answer:
        name = str(answer["error_name"])
        raise Refused(BLOCKED if name == "throttle_violation" else ERROR, f"says {name[:40]}")
    return [_hit(question) for question in answer["items"]]


def _hit(question: dict[str, Any]) -> Hit:
    answers = question["answer_count"]
    state = "an accepted one" if "accepted_answer_id" in question else "none accepted"
    about = f"{answers} answer{'s' if answers != 1 else ''}{f', {state}' if answers else ''}; score {question['score']}"
    return Hit(plain_text(question["title"]), question["link"], f"{about}; {', '.join(question.get('tags', []))}")


ENGINE = Engine(
    "stackexchange",
    address="https://api.stackexchange.com/2.3/search/advanced",
    request=_request,
    parse=_parse,
    plain=True,
)
