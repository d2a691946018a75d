"""Requests to a token end point, and what comes back. Source: OAuth 2.1, 4; RFC 7523; RFC 8693; RFC 8707; RFC 9449."""

from __future__ import annotations

import base64
import secrets
import time
from typing import Any
from urllib.parse import quote_plus

from scorpio.client.failures import LoginFailure
from scorpio.client.oauth import signing
from scorpio.client.oauth.registration import BASIC, KEY, NONE, OWN, POST, REFRESH, Credentials, Identity
from scorpio.client.oauth.web import Answer, Web

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"

ASSERTION_S = 300
"""A proof of who we are is good for that long; clocks differ by less."""

TOKEN_CHARS_MAX = 1 << 16
"""Of a token: it must fit into a header."""

Fields = list[tuple[str, str]]


class Tokens:
    """`secret`s: no `repr`, no way into a message."""

    __slots__ = ("access", "dpop_key", "expires_at", "refresh", "scopes")

    def __init__(
        self, access: str, refresh: str, expires_at: float, scopes: tuple[str, ...], dpop_key: str = ""
    ) -> None:
        self.access = access
        self.refresh = refresh
        self.expires_at = expires_at
        """Seconds of the epoch; 0: not said."""
        self.scopes = scopes
        self.dpop_key = dpop_key
        """PEM of the private key the token is bound to; "" for a bearer token."""

    def as_object(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__} | {"scopes": list(self.scopes)}


def tokens_of(value: object) -> Tokens | None:
    """As the store had them."""
    if type(value) is not dict or type(value.get("access")) is not str or not _fits_header(value["access"]):
        return None
    scopes = value.get("scopes")
    expires_at = value.get("expires_at")
    return Tokens(
        value["access"],
        str(value.get("refresh") or ""),
        float(expires_at) if isinstance(expires_at, int | float) else 0.0,
        tuple(str(each) for each in scopes) if type(scopes) is list else (),
        str(value.get("dpop_key") or ""),
    )


class TokenEndpoint:
    """One authorization server's, for one client and one resource."""

    def __init__(
        self, web: Web, url: str, issuer: str, identity: Identity, proofs: signing.Proofs | None = None
    ) -> None:
        self._web = web
        self._url = url
        self._issuer = issuer
        self._identity = identity
        self._proofs = proofs
        """Where the token is to be bound to a key."""

    async def code(self, code: str, verifier: str, redirect: str, resource: str, scopes: tuple[str, ...]) -> Tokens:
        """Raises LoginFailure, as all of these."""
        fields = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", verifier)]
        return await self._tokens([*fields, ("redirect_uri", redirect), ("resource", resource)], scopes)

    async def refreshed(self, old: Tokens, resource: str) -> Tokens:
        new = await self._tokens(
            [("grant_type", REFRESH), ("refresh_token", old.refresh), ("resource", resource)], old.scopes
        )
        new.refresh = new.refresh or old.refresh
        return new

    async def own(self, resource: str, scopes: tuple[str, ...]) -> Tokens:
        """Nobody logs in: the client itself is who may come in."""
        return await self._tokens([("grant_type", OWN), ("resource", resource), *_scope(scopes)], scopes)

    async def assertion(self, assertion: str, resource: str, scopes: tuple[str, ...]) -> Tokens:
        """For a token that somebody both sides trust has signed."""
        fields = [("grant_type", JWT_BEARER), ("assertion", assertion), ("resource", resource), *_scope(scopes)]
        return await self._tokens(fields, scopes)

    async def _tokens(self, fields: Fields, scopes: tuple[str, ...]) -> Tokens:
        answer = await self._asked(fields)
        given = answer.object()
        if not answer.good or given is None or "error" in given:
            raise LoginFailure(f"{self._issuer} gave no token{_reason(answer, given)}.")
        access, kind = given.get("access_token"), str(given.get("token_type", "")).lower()
        bound = self._proofs is not None and kind == "dpop"
        if type(access) is not str or not _fits_header(access) or not (bound or kind == "bearer"):
            raise LoginFailure(f"{self._issuer} gave a token of a kind that this client cannot use.")
        expires_in, refresh, granted = given.get("expires_in"), given.get("refresh_token"), given.get("scope")
        return Tokens(
            access,
            refresh if type(refresh) is str else "",
            time.time() + expires_in if isinstance(expires_in, int | float) else 0.0,
            tuple(granted.split()) if type(granted) is str else scopes,
            self._proofs.pem if bound and self._proofs is not None else "",
        )

    async def _asked(self, fields: Fields) -> Answer:
        fields, headers = self._with_identity(fields)
        if self._proofs is None:
            return await self._web.post_form(self._url, fields, headers)
        answer = await self._web.post_form(self._url, fields, headers | self._proofs.header("POST", self._url))
        if self._proofs.learn(self._url, answer.header("dpop-nonce")) and _error(answer.object()) == "use_dpop_nonce":
            return await self._web.post_form(self._url, fields, headers | self._proofs.header("POST", self._url))
        return answer

    def _with_identity(self, fields: Fields) -> tuple[Fields, dict[str, str]]:
        who = self._identity
        if who.method == BASIC:
            pair = f"{quote_plus(who.client_id)}:{quote_plus(who.secret)}".encode()
            return fields, {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        fields = [*fields, ("client_id", who.client_id)]
        if who.method == POST:
            return [*fields, ("client_secret", who.secret)], {}
        if who.method == KEY:
            return [*fields, ("client_assertion_type", ASSERTION_TYPE), ("client_assertion", self._proof_of_us())], {}
        assert who.method == NONE
        return fields, {}

    def _proof_of_us(self) -> str:
        now = int(time.time())
        claims = {"iss": self._identity.client_id, "sub": self._identity.client_id, "aud": self._issuer}
        times = {"iat": now, "exp": now + ASSERTION_S, "jti": secrets.token_urlsafe(16)}
        return signing.Key(self._identity.key).signed({"typ": "JWT"}, claims | times)


async def exchanged(
    web: Web, credentials: Credentials, place: str, issuer: str, resource: str, scopes: tuple[str, ...]
) -> str:
    """The identity provider's word for this user to that authorization server. Raises LoginFailure.

    Source: MCP extension enterprise-managed-authorization.
    """
    fields = [
        *(("grant_type", EXCHANGE), ("requested_token_type", ID_JAG), ("audience", issuer), ("resource", resource)),
        *(("subject_token", credentials.id_token), ("subject_token_type", ID_TOKEN)),
        *(("client_id", credentials.idp_client_id), *_scope(scopes)),
    ]
    answer = await web.post_form(place, fields, {})
    given = answer.object()
    word = (given or {}).get("access_token")
    if not answer.good or type(word) is not str or (given or {}).get("issued_token_type") != ID_JAG:
        raise LoginFailure(f"The identity provider gave no assertion{_reason(answer, given)}.")
    return word


def _scope(scopes: tuple[str, ...]) -> Fields:
    return [("scope", " ".join(scopes))] if scopes else []


def _fits_header(token: str) -> bool:
    return 0 < len(token) <= TOKEN_CHARS_MAX and all("!" <= each <= "~" for each in token)


def _error(given: dict[str, Any] | None) -> str:
    return str((given or {}).get("error", ""))


def _reason(answer: Answer, given: dict[str, Any] | None) -> str:
    """Of an answer's error members only: other members may be secrets."""
    said = [str((given or {})[name])[:300] for name in ("error", "error_description") if (given or {}).get(name)]
    return f" (HTTP status {answer.status}{', ' if said else ''}{': '.join(said)})"
