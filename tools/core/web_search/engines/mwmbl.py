"""Mwmbl, a small index made by volunteers, with an interface for programs. Texts come in runs, bold and plain."""

from __future__ import annotations

from tools.core.web_search.engine import Engine, Hit, Page, Request, refuse_error
from tools.core.web_search.markup import json_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tools.core.web_search.query import Query


def _request(query: Query) -> Request:
    return Request([("s", query.text)])


def _parse(page: Page) -> list[Hit]:
    refuse_error(page)
    answer: Any = json_of(page)
    results = answer["results"] if isinstance(answer, dict) else answer
    return [Hit(_joined(result["title"]), result["url"], _joined(result["extract"])) for result in results]


def _joined(runs: Any) -> str:
    return runs if isinstance(runs, str) else "".join(run["value"] for run in runs)


ENGINE = Engine("mwmbl", address="https://api.mwmbl.org/api/v1/search/", request=_request, parse=_parse, plain=True)
