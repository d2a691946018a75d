"""Every engine's parser: on pages of its current form, and on those that have no results for one reason or another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lacking import lacking
from tests.toolsets.core.search_pages import (
    ADVERT,
    ITEMS,
    PAGES,
    SHOWN,
    google_with_scripts,
    startpage_boxes,
    startpage_script,
)
from tools.core.web_search.engine import Page
from tools.core.web_search.engines import ENGINES
from tools.core.web_search.reading import read, visible

RECORDED = os.environ.get("SCORPIO_FIXTURES", "")
EVERY = pytest.mark.parametrize("name", sorted(ENGINES))
PAGE_ENGINES = ("duckduckgo", "bing", "brave", "google", "mojeek", "startpage", "yahoo")


def _read(name: str, text: str, status: int = 200) -> tuple[str, str, list[list[str]]]:
    verdict = read(ENGINES[name], Page(status, text))
    return verdict["status"], verdict["reason"], [row[:3] for row in verdict["hits"]]


@EVERY
@pytest.mark.requirement("search:results")
def test_a_page_of_results_gives_its_titles_addresses_and_texts_in_order(name: str) -> None:
    status, _, rows = _read(name, PAGES[name].results())
    assert status == "ok"
    assert [row[:2] for row in rows] == [[item[0], url] for item, url in zip(ITEMS, SHOWN, strict=True)]
    if name not in ("stackexchange", "hackernews"):
        assert [row[2] for row in rows] == [item[2] for item in ITEMS]


@EVERY
@pytest.mark.requirement("search:adverts")
def test_an_advert_is_no_result(name: str) -> None:
    _, _, rows = _read(name, PAGES[name].results())
    assert ADVERT[0] not in str(rows)
    assert "shop.example.com" not in str(rows)


@pytest.mark.parametrize("name", ["google", "bing"])
def test_a_page_whose_root_is_named_like_an_advert_has_its_results(name: str) -> None:
    named = PAGES[name].results().replace("<html ", '<html class="uEierd algoSlug_icon" data-text-ad ')
    assert [row[1] for row in _read(name, named)[2]] == [*SHOWN]


@pytest.mark.parametrize(
    ("name", "text"), [("google", google_with_scripts()), ("startpage", startpage_boxes())], ids=["google", "startpage"]
)
@pytest.mark.requirement("search:results")
def test_the_page_that_scripts_have_made_gives_the_same_results(name: str, text: str) -> None:
    status, _, rows = _read(name, text)
    assert (status, [row[0] for row in rows], [row[1] for row in rows]) == ("ok", [i[0] for i in ITEMS], [*SHOWN])
    assert [row[2] for row in rows] == [item[2] for item in ITEMS]


def test_texts_of_interfaces_say_what_a_question_and_a_story_are_worth() -> None:
    question = _read("stackexchange", PAGES["stackexchange"].results())[2][0][2]
    story = _read("hackernews", PAGES["hackernews"].results())[2][0][2]
    assert question == "1 answer, an accepted one; score 7; sockets, python"
    assert story == "12 points, 3 comments: https://news.ycombinator.com/item?id=40"


def test_a_story_about_no_page_leads_to_its_discussion() -> None:
    text = '{"hits":[{"objectID":"77","title":"Ask HN: sockets?","url":null,"points":null,"story_text":"<p>Why?"}]}'
    assert _read("hackernews", text)[2] == [
        [
            "Ask HN: sockets?",
            "https://news.ycombinator.com/item?id=77",
            "0 points, 0 comments: https://news.ycombinator.com/item?id=77 Why?",
        ]
    ]


@EVERY
@pytest.mark.requirement("search:statuses")
def test_a_page_that_says_there_is_nothing_is_empty(name: str) -> None:
    assert _read(name, PAGES[name].empty) == ("empty", "", [])


@EVERY
@pytest.mark.requirement("search:captcha-is-blocked")
def test_a_page_that_asks_for_a_person_is_blocked_and_never_empty(name: str) -> None:
    status, reason, rows = _read(name, PAGES[name].blocked)
    assert (status, rows) == ("blocked", [])
    assert reason


@EVERY
@pytest.mark.parametrize("challenge", ["recaptcha", "turnstile", "anubis", "title", "script"])
@pytest.mark.requirement("search:captcha-is-blocked")
def test_a_challenge_that_any_site_may_show_is_blocked(name: str, challenge: str) -> None:
    page = {
        "recaptcha": '<form><div class="g-recaptcha" data-sitekey="6L"></div></form>',
        "turnstile": '<div class="cf-turnstile"></div>',
        "anubis": '<script id="anubis_challenge" type="application/json">{}</script>',
        "title": "<title>Attention Required! | Cloudflare</title><h1>Sorry, you have been blocked</h1>",
        "script": '<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>',
    }[challenge]
    assert _read(name, f"<!doctype html>{page}")[0] == "blocked"


@EVERY
@pytest.mark.requirement("search:statuses")
def test_a_page_of_another_form_is_an_error_and_never_empty(name: str) -> None:
    status, reason, rows = _read(name, PAGES[name].changed)
    assert (status, rows) == ("error", [])
    assert "form" in reason


@EVERY
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, "blocked"),
        (403, "blocked"),
        (429, "blocked"),
        (503, "blocked"),
        (404, "error"),
        (500, "error"),
        (302, "error"),
    ],
)
@pytest.mark.requirement("search:statuses")
def test_an_http_error_is_no_result_whatever_its_page_shows(name: str, status: int, expected: str) -> None:
    if (name, status) == ("searxng", 403):
        expected = "error"  # what it answers where JSON is not allowed
    found, reason, rows = _read(name, PAGES[name].results(), status)
    assert (found, rows) == (expected, [])
    assert str(status) in reason


@pytest.mark.requirement("search:captcha-is-blocked")
def test_a_success_without_results_that_is_not_200_is_blocked() -> None:
    assert _read("duckduckgo", PAGES["duckduckgo"].changed, 202) == ("blocked", "HTTP 202 without results", [])


@pytest.mark.parametrize("name", PAGE_ENGINES)
@pytest.mark.requirement("search:captcha-is-blocked")
def test_results_about_captchas_are_results(name: str) -> None:
    items = [("Captcha: verify you are human", "https://captcha.example.org/", "One last step; unusual traffic.")]
    status, _, rows = _read(name, PAGES[name].results(items).replace("<title>sockets", "<title>captcha"))
    assert (status, rows) == ("ok", [[items[0][0], items[0][1], items[0][2]]])


@EVERY
@pytest.mark.parametrize("part", [0.0, 0.02, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_page_that_broke_off_gives_what_it_has_and_never_an_exception(name: str, part: float) -> None:
    whole = PAGES[name].results()
    status, _, rows = _read(name, whole[: int(part * len(whole))])
    assert status in ("ok", "error")
    assert [row[0] for row in rows] == [item[0] for item in ITEMS][: len(rows)]


@pytest.mark.parametrize("name", ["duckduckgo", "bing", "brave", "google", "mojeek", "yahoo"])
def test_a_page_that_broke_off_near_its_end_has_its_first_results(name: str) -> None:
    whole = PAGES[name].results()
    cut = whole[: whole.index("Sockets in one page") - 20]
    assert [row[0] for row in _read(name, cut)[2]][:2] == [item[0] for item in ITEMS[:2]]


@EVERY
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00\x01\x02" * 100,
        "\ud83d\ufffd<",
        "[",
        "null",
        "[null]",
        "[[]]",
        "{}",
        '{"results": 5}',
        '{"hits": {"a": 1}}',
        '{"items": [7]}',
        '{"query": {"pages": [{}]}}',
        '{"query": []}',
        '{"error": "none"}',
        '{"error_name": null}',
        "[" * 5000,
        "<html>" * 1000,
        "not found",
    ],
)
def test_an_answer_that_is_none_is_an_error(name: str, text: str) -> None:
    status, reason, rows = _read(name, text)
    assert (status, rows) == ("error", [])
    assert reason


def test_a_result_without_a_title_or_a_web_address_is_left_out() -> None:
    items = [
        ("", "https://a.example/", ""),
        ("Script", "javascript:alert(1)", ""),
        ("File", "file:///etc/passwd", ""),
        ("Mail", "mailto:a@b.example", ""),
        ("Credentials", "https://google.com@evil.example/", ""),
        ("Page", "https://a.example/page", ""),
    ]
    assert _read("brave", PAGES["brave"].results(items))[2] == [["Page", "https://a.example/page", ""]]


def test_results_whose_addresses_are_all_broken_are_an_error() -> None:
    status, reason, _ = _read("brave", PAGES["brave"].results([("Title", "https://[broken/", "")]))
    assert (status, reason) == ("error", "none of its results has an address")


def test_a_page_that_an_engine_shows_twice_is_one_result() -> None:
    items = [
        ("Page", "https://www.a.example/page/?utm_source=x", "One."),
        ("Again", "http://a.example/page#top", "Two."),
    ]
    assert _read("mojeek", PAGES["mojeek"].results(items))[2] == [["Page", "https://www.a.example/page/", "One."]]


def test_a_hundred_results_of_one_engine_are_thirty() -> None:
    items = [(f"Page {n}", f"https://a.example/{n}", "") for n in range(100)]
    assert [row[0] for row in _read("bing", PAGES["bing"].results(items))[2]] == [f"Page {n}" for n in range(30)]


def test_startpage_without_its_box_of_results_is_an_error() -> None:
    text = startpage_script(
        [{"display_type": "ads-google-top", "results": [{"title": "x", "clickUrl": "https://x.y/"}]}]
    )
    assert _read("startpage", text)[0] == "error"


def test_the_title_of_yahoos_older_form_is_without_the_path_before_it() -> None:
    text = (
        '<div class="dd algo"><div class="compTitle"><h3 class="title"><a href="https://a.example/" aria-label="Title">'
        "<span>a.example › path</span>Title</a></h3></div></div>"
    )
    assert _read("yahoo", text)[2] == [["Title", "https://a.example/", ""]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n  b\tc", "a b c"),
        ("in\u00advi\u200bsi\u200eble\ufeff", "invisible"),
        ("\u202egnp.exe\u202c", "gnp.exe"),
        ("tag\U000e0041\U000e0042s", "tags"),
        ("bell\x07 \x1b[31mred", "bell [31mred"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("a\u200cb \u200d\u200c\u200d", "ab "),
        ("👩\u200d💻 ✈\ufe0f", "👩\u200d💻 ✈\ufe0f"),
        ("filler\u3164\u115f", "filler"),
        ("ß" * 50, "ß" * 19 + "…"),
    ],
)
@pytest.mark.requirement("search:untrusted-text")
def test_a_text_is_one_line_of_what_a_person_would_see(text: str, shown: str) -> None:
    assert visible(text, 20) == shown


# -- pages that others recorded


def _recorded(name: str) -> str:
    folder = Path(RECORDED or "not-set") / "search"
    if not folder.is_dir():
        message = f"SCORPIO_FIXTURES names no folder with search/: {RECORDED!r}"
        pytest.fail(message) if RECORDED else lacking(message)
    return (folder / name).read_text("utf-8")


@pytest.mark.parametrize(
    ("engine", "count", "first"),
    [
        ("bing", 10, "How to read a local text file using JavaScript? - GeeksforGeeks"),
        ("brave", 20, "JavaScript Tutorial"),
        ("duckduckgo", 10, "Using the Fetch API - Web APIs | MDN - MDN Web Docs"),
        ("google", 10, "Using the Fetch API - MDN Web Docs"),
        ("mojeek", 10, "The Modern JavaScript Tutorial"),
        ("startpage", 10, "JavaScript Tutorial - W3Schools"),
        ("yahoo", 7, "JavaScript Tutorial - W3Schools"),
    ],
)
@pytest.mark.requirement("search:results")
def test_a_recorded_page_gives_all_of_its_results_and_no_advert(engine: str, count: int, first: str) -> None:
    """By hits: in some recordings all addresses were made the same."""
    hits = ENGINES[engine].parse(Page(200, _recorded(f"{engine}-results.html")))
    assert (len(hits), hits[0].title.strip()) == (count, first)
    assert all(hit.url.startswith("http") for hit in hits)
    assert sum(1 for hit in hits if hit.snippet.strip()) >= count - 2


@pytest.mark.parametrize("name", ["google-captcha", "google-captcha_new", "google-soft_block"])
@pytest.mark.requirement("search:captcha-is-blocked")
def test_a_recorded_wall_is_blocked(name: str) -> None:
    assert _read("google", _recorded(f"{name}.html"))[0] == "blocked"


@pytest.mark.requirement("search:statuses")
def test_a_recorded_page_without_results_is_empty() -> None:
    assert _read("google", _recorded("google-no_results.html"))[0] == "empty"
