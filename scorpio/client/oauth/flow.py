"""A person logs in: authorization code with PKCE. Source: OAuth 2.1, 4.1; RFC 7636; RFC 8252; RFC 9207."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
from typing import Protocol
from urllib.parse import urlencode

from scorpio.client.failures import LoginFailure
from scorpio.client.oauth.discovery import AuthorizationServer
from scorpio.client.oauth.listener import Listener
from scorpio.client.oauth.registration import Identity

LOGIN_S = 300
"""For a person to log in: passwords are looked up, second factors fetched."""


class Person(Protocol):
    """Whoever logs in."""

    async def visit(self, url: str) -> None:
        """Show them this page. Raises LoginFailure where there is nobody."""


class Pkce:
    __slots__ = ("challenge", "verifier")

    def __init__(self) -> None:
        self.verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(self.verifier.encode()).digest()
        self.challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def require_pkce(server: AuthorizationServer) -> None:
    """Raises LoginFailure. A server without metadata cannot say; it gets a challenge all the same."""
    if not server.authorization_endpoint:
        raise LoginFailure(f"{server.issuer} has no page to log in at.")
    if server.known and "S256" not in server.listed("code_challenge_methods_supported"):
        raise LoginFailure(
            f"{server.issuer} does not say that it protects log-ins with PKCE (S256), so it is not used to log in."
        )


async def code(
    server: AuthorizationServer,
    identity: Identity,
    person: Person,
    listener: Listener,
    *,
    state: str,
    pkce: Pkce,
    resource: str,
    scopes: tuple[str, ...],
) -> str:
    """The authorization code that the browser brings. Raises LoginFailure."""
    fields = {
        "response_type": "code",
        "client_id": identity.client_id,
        "redirect_uri": listener.redirect,
        "state": state,
        "code_challenge": pkce.challenge,
        "code_challenge_method": "S256",
        "resource": resource,
    }
    if scopes:
        fields["scope"] = " ".join(scopes)
    if "offline_access" in scopes:
        fields["prompt"] = "consent"  # OpenID Connect Core, 11: without it a provider gives no refresh token
    page = server.authorization_endpoint
    await person.visit(f"{page}{'&' if '?' in page else '?'}{urlencode(fields)}")
    try:
        given = await asyncio.wait_for(listener.answer(), LOGIN_S)
    except TimeoutError:
        raise LoginFailure(f"Nobody logged in at {server.issuer} within {LOGIN_S // 60} minutes.") from None
    return _judged(given, server)


def _judged(given: dict[str, str], server: AuthorizationServer) -> str:
    """Who answers is judged first: an error of somebody else's is not shown either."""
    promised = server.says("authorization_response_iss_parameter_supported")
    if given.get("iss", server.issuer) != server.issuer or (promised and "iss" not in given):
        raise LoginFailure(f"The answer to the log-in does not come from {server.issuer}; it is refused.")
    if "error" in given:
        said = ": ".join(given[name][:300] for name in ("error", "error_description") if given.get(name))
        raise LoginFailure(f"{server.issuer} did not log you in ({said}).")
    if not given.get("code"):
        raise LoginFailure(f"The answer to the log-in at {server.issuer} has no code.")
    return given["code"]
