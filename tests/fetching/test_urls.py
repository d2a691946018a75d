"""URLs are read as a browser reads them, and what programs read differently is refused."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.web_address import BadUrl, parse

LOOPBACK_SPELLINGS = (
    *("127.1", "127.0.1", "2130706433", "017700000001", "0x7f000001", "0x7f.1", "0x7F.0.0.0x1", "0177.0.0.1"),
    *(
        "127.0.0.1.",
        "127.000.000.001",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "１２７．０．０．１",
        "%31%32%37.0.0.1",
        "0x7f.0x000001",
    ),
)


@pytest.mark.requirement("fetch:spellings")
@pytest.mark.parametrize("host", LOOPBACK_SPELLINGS)
def test_every_spelling_of_an_ipv4_address_is_that_address(host: str) -> None:
    assert parse(f"http://{host}/").host == "127.0.0.1"


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTP://Example.ORG:80/A?b#c", "http://example.org/A?b"),
        ("https://example.org", "https://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:8080/x", "http://example.org:8080/x"),
        ("http:\\\\example.org\\a\\b", "http://example.org/a/b"),
        ("http:example.org", "http://example.org/"),
        ("http:////example.org/", "http://example.org/"),
        ("http://good.example\\.evil.example/", "http://good.example/.evil.example/"),
        ("http://example.org?q", "http://example.org/?q"),
        ("http://[0:0:0:0:0:FFFF:7f00:1]:81/", "http://[::ffff:7f00:1]:81/"),
        ("http://0/", "http://0.0.0.0/"),
        ("http://bücher.example/ä ö?ü=1", "http://xn--bcher-kva.example/%C3%A4%20%C3%B6?%C3%BC=1"),
        ("http://example.org/%zz%20", "http://example.org/%zz%20"),
        ("  http://example.org/  ", "http://example.org/"),
    ],
)
def test_a_url_is_read_as_browsers_read_it(url: str, canonical: str) -> None:
    assert parse(url).url == canonical


@pytest.mark.requirement("fetch:bad-urls")
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/passwd", "scheme file:"),
        ("javascript:alert(1)", "scheme javascript:"),
        ("data:text/html,x", "scheme data:"),
        ("view-source:http://a/", "scheme view-source:"),
        ("ftp://a/", "scheme ftp:"),
        ("chrome://version", "scheme chrome:"),
        ("blob:http://a/1", "scheme blob:"),
        ("localhost:3000", "Begin it with https"),
        ("example.org/docs", "Begin it with https"),
        ("//example.org", "Begin it with https"),
        ("", "Begin it with https"),
        ("http://", "names no host"),
        ("http:///", "names no host"),
        ("http://:80/", "names no host"),
        ("http://user@example.org/", "user name or password"),
        ("http://example.org@127.0.0.1/", "user name or password"),
        ("http://user:pw@[::1]/", "user name or password"),
        ("http://example.org:99999/", "port '99999'"),
        ("http://example.org:8o/", "port '8o'"),
        ("http://example.org:-1/", "port '-1'"),
        ("http://exa mple.org/", "cannot be one"),
        ("http://example..org/", "cannot be one"),
        ("http://exam%00ple.org/", "cannot be one"),
        ("http://example.org%2f@evil/", "user name or password"),
        ("http://example.org%2f.evil/", "cannot be one"),
        ("http://256.0.0.1/", "cannot be one"),
        ("http://1.2.3.4.5/", "cannot be one"),
        ("http://0x1g.1/", "cannot be one"),
        ("http://09.1/", "cannot be one"),
        ("http://[::1/", "cannot be one"),
        ("http://[::1]x/", "between ] and the port"),
        ("http://[fe80::1%25eth0]/", "cannot be one"),
        ("http://℀.example/", "cannot be one"),
        ("http://a\nb/", "control character"),
        ("http://a/\0", "control character"),
        ("http://a/\u2028", "control character"),
        ("http://a/\ud800", "lone surrogate"),
        ("http://" + "a" * 300 + ".example/", "cannot be one"),
        ("http://a/" + "b" * 10_000, "characters"),
    ],
)
def test_what_is_no_fetchable_url_is_refused_with_the_reason(url: str, words: str) -> None:
    with pytest.raises(BadUrl) as refusal:
        parse(url)
    assert words in str(refusal.value)
    assert str(refusal.value).endswith(".")
    str(refusal.value).encode()


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("/x", "https://a.example/x"),
        ("y?z", "https://a.example/b/y?z"),
        ("//b.example", "https://b.example/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        (" ../up ", "https://a.example/up"),
    ],
)
def test_a_reference_is_joined_with_its_page(reference: str, url: str) -> None:
    assert parse("https://a.example/b/c").join(reference).url == url


@pytest.mark.parametrize("reference", ["file:///etc/passwd", "http://[", "http://u@b/", "gopher://x"])
def test_a_reference_that_is_not_fetched_is_refused(reference: str) -> None:
    with pytest.raises(BadUrl):
        parse("https://a.example/b/c").join(reference)


@given(st.text(string.printable + "①。ßé\u200b@\\[]%", max_size=40))
def test_whatever_is_read_is_read_the_same_again(text: str) -> None:
    try:
        first = parse(f"http://{text}")
    except BadUrl:
        return
    again = parse(first.url)
    assert (again.host, again.port, again.url) == (first.host, first.port, first.url)
