"""Queries: which are refused, and what each engine is asked for those that are not."""

from __future__ import annotations

import re

import pytest

from scorpio.settings import SEARCH_ENGINES
from scorpio.tool import ToolFailure
from tools.core.web_search.engines import ENGINES
from tools.core.web_search.query import Query, checked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "query is empty."),
        (" \t\r\n\u3000", "query is empty."),
        ("a\x00b", "control character U+0000 at position 1."),
        ("a \x1b[31m", "control character U+001B at position 2."),
        ("\x7f", "control character U+007F"),
        ("a\x85\x9b", "control character U+009B at position 2."),
        ("\ud800", "control character U+D800"),
        ("x" * 1025, "query has 1025 bytes; WebSearch takes at most 1024."),
        ("ソ" * 342, "query has 1026 bytes"),
        ("x" * 1_000_000, "query has 1000000 bytes"),
    ],
)
@pytest.mark.requirement("search:bad-query")
def test_a_query_that_no_engine_could_answer_is_refused(text: str, said: str) -> None:
    with pytest.raises(ToolFailure, match=re.escape(said)) as failure:
        checked(text)
    assert len(str(failure.value)) < 300


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("  two\n words\t", "two words"),
        ('"exact phrase" -not site:example.org a+b&c=d#e%20', '"exact phrase" -not site:example.org a+b&c=d#e%20'),
        ("ソケット 入門", "ソケット 入門"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("ソ" * 341, "ソ" * 341),
    ],
)
def test_a_query_goes_out_as_it_was_written_on_one_line(text: str, sent: str) -> None:
    assert checked(text).text == sent


@pytest.mark.parametrize(
    ("text", "language", "market"),
    [
        ("python sockets", "en", "en-US"),
        ("größe der straße", "en", "en-US"),
        ("非同期ソケット", "ja", "ja-JP"),
        ("python の ソケット", "ja", "ja-JP"),
        ("套接字编程", "zh", "zh-CN"),
        ("소켓 프로그래밍", "ko", "ko-KR"),
        ("сокеты питон", "ru", "ru-RU"),
        ("сокети для початківців", "uk", "uk-UA"),
        ("مقابس الشبكة", "ar", "ar-SA"),
        ("برنامه‌نویسی سوکت پایتون", "fa", "fa-IR"),
        ("שקעים", "he", "he-IL"),
        ("υποδοχές", "el", "el-GR"),
        ("ซ็อกเก็ต", "th", "th-TH"),
        ("सॉकेट", "hi", "hi-IN"),
        ("TypeError in asyncio.open_connection 日", "en", "en-US"),
        ("42 + 1 = 43", "en", "en-US"),
    ],
)
@pytest.mark.requirement("search:languages")
def test_the_language_asked_for_is_that_of_the_querys_letters(text: str, language: str, market: str) -> None:
    query = Query(text)
    assert (query.language, query.market) == (language, market)
    assert query.accept_language.startswith(market)


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_every_engine_is_asked_for_the_whole_query(name: str) -> None:
    request = ENGINES[name].request(Query("ソケット & streams"))
    assert "ソケット & streams" in [value for _, value in (*request.query, *request.form)]


@pytest.mark.parametrize("name", ["duckduckgo", "wikipedia", "hackernews"])
def test_an_engine_that_refuses_long_queries_is_asked_for_the_start_of_one(name: str) -> None:
    request = ENGINES[name].request(Query("x" * 1000))
    sent = max((value for _, value in (*request.query, *request.form)), key=len)
    assert set(sent) == {"x"}
    assert len(sent) < 500


def test_the_engines_are_those_that_the_configuration_knows() -> None:
    assert [*ENGINES] == [*SEARCH_ENGINES, "searxng"]


def test_an_engine_that_is_asked_as_a_browser_has_no_interface_for_programs() -> None:
    plain = {name for name, engine in ENGINES.items() if engine.plain}
    assert plain == {"mwmbl", "wikipedia", "stackexchange", "hackernews", "searxng"}
    assert all(engine.address.startswith("https://") for name, engine in ENGINES.items() if name != "searxng")
