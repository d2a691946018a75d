"""What a log-in reads and compares: addresses, challenges, places of metadata."""

from __future__ import annotations

import pytest

from scorpio.client.failures import LoginFailure
from scorpio.client.oauth import address, challenge, discovery

HOST = "https://auth.example"


@pytest.mark.requirement("client:login-discovery")
@pytest.mark.parametrize(
    ("issuer", "places"),
    [
        (HOST, ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
        (
            f"{HOST}/tenant",
            [
                "/.well-known/oauth-authorization-server/tenant",
                "/.well-known/openid-configuration/tenant",
                "/tenant/.well-known/openid-configuration",
            ],
        ),
    ],
)
def test_an_issuers_metadata_have_places_in_an_order(issuer: str, places: list[str]) -> None:
    assert list(discovery.issuer_places(issuer)) == [HOST + place for place in places]


@pytest.mark.requirement("client:login-discovery")
@pytest.mark.parametrize(
    ("url", "named", "places"),
    [
        (f"{HOST}/a/mcp", "", [f"{HOST}/.well-known/oauth-protected-resource/a/mcp",
                               f"{HOST}/.well-known/oauth-protected-resource"]),
        (f"{HOST}/", "", [f"{HOST}/.well-known/oauth-protected-resource"]),
        (f"{HOST}/", f"{HOST}/x.json", [f"{HOST}/x.json", f"{HOST}/.well-known/oauth-protected-resource"]),
    ],
)  # fmt: skip
def test_a_servers_metadata_have_places_in_an_order(url: str, named: str, places: list[str]) -> None:
    assert list(discovery.resource_places(url, named)) == places


@pytest.mark.requirement("client:login-origin")
@pytest.mark.parametrize(
    ("resource", "url", "covered"),
    [
        ("https://a.example", "https://a.example/mcp", True),
        ("https://a.example/", "https://A.example:443/mcp", True),
        ("https://a.example/mcp", "https://a.example/mcp", True),
        ("https://a.example/mcp/", "https://a.example/mcp", True),
        ("https://a.example/mc", "https://a.example/mcp", False),
        ("https://a.example/other", "https://a.example/mcp", False),
        ("http://a.example/mcp", "https://a.example/mcp", False),
        ("https://a.example:8443/mcp", "https://a.example/mcp", False),
        ("https://evil.example/mcp", "https://a.example/mcp", False),
        ("https://a.example/mcp#x", "https://a.example/mcp", False),
        ("https://a.example@evil.example/", "https://a.example/", False),
        ("", "https://a.example/", False),
    ],
)
def test_a_resource_covers_what_lies_below_it_at_its_origin(resource: str, url: str, covered: bool) -> None:
    assert address.covers(resource, url) is covered


@pytest.mark.requirement("client:login-origin")
@pytest.mark.parametrize(
    ("url", "loopback", "safe"),
    [
        ("https://a.example/x", False, True),
        ("http://a.example/x", True, False),
        ("http://127.0.0.1:9/x", True, True),
        ("http://[::1]:9/x", True, True),
        ("http://localhost:9/x", True, True),
        ("http://127.0.0.1:9/x", False, False),
        ("http://127.0.0.1.evil.example/", True, False),
        ("file:///etc/passwd", True, False),
        ("javascript:alert(1)", True, False),
        ("https://user@a.example/", False, False),
        ("https://a.example\\@evil/", False, False),
        ("https://a.example/\n", False, False),
        (None, True, False),
    ],
)
def test_an_address_is_encrypted_or_at_this_machine(url: object, loopback: bool, safe: bool) -> None:
    if safe:
        assert address.required_safe(url, "It", loopback=loopback) == url
    else:
        with pytest.raises(LoginFailure):
            address.required_safe(url, "It", loopback=loopback)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (['Bearer error="invalid_token", scope="a b", resource_metadata="https://x/y"'],
         ("bearer", "invalid_token", ("a", "b"), "https://x/y")),
        (['Basic realm="a, Bearer scope=no", Bearer scope=one'], ("bearer", "", ("one",), "")),
        (["Negotiate", 'bearer scope="a\\"b"'], ("bearer", "", ('a"b',), "")),
        (['DPoP error="use_dpop_nonce"'], ("dpop", "use_dpop_nonce", (), "")),
        (["DPoP algs=ES256", "Bearer"], ("bearer", "", (), "")),
        (["Basic realm=x"], ("", "", (), "")),
        (['Bearer scope="unfinished'], ("bearer", "", (), "")),
        ([], ("", "", (), "")),
    ],
)  # fmt: skip
def test_a_challenge_is_read_from_any_header(values: list[str], said: tuple[object, ...]) -> None:
    found = challenge.parsed(values)
    assert (found.scheme, found.error, found.scopes, found.metadata) == said


def test_a_failures_sentence_cannot_steer_the_terminal() -> None:
    assert str(LoginFailure("said \x1b[2J\u202e")) == "said \ufffd[2J\ufffd"
