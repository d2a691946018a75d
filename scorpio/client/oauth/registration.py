"""Who we are to an authorization server: known beforehand, a document at an address, or registered now.

Source: MCP basic/authorization, "Client Registration Approaches"; RFC 7591 for the last.
"""

from __future__ import annotations

from typing import Any

from scorpio.client.failures import LoginFailure
from scorpio.client.oauth.discovery import AuthorizationServer
from scorpio.client.oauth.web import Web

BASIC, POST, KEY, NONE = "client_secret_basic", "client_secret_post", "private_key_jwt", "none"
CODE, REFRESH, OWN = "authorization_code", "refresh_token", "client_credentials"
CLIENT_NAME = "scorpio client"


class Identity:
    """A client id, and how it is proved."""

    __slots__ = ("client_id", "key", "method", "of_user", "port", "secret")

    def __init__(
        self, client_id: str, method: str, secret: str = "", key: str = "", port: int = 0, *, of_user: bool = False
    ) -> None:
        self.client_id = client_id
        self.method = method
        self.secret = secret
        self.key = key
        """PEM of a private key."""
        self.port = port
        """The redirect address that was registered has this one; 0: any."""
        self.of_user = of_user

    def as_object(self) -> dict[str, Any]:
        """What the store keeps of it: no secret that the user keeps elsewhere."""
        secret = "" if self.of_user else self.secret
        return {"client_id": self.client_id, "method": self.method, "secret": secret, "port": self.port}


def identity_of(value: object) -> Identity | None:
    """As the store had it."""
    if (
        type(value) is not dict
        or type(value.get("client_id")) is not str
        or value.get("method") not in (BASIC, POST, KEY, NONE)
    ):
        return None
    port, secret = value.get("port"), value.get("secret")
    return Identity(value["client_id"], value["method"], str(secret or ""), port=port if type(port) is int else 0)


class Credentials:
    """What the user has for one authorization server. All may be empty."""

    __slots__ = (
        "assertion",
        "client_id",
        "grant",
        "id_token",
        "idp_client_id",
        "idp_token_endpoint",
        "issuer",
        "key",
        "metadata_document",
        "port",
        "scopes",
        "secret",
    )

    def __init__(
        self,
        *,
        client_id: str = "",
        secret: str = "",
        key: str = "",
        issuer: str = "",
        grant: str = "code",
        metadata_document: str = "",
        port: int = 0,
        scopes: tuple[str, ...] = (),
        assertion: str = "",
        id_token: str = "",
        idp_token_endpoint: str = "",
        idp_client_id: str = "",
    ) -> None:
        self.client_id = client_id
        self.secret = secret
        self.key = key
        """PEM of a private key, instead of a secret."""
        self.issuer = issuer
        """The authorization server they are for; "" for whichever a server names."""
        self.grant = grant
        self.metadata_document = metadata_document
        """Address of a document that describes this client: its id where a server takes such."""
        self.port = port
        self.scopes = scopes
        """Instead of those a server names."""
        self.assertion = assertion
        """A workload's token of its platform, for the grant jwt-bearer."""
        self.id_token = id_token
        """Of the enterprise's identity provider, for the grant id-jag."""
        self.idp_token_endpoint = idp_token_endpoint
        self.idp_client_id = idp_client_id

    def known_to(self, issuer: str) -> bool:
        """They are of no use elsewhere, and nobody else's business."""
        return bool(self.client_id) and self.issuer in ("", issuer)


def of_user(credentials: Credentials, server: AuthorizationServer) -> Identity | None:
    """Registered beforehand with this server, or a document it accepts as a client id."""
    if credentials.known_to(server.issuer):
        method = KEY if credentials.key else _method(server, bool(credentials.secret))
        mine = credentials
        return Identity(mine.client_id, method, mine.secret, mine.key, mine.port, of_user=True)
    if credentials.metadata_document and server.says("client_id_metadata_document_supported"):
        return Identity(credentials.metadata_document, NONE, port=credentials.port)
    return None


def of_user_again(credentials: Credentials, issuer: str, kept: Identity) -> Identity:
    """The kept one, with the key or secret that only the user has."""
    mine = credentials.known_to(issuer) and credentials.client_id == kept.client_id
    if not mine:
        return kept
    method = KEY if credentials.key else kept.method
    return Identity(kept.client_id, method, credentials.secret, credentials.key, kept.port, of_user=True)


async def register(
    web: Web, server: AuthorizationServer, redirect: str, port: int, scopes: tuple[str, ...]
) -> Identity:
    """Raises LoginFailure."""
    if not server.registration_endpoint:
        raise LoginFailure(
            f"{server.issuer} registers no clients by itself. Ask its owner for a client id and set "
            "SCORPIO_OAUTH_CLIENT_ID."
        )
    wanted: dict[str, Any] = {
        "client_name": CLIENT_NAME,
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": [CODE, REFRESH],
        "response_types": ["code"],
        "token_endpoint_auth_method": _method(server, False) if NONE in _methods(server) else _method(server, True),
    }
    if scopes:
        wanted["scope"] = " ".join(scopes)
    answer = await web.post_json(server.registration_endpoint, wanted)
    given = answer.object() if answer.good else None
    if given is None or type(given.get("client_id")) is not str or not given["client_id"]:
        raise LoginFailure(
            f"{server.issuer} did not register this client (HTTP status {answer.status}). "
            "With a client id from its owner, set SCORPIO_OAUTH_CLIENT_ID; with a token, SCORPIO_HTTP_TOKEN."
        )
    secret = given["client_secret"] if type(given.get("client_secret")) is str else ""
    method = given.get("token_endpoint_auth_method")
    if method not in (BASIC, POST, NONE) or (method != NONE and not secret):
        method = _method(server, bool(secret))
    return Identity(given["client_id"], method, secret, port=port)


def _methods(server: AuthorizationServer) -> tuple[str, ...]:
    """RFC 8414: a server that lists none takes client_secret_basic; every server takes public clients, says MCP."""
    return server.listed("token_endpoint_auth_methods_supported") or (BASIC, NONE)


def _method(server: AuthorizationServer, secret: bool) -> str:
    return next((each for each in (BASIC, POST) if secret and each in _methods(server)), NONE)
