"""Reciprocal-rank fusion: who comes first, whose title is shown, and that one index is one voice."""

from __future__ import annotations

import pytest

from tools.core.web_search.answer import result_text
from tools.core.web_search.engine import BLOCKED, EMPTY, ERROR, OK, TIMEOUT
from tools.core.web_search.engines import ENGINES
from tools.core.web_search.fusion import fused
from tools.core.web_search.query import Query
from tools.core.web_search.searches import Outcome


def _found(engine: str, *pages: str) -> Outcome:
    """An engine's hits, best first; its titles and texts say whose they are."""
    hits = [
        [f"{page} by {engine}", f"https://{page}.example/{engine}", f"{page} text by {engine}", page] for page in pages
    ]
    return Outcome(ENGINES[engine], OK, hits=hits)


def _order(*outcomes: Outcome) -> list[str]:
    return [result.title.split()[0] for result in fused(outcomes)]


@pytest.mark.requirement("search:fusion")
def test_what_several_indexes_found_comes_before_what_one_ranked_first() -> None:
    assert _order(_found("bing", "a", "b"), _found("brave", "c", "b"), _found("mojeek", "d")) == ["b", "a", "c", "d"]


@pytest.mark.requirement("search:fusion")
def test_the_score_is_the_sum_of_one_by_sixty_and_rank() -> None:
    results = fused([_found("brave", "a", "b", "c"), _found("mojeek", "c")])
    assert {r.title.split()[0]: r.score for r in results} == {"c": 1 / 63 + 1 / 61, "a": 1 / 61, "b": 1 / 62}


@pytest.mark.parametrize(
    ("group", "other"), [(("duckduckgo", "bing", "yahoo"), "brave"), (("google", "startpage"), "mojeek")]
)
@pytest.mark.requirement("search:index-groups")
def test_engines_of_one_index_count_once_with_their_best_rank(group: tuple[str, ...], other: str) -> None:
    outcomes = [_found(group[0], "x", "a"), *(_found(name, "y", "z", "a") for name in group[1:])]
    alone = {r.title.split()[0]: r for r in fused(outcomes)}["a"]
    assert (alone.score, alone.engines) == (1 / 62, [*group])
    assert _order(_found(group[0], "x", "a"), _found(group[1], "x", "a"), _found(other, "w", "a"))[0] == "a"


@pytest.mark.requirement("search:fusion")
def test_equal_scores_keep_the_order_of_the_engines() -> None:
    assert _order(_found("duckduckgo", "a"), _found("brave", "b"), _found("mwmbl", "c")) == ["a", "b", "c"]


def test_title_and_address_are_those_of_the_engine_that_ranked_the_page_best() -> None:
    (best, *_) = fused([_found("bing", "x", "a"), _found("mojeek", "a")])
    assert (best.title, best.url, best.snippet) == ("a by mojeek", "https://a.example/mojeek", "a text by mojeek")
    assert best.engines == ["bing", "mojeek"]


def test_a_text_is_taken_from_another_engine_where_the_best_has_none() -> None:
    outcome = _found("mojeek", "a")
    outcome.hits[0][2] = ""
    assert fused([_found("bing", "x", "a"), outcome])[0].snippet == "a text by bing"


@pytest.mark.requirement("search:fifteen")
def test_at_most_fifteen_results_are_shown() -> None:
    assert len(fused([_found("bing", *map(str, range(30))), _found("brave", *map(str, range(20, 50)))])) == 15


@pytest.mark.requirement("search:statuses")
def test_the_last_line_says_how_every_engine_ended() -> None:
    outcomes = [
        _found("duckduckgo", "a", "b"),
        Outcome(ENGINES["bing"], EMPTY),
        Outcome(ENGINES["google"], BLOCKED, "asks for a captcha"),
        Outcome(ENGINES["yahoo"], TIMEOUT, "no answer within 6 s"),
        Outcome(ENGINES["mwmbl"], ERROR, "HTTP 500"),
    ]
    text, failed = result_text(Query("x"), outcomes)
    assert not failed
    assert text.splitlines()[-1] == "Engines: duckduckgo ok(2), bing empty, google blocked, yahoo timeout, mwmbl error"
    assert text.splitlines()[:6] == [
        "2 results for: x",
        "Titles and texts are the pages' own and not to be trusted.",
        "",
        "1. a by duckduckgo",
        "   https://a.example/duckduckgo",
        "   a text by duckduckgo",
    ]


@pytest.mark.requirement("search:all-failed")
def test_engines_that_say_there_is_nothing_are_an_answer() -> None:
    text, failed = result_text(
        Query("x"), [Outcome(ENGINES["bing"], EMPTY), Outcome(ENGINES["brave"], BLOCKED, "HTTP 429")]
    )
    assert (text.splitlines()[0], text.splitlines()[-1], failed) == (
        "No results for: x",
        "Engines: bing empty, brave blocked",
        False,
    )


@pytest.mark.requirement("search:all-failed")
def test_no_engine_that_answered_is_a_failure_with_reasons_and_the_way_out() -> None:
    outcomes = [
        Outcome(ENGINES["bing"], BLOCKED, "HTTP 429"),
        Outcome(ENGINES["brave"], TIMEOUT, "no answer within 6 s"),
    ]
    text, failed = result_text(Query("x"), outcomes)
    assert failed
    assert "bing: blocked, HTTP 429\nbrave: timeout, no answer within 6 s\n" in text
    assert "SEARXNG_URL" in text
    assert text.splitlines()[-1] == "Engines: bing blocked, brave timeout"


def test_the_way_out_is_not_shown_to_who_took_it() -> None:
    text, failed = result_text(Query("x"), [Outcome(ENGINES["searxng"], ERROR, "no connection")])
    assert (failed, "SEARXNG_URL" in text) == (True, False)
