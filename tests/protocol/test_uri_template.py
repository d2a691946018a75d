"""Resource templates, read backwards."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.protocol.uri_template import match
from tests.protocol.json_values import UNICODE


@pytest.mark.parametrize(
    ("template", "uri", "variables"),
    [
        ("test://a/{id}", "test://a/7", {"id": "7"}),
        ("test://a/{id}/data", "test://a/7/data", {"id": "7"}),
        ("test://a/{id}/data", "test://a/7/8/data", None),
        ("test://a/{id}", "test://a/", None),
        ("test://a/{id}", "test://a/7?x", None),
        ("test://a/{id}", "test://a/7#x", None),
        ("test://a/{id}", "test://a/7\n", {"id": "7\n"}),
        ("test://a/{id}", "xtest://a/7", None),
        ("test://a/{first}/{second}", "test://a/1/2", {"first": "1", "second": "2"}),
        ("file:///{+path}", "file:///a/b/c.txt", {"path": "a/b/c.txt"}),
        ("file:///{+path}", "file:///", None),
        ("a.b/{x}", "aXb/1", None),
        ("a/{x}", "a/caf%C3%A9%20%2F", {"x": "café /"}),
        ("a/(b)/{x}", "a/(b)/1", {"x": "1"}),
        ("test://static", "test://static", {}),
        ("test://static", "test://static/", None),
    ],
)
def test_a_uri_fits_its_template_and_no_other(template: str, uri: str, variables: dict[str, str] | None) -> None:
    assert match(template, uri) == variables


@given(UNICODE.filter(bool), UNICODE.filter(bool))
def test_variables_that_a_client_encoded_come_back(first: str, second: str) -> None:
    uri = f"test://{quote(first, safe='')}/x/{quote(second, safe='')}"
    assert match("test://{first}/x/{second}", uri) == {"first": first, "second": second}


@given(st.text())
def test_any_uri_is_matched_or_not(uri: str) -> None:
    match("test://{name}/{+rest}", uri)
