"""A server's tokens: which one a request carries, and what is done when the server refuses it.

The link asks `attempt()` for every request. All requests of a link share one log-in: whoever comes while one is going
on waits for it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterable
from typing import Any

from scorpio.client.failures import LoginFailure
from scorpio.client.oauth import address, challenge, discovery, flow, grants, registration, signing
from scorpio.client.oauth.discovery import AuthorizationServer, Resource
from scorpio.client.oauth.grants import TokenEndpoint, Tokens
from scorpio.client.oauth.listener import Listener
from scorpio.client.oauth.registration import Credentials, Identity
from scorpio.client.oauth.store import Store
from scorpio.client.oauth.web import Web

EARLY_S = 30
"""A token that ends within this is refreshed before it is sent."""

REFUSALS_MAX = 2
"""Of one request, 401 each: the token that was kept, then a fresh one. A third says that tokens are not the matter."""

STEP_UPS_MAX = 2
"""Of one request, 403 each: operations may want one more permission, not a chain of them."""

ROUNDS_MAX = 8
"""Of one request, whatever the reasons."""

CODE_GRANT, OWN_GRANT, ASSERTION_GRANT, ID_JAG_GRANT = "code", "client_credentials", "jwt-bearer", "id-jag"
GRANTS = (CODE_GRANT, OWN_GRANT, ASSERTION_GRANT, ID_JAG_GRANT)


class Kept:
    """What one log-in has brought; what the store has of it."""

    __slots__ = ("identity", "issuer", "resource", "token_endpoint", "tokens")

    def __init__(self, resource: str, issuer: str, token_endpoint: str, identity: Identity, tokens: Tokens) -> None:
        self.resource = resource
        self.issuer = issuer
        self.token_endpoint = token_endpoint
        self.identity = identity
        self.tokens = tokens

    def as_object(self) -> dict[str, Any]:
        return {
            "resource": self.resource,
            "issuer": self.issuer,
            "token_endpoint": self.token_endpoint,
            "client": self.identity.as_object(),
            "tokens": self.tokens.as_object(),
        }


class Login:
    """For one server."""

    def __init__(
        self,
        server_url: str,
        *,
        credentials: Credentials | None = None,
        person: flow.Person | None = None,
        store: Store | None = None,
    ) -> None:
        """Without a `person` only what needs none: kept tokens, refreshing, grants of the client's own."""
        self._url = server_url
        self._credentials = credentials or Credentials()
        self._person = person
        self._store = store
        self._loopback = address.is_loopback(server_url)
        self._kept = self._loaded()
        self._proofs: signing.Proofs | None = None
        self._running: asyncio.Task[None] | None = None
        self._refreshing = asyncio.Lock()
        self._asked_up: set[tuple[str, ...]] = set()

    @property
    def busy(self) -> bool:
        """Somebody is logging in: nobody is to lose patience with the server."""
        return self._running is not None

    def attempt(self, *, quiet: bool = False) -> Attempt:
        return Attempt(self, quiet)

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    # -- the token that there is

    async def usable(self) -> Tokens | None:
        """The token to send; refreshed where it is about to end."""
        tokens = self._kept.tokens if self._kept is not None else None
        if tokens is not None and tokens.expires_at and tokens.expires_at - time.time() < EARLY_S:
            await self.refreshed()
        return self._kept.tokens if self._kept is not None else None

    def headers(self, tokens: Tokens | None, method: str, url: str) -> dict[str, str]:
        """None of them for another origin than the token's own."""
        if tokens is None or self._kept is None or address.origin(self._kept.resource) != address.origin(url):
            return {}
        if not tokens.dpop_key:
            return {"Authorization": f"Bearer {tokens.access}"}
        proofs = self._proofs_of(tokens.dpop_key)
        return {"Authorization": f"DPoP {tokens.access}", **proofs.header(method, url, tokens.access)}

    def learn(self, url: str, nonce: str) -> bool:
        """What the server wants to see in the next proof."""
        return self._proofs is not None and self._proofs.learn(url, nonce)

    async def refreshed(self) -> bool:
        """True where there is a new token, without anybody being asked."""
        kept = self._kept
        async with self._refreshing:
            if kept is None or not kept.tokens.refresh or self._kept is not kept:
                return self._kept is not kept  # another request was quicker
            if self._store is None:
                return await self._refresh(kept)
            async with self._store.locked(self._url):
                now = self._loaded()
                if now is not None and now.issuer == kept.issuer and now.tokens.access != kept.tokens.access:
                    self._kept = now  # another process was quicker
                    return True
                return await self._refresh(kept)

    async def _refresh(self, kept: Kept) -> bool:
        identity = registration.of_user_again(self._credentials, kept.issuer, kept.identity)
        proofs = self._proofs_of(kept.tokens.dpop_key) if kept.tokens.dpop_key else None
        web = Web()
        try:
            endpoint = TokenEndpoint(web, kept.token_endpoint, kept.issuer, identity, proofs)
            tokens = await endpoint.refreshed(kept.tokens, kept.resource)
        except LoginFailure:
            kept.tokens.refresh = ""
            return False
        finally:
            web.close()
        self._keep(Kept(kept.resource, kept.issuer, kept.token_endpoint, kept.identity, tokens))
        return True

    def _proofs_of(self, pem: str) -> signing.Proofs:
        if self._proofs is None or self._proofs.pem != pem:
            self._proofs = signing.Proofs(pem)
        return self._proofs

    # -- a new one

    def may_step_up(self, scopes: tuple[str, ...]) -> bool:
        """Once for what this server wants more: a token that has it and is refused is not made better by another."""
        granted = set(self._kept.tokens.scopes) if self._kept is not None else set()
        if not scopes or set(scopes) <= granted or scopes in self._asked_up:
            return False
        self._asked_up.add(scopes)
        return True

    async def renew(self, wish: challenge.Challenge, *, anew: bool) -> None:
        """A token that fits the challenge; `anew`: a refreshed one would not. Raises LoginFailure."""
        if self._running is None:
            self._running = asyncio.ensure_future(self._obtain(wish, anew))
            self._running.add_done_callback(self._ended)
        running = self._running
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            if running.cancelled():
                raise LoginFailure("The log-in was given up.") from None
            running.cancel()
            raise

    def _ended(self, done: asyncio.Task[None]) -> None:
        self._running = None
        if not done.cancelled():
            done.exception()  # whoever waits has it

    async def _obtain(self, wish: challenge.Challenge, anew: bool) -> None:
        web = Web()
        try:
            address.required_safe(self._url, "The server's address", loopback=self._loopback)
            resource = await discovery.resource(web, self._url, wish.metadata, loopback=self._loopback)
            issuer = self._credentials.issuer
            issuer = issuer if issuer in resource.issuers else resource.issuers[0]
            server = await discovery.authorization_server(
                web, issuer, assumed=not resource.published, loopback=self._loopback
            )
            if not server.token_endpoint:
                raise LoginFailure(f"{server.issuer} has no address to get tokens at.")
            if self._kept is not None and (self._kept.issuer, self._kept.resource) != (
                server.issuer,
                resource.identifier,
            ):
                self._kept = None  # what one server gave is never shown to another
            if not anew and await self.refreshed():
                return
            self._proofs = _proofs(wish, resource, server)
            identity, tokens = await self._granted(web, resource, server, self._scopes(wish, resource, server))
        finally:
            web.close()
        self._keep(Kept(resource.identifier, server.issuer, server.token_endpoint, identity, tokens))

    def _scopes(self, wish: challenge.Challenge, resource: Resource, server: AuthorizationServer) -> tuple[str, ...]:
        """Source: MCP basic/authorization, "Scope Selection Strategy"; what was granted before is asked for again."""
        if self._credentials.scopes:
            return self._credentials.scopes
        before = self._kept.tokens.scopes if self._kept is not None else ()
        scopes = (*before, *(wish.scopes or resource.scopes))
        if scopes and self._credentials.grant == CODE_GRANT and "offline_access" in server.listed("scopes_supported"):
            scopes = (*scopes, "offline_access")
        return tuple(dict.fromkeys(scopes))

    async def _granted(
        self, web: Web, resource: Resource, server: AuthorizationServer, scopes: tuple[str, ...]
    ) -> tuple[Identity, Tokens]:
        have = self._credentials
        if have.grant == CODE_GRANT:
            return await self._logged_in(web, resource, server, scopes)
        identity = registration.of_user(have, server)
        if identity is None:
            raise LoginFailure(f"There is no client id for {server.issuer}. Set SCORPIO_OAUTH_CLIENT_ID.")
        endpoint = TokenEndpoint(web, server.token_endpoint, server.issuer, identity, self._proofs)
        if have.grant == OWN_GRANT:
            return identity, await endpoint.own(resource.identifier, scopes)
        word = have.assertion
        if have.grant == ID_JAG_GRANT:
            place = address.required_safe(have.idp_token_endpoint, "The identity provider", loopback=self._loopback)
            word = await grants.exchanged(web, have, place, server.issuer, resource.identifier, scopes)
        return identity, await endpoint.assertion(word, resource.identifier, scopes)

    async def _logged_in(
        self, web: Web, resource: Resource, server: AuthorizationServer, scopes: tuple[str, ...]
    ) -> tuple[Identity, Tokens]:
        flow.require_pkce(server)
        if self._person is None:
            raise LoginFailure(
                f"{self._url} wants a log-in, and there is no terminal to do it at. Run `scorpio client {self._url}` "
                "in one (what it gets is kept for later), or give a token in SCORPIO_HTTP_TOKEN."
            )
        known = registration.of_user(self._credentials, server)
        if known is None and self._kept is not None:
            known = self._kept.identity
        state, pkce = secrets.token_urlsafe(32), flow.Pkce()
        async with await self._listening(known, state) as listener:
            if known is None or (known.port and known.port != listener.port):
                known = await self._registered(web, resource, server, listener, scopes)
            try:
                code = await flow.code(
                    server, known, self._person, listener,
                    state=state, pkce=pkce, resource=resource.identifier, scopes=scopes,
                )  # fmt: skip
                endpoint = TokenEndpoint(web, server.token_endpoint, server.issuer, known, self._proofs)
                tokens = await endpoint.code(code, pkce.verifier, listener.redirect, resource.identifier, scopes)
            except LoginFailure:
                self._forget()  # the server may have forgotten the client; the next log-in registers another
                raise
        return known, tokens

    async def _listening(self, identity: Identity | None, state: str) -> Listener:
        """At the port that was registered, where it is free."""
        port = identity.port if identity is not None else 0
        if port and port != self._credentials.port and not await _free(port):
            port = 0
        return Listener(port, state)

    async def _registered(
        self, web: Web, resource: Resource, server: AuthorizationServer, listener: Listener, scopes: tuple[str, ...]
    ) -> Identity:
        try:
            return await registration.register(web, server, listener.redirect, listener.port, scopes)
        except LoginFailure:
            if resource.published or server.known:
                raise
            raise LoginFailure(
                f"{self._url} wants a token and names nobody who gives one. Put yours into SCORPIO_HTTP_TOKEN."
            ) from None

    # -- between two runs

    def _loaded(self) -> Kept | None:
        entry = self._store.load(self._url) if self._store is not None else {}
        resource, issuer, endpoint = (entry.get(name) for name in ("resource", "issuer", "token_endpoint"))
        identity, tokens = registration.identity_of(entry.get("client")), grants.tokens_of(entry.get("tokens"))
        if (
            type(resource) is not str
            or type(issuer) is not str
            or type(endpoint) is not str
            or not identity
            or not tokens
        ):
            return None
        return Kept(resource, issuer, endpoint, identity, tokens) if address.covers(resource, self._url) else None

    def _keep(self, kept: Kept) -> None:
        self._kept = kept
        if self._store is not None:
            self._store.save(self._url, kept.as_object())

    def _forget(self) -> None:
        self._kept = None
        if self._store is not None:
            self._store.forget(self._url)


