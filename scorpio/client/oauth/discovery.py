"""Who gives tokens for a server, and how: protected resource metadata, then the authorization server's.

Source: RFC 9728, RFC 8414, OpenID Connect Discovery 1.0; the order is MCP basic/authorization's, "Server Discovery".
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from scorpio.client.failures import LoginFailure
from scorpio.client.oauth import address
from scorpio.client.oauth.web import Web

RESOURCE = "/.well-known/oauth-protected-resource"
OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"


class Resource:
    """What a server says of itself; without metadata, what the revision 2025-03-26 takes for granted."""

    __slots__ = ("dpop", "identifier", "issuers", "published", "scopes")

    def __init__(self, server_url: str, metadata: dict[str, Any] | None) -> None:
        """Raises LoginFailure where the metadata are another resource's, or name nobody who gives tokens."""
        self.published = metadata is not None
        given = metadata or {}
        self.identifier = address.canonical(server_url) if metadata is None else str(given.get("resource") or "")
        """Sent exactly as published."""
        if not address.covers(self.identifier, server_url):
            raise LoginFailure(
                f"{server_url} says that its tokens are for another resource, {self.identifier or 'an unnamed one'}; "
                "such a log-in is refused."
            )
        self.scopes = _texts(given.get("scopes_supported"))
        self.issuers = _texts(given.get("authorization_servers")) or ((bare(server_url),) if metadata is None else ())
        self.dpop = given.get("dpop_bound_access_tokens_required") is True
        if not self.issuers:
            raise LoginFailure(f"{server_url} wants a token and names nobody who gives one.")


class AuthorizationServer:
    __slots__ = ("authorization_endpoint", "issuer", "known", "metadata", "registration_endpoint", "token_endpoint")

    def __init__(self, issuer: str, metadata: dict[str, Any] | None, *, loopback: bool) -> None:
        """Without metadata the end points have the names that 2025-03-26 gives them. Raises LoginFailure."""
        self.issuer = issuer
        self.known = metadata is not None
        usual = {f"{name}_endpoint": f"{issuer}/{path}" for name, path in _USUAL.items()}
        self.metadata = usual if metadata is None else metadata
        self.authorization_endpoint = self._endpoint("authorization_endpoint", loopback)
        self.token_endpoint = self._endpoint("token_endpoint", loopback)
        self.registration_endpoint = self._endpoint("registration_endpoint", loopback)
        """Each "" where the server has none."""

    def _endpoint(self, name: str, loopback: bool) -> str:
        found = self.metadata.get(name)
        if found is None:
            return ""
        return address.required_safe(found, f"The {name.replace('_', ' ')} of {self.issuer}", loopback=loopback)

    def listed(self, name: str) -> tuple[str, ...]:
        return _texts(self.metadata.get(name))

    def says(self, name: str) -> bool:
        return self.metadata.get(name) is True


_USUAL = {"authorization": "authorize", "token": "token", "registration": "register"}


def bare(url: str) -> str:
    """Its scheme and host, as it has them."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def resource_places(server_url: str, named: str) -> tuple[str, ...]:
    """Where protected resource metadata may be, in the order to look."""
    parts = urlsplit(server_url)
    path = parts.path.rstrip("/")
    query = f"?{parts.query}" if parts.query else ""
    root = bare(server_url) + RESOURCE
    known = [f"{root}{path}{query}", root] if path or query else [root]
    return tuple(dict.fromkeys([named, *known] if named else known))


def issuer_places(issuer: str) -> tuple[str, ...]:
    """Where an authorization server's metadata may be, in the order to look."""
    root, path = bare(issuer), urlsplit(issuer).path.rstrip("/")
    if not path:
        return (root + OAUTH, root + OPENID)
    return (root + OAUTH + path, root + OPENID + path, root + path + OPENID)


async def resource(web: Web, server_url: str, named: str, *, loopback: bool) -> Resource:
    """Raises LoginFailure."""
    for place in resource_places(server_url, named):
        address.required_safe(place, f"The metadata address that {server_url} names", loopback=loopback)
        answer = await web.get(place)
        found = answer.object() if answer.good else None
        if found is not None:
            return Resource(server_url, found)
    return Resource(server_url, None)


async def authorization_server(web: Web, issuer: str, *, assumed: bool, loopback: bool) -> AuthorizationServer:
    """`assumed`: nobody named this issuer, it is the server's own address. Raises LoginFailure."""
    address.required_safe(issuer, "The authorization server", loopback=loopback)
    for place in issuer_places(issuer):
        answer = await web.get(place)
        found = answer.object() if answer.good else None
        if found is None:
            continue
        said = found.get("issuer")
        if said != issuer and not (assumed and said == f"{issuer}/"):
            raise LoginFailure(
                f"The metadata of {issuer} are those of another authorization server ({said}); the log-in is refused."
            )
        return AuthorizationServer(str(said), found, loopback=loopback)
    if assumed:
        return AuthorizationServer(issuer, None, loopback=loopback)
    raise LoginFailure(f"The authorization server {issuer} publishes no metadata; nobody can log in there.")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if type(each) is str) if type(value) is list else ()
