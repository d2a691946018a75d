"""Addresses of results: redirects taken off, tracking removed, compared as pages and not as spellings."""

from __future__ import annotations

import base64
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.core.web_search.links import canonical, result_url, same_site

TARGET = "https://docs.example.org/a/b?page=2&q=%C3%A9#part"
BASE = "https://www.google.com/search"


def _bing(url: str) -> str:
    return (
        "https://www.bing.com/ck/a?!&&p=1&u=a1" + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=") + "&ntb=1"
    )


def _yahoo(url: str) -> str:
    return f"https://r.search.yahoo.com/_ylt=A;_ylu=Y/RV=2/RE=1/RO=10/RU={quote(url, safe='')}/RK=2/RS=x"


@pytest.mark.parametrize(
    ("href", "base"),
    [
        (TARGET, BASE),
        (f"/url?q={quote(TARGET, safe='')}&sa=U&ved=2", BASE),
        (f"https://www.google.de/url?sa=t&url={quote(TARGET, safe='')}", BASE),
        (f"//duckduckgo.com/l/?uddg={quote(TARGET, safe='')}&rut=1", "https://html.duckduckgo.com/html/"),
        (_bing(TARGET), "https://www.bing.com/search"),
        (_yahoo(TARGET), "https://search.yahoo.com/search"),
        (f"/do/d/search?url={quote(TARGET, safe='')}", "https://www.startpage.com/sp/search"),
        (f"/url?q={quote(_bing(TARGET), safe='')}", BASE),
        (f"  {TARGET}\n", BASE),
    ],
)
@pytest.mark.requirement("search:redirects-unwrapped")
def test_an_engines_redirect_is_taken_off(href: str, base: str) -> None:
    assert result_url(href, base) == TARGET


@pytest.mark.parametrize(
    "href",
    [
        "https://www.bing.com/ck/a?u=a1%%%",
        "https://www.bing.com/ck/a?u=a1_w",
        "https://www.bing.com/ck/a",
        "//duckduckgo.com/l/?rut=1",
        "//duckduckgo.com/l/?uddg=javascript%3Aalert(1)",
        "/url?q=/search?q=more",
        "/url?sa=U",
        "https://r.search.yahoo.com/_ylt=A/RV=2",
        _yahoo("ftp://example.org/"),
    ],
)
@pytest.mark.requirement("search:redirects-unwrapped")
def test_a_redirect_without_a_page_behind_it_is_no_result(href: str) -> None:
    assert result_url(href, BASE) == ""


@pytest.mark.parametrize(
    "href",
    [
        "https://duckduckgo.com/y.js?ad_domain=x.example&u3=https%3A%2F%2Fx.example",
        "https://www.bing.com/aclick?ld=e8&u=x",
        "/aclk?sa=l&adurl=https://x.example/",
        "https://www.googleadservices.com/pagead/aclk?sa=L",
        "https://ad.doubleclick.net/ddm/clk/1",
    ],
)
@pytest.mark.requirement("search:adverts")
def test_an_adverts_address_is_no_result(href: str) -> None:
    assert result_url(href, BASE) == ""


@pytest.mark.parametrize(
    "href",
    [
        *(
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "mailto:a@example.org",
            "ftp://example.org/",
        ),
        *(
            "https://google.com@evil.example/",
            "https://a:b@example.org/",
            "https://",
            "http:///x",
            "https://[::1",
            "#top",
        ),
        *("https://example.org:99999/", "https://a b.example/", "https://a%00b.example/", "https://a\x80.example/"),
        "https://example.org/" + "x" * 3000,
    ],
)
def test_what_is_no_plain_web_address_is_no_result(href: str) -> None:
    assert result_url(href, "about:blank") == ""