class Attempt:
    """One request's way: its headers, then what to do with the answer, until `again` is False."""

    def __init__(self, login: Login, quiet: bool) -> None:
        """`quiet`: nobody waits for it, so nobody is asked to log in."""
        self._login = login
        self._quiet = quiet
        self._sent: Tokens | None = None
        self._refusals = self._step_ups = self._rounds = 0

    async def headers(self, method: str, url: str) -> dict[str, str]:
        self._sent = await self._login.usable()
        return self._login.headers(self._sent, method, url)

    async def again(self, url: str, status: int, wishes: Iterable[str], nonce: str) -> bool:
        """True: send it once more. Raises LoginFailure."""
        new_nonce = self._login.learn(url, nonce)
        if status not in (401, 403):
            return False
        self._rounds += 1
        wish = challenge.parsed(wishes)
        if self._rounds > ROUNDS_MAX:
            return False
        if wish.error == "use_dpop_nonce" and new_nonce:
            return True
        if await self._login.usable() is not self._sent:
            return True  # another request has got a new one meanwhile
        if self._quiet:
            return status == 401 and await self._login.refreshed()
        if status == 401:
            self._refusals += 1
            if self._refusals > REFUSALS_MAX:
                raise LoginFailure("The server refuses the token that was just got for it.")
            await self._login.renew(wish, anew=self._refusals > 1)
            return True
        self._step_ups += 1
        if wish.error != "insufficient_scope" or self._step_ups > STEP_UPS_MAX:
            return False
        if not self._login.may_step_up(wish.scopes):
            return False
        await self._login.renew(wish, anew=True)
        return True


def _proofs(wish: challenge.Challenge, resource: Resource, server: AuthorizationServer) -> signing.Proofs | None:
    """Where the server wants tokens that are bound to a key."""
    if wish.scheme != "dpop" and not resource.dpop:
        return None
    if "ES256" not in server.listed("dpop_signing_alg_values_supported"):
        raise LoginFailure(f"The server wants a token bound to a key (DPoP, ES256), and {server.issuer} gives none.")
    return signing.Proofs()


async def _free(port: int) -> bool:
    try:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", port)
    except OSError:
        return False
    server.close()
    await server.wait_closed()
    return True