@pytest.mark.parametrize(
    ("href", "shown"),
    [
        ("HTTPS://WWW.Example.ORG/Path", "https://www.example.org/Path"),
        ("https://example.org/?utm_source=a&id=1&utm_medium=b&gclid=2", "https://example.org/?id=1"),
        ("https://example.org/?fbclid=x", "https://example.org/"),
        ("https://example.org/?UTM_Campaign=x&srsltid=y#s", "https://example.org/#s"),
        ("https://example.org/p#:~:text=word", "https://example.org/p"),
        ("https://example.org/p#part:~:text=word", "https://example.org/p#part"),
        ("https://bücher.example/straße", "https://xn--bcher-kva.example/straße"),
        ("https://STRASSE.example/", "https://strasse.example/"),
        ("https://straße.example/", "https://straße.example/"),
        ("https://example.org./", "https://example.org/"),
        ("https://example.org:8443/x", "https://example.org:8443/x"),
        ("http://[2001:DB8::1]:8080/x", "http://[2001:db8::1]:8080/x"),
        ("https://example.org/a b", "https://example.org/a%20b"),
        ("https://example.org/\u202egnp.exe", "https://example.org/%E2%80%AEgnp.exe"),
        ("https://example.org/?q=a%26b&c", "https://example.org/?q=a%26b&c"),
        ("//example.org/x", "https://example.org/x"),
    ],
)
@pytest.mark.requirement("search:canonical")
def test_an_address_is_shown_without_tracking_and_openable(href: str, shown: str) -> None:
    assert result_url(href, BASE) == shown


@pytest.mark.parametrize(
    "other",
    [
        "https://example.org/a/b?x=1&y=2",
        "http://example.org/a/b?x=1&y=2",
        "https://www.example.org/a/b?x=1&y=2",
        "https://WWW.EXAMPLE.ORG/a/b?x=1&y=2",
        "https://example.org:443/a/b?x=1&y=2",
        "http://example.org:80/a/b?x=1&y=2",
        "https://example.org/a/b/?x=1&y=2",
        "https://example.org/a/b?y=2&x=1",
        "https://example.org/a/b?x=1&utm_source=z&y=2",
        "https://example.org/a/b?x=1&y=2#part",
        "https://example.org/%61/b?x=1&y=2",
        "https://example.org./a/b?x=1&y=2",
    ],
)
@pytest.mark.requirement("search:canonical")
def test_spellings_of_one_page_are_the_same(other: str) -> None:
    assert canonical(other) == canonical("https://example.org/a/b?x=1&y=2")


@pytest.mark.parametrize(
    "other",
    [
        "https://example.com/a",
        "https://docs.example.org/a",
        "https://example.org/A",
        "https://example.org/a/b",
        "https://example.org/a?x=1",
        "https://example.org:8080/a",
        "https://example.org/%2Fa",
        "https://example.org/a#!/route",
        "https://example.org/a#/route",
    ],
)
@pytest.mark.requirement("search:canonical")
def test_other_pages_are_not_the_same(other: str) -> None:
    assert canonical(other) != canonical("https://example.org/a")


def test_spellings_of_a_host_in_other_letters_are_the_same() -> None:
    assert canonical("https://bücher.example/") == canonical("https://xn--bcher-kva.example")
    assert canonical("https://example.org/%c3%a9") == canonical("https://example.org/%C3%A9")


@given(st.text(max_size=200) | st.from_regex(r"\Ahttps?://[^\n]{0,60}\Z"), st.sampled_from([BASE, "about:blank"]))
def test_any_text_is_a_web_address_or_none(href: str, base: str) -> None:
    url = result_url(href, base)
    if url:
        assert urlsplit(url).scheme in ("http", "https")
        assert url.isprintable()
        assert " " not in url
        assert result_url(url, base) == url
        assert canonical(url) == canonical(url)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("search.yahoo.com", "fr.search.yahoo.com", True),
        ("www.google.com", "consent.google.com", True),
        ("www.google.com", "www.google.de", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "10.0.0.1", False),
        ("localhost", "otherhost", False),
        ("::1", "::1", True),
        ("::1", "::2", False),
        ("a.example", "169.254.169.254", False),
    ],
)
def test_sites_are_told_apart_by_their_last_two_labels(one: str, other: str, same: bool) -> None:
    assert same_site(one, other) is same
