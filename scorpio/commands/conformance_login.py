"""Log-in in the official client suite: its authorization servers let anybody in; its data are the context."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

from scorpio.client.failures import LoginFailure
from scorpio.client.oauth.login import ASSERTION_GRANT, CODE_GRANT, ID_JAG_GRANT, OWN_GRANT, Login
from scorpio.client.oauth.registration import Credentials
from scorpio.client.oauth.web import Web

DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client id that the suite expects where documents are accepted. Source: its scenario auth/basic-cimd."""

REDIRECTS_MAX = 5


class Robot:
    """Visits a page as a browser would."""

    async def visit(self, url: str) -> None:
        web = Web()
        try:
            for _ in range(REDIRECTS_MAX):
                answer = await web.get(url, "text/html")
                if answer.status not in (301, 302, 303, 307, 308):
                    return
                url = urljoin(url, answer.header("location"))
        finally:
            web.close()
        raise LoginFailure("The log-in goes from page to page.")


def login(url: str, context: Any) -> Login:
    """What the context holds says which grant the scenario is about."""
    given = {name: value for name, value in context.items() if type(value) is str} if type(context) is dict else {}
    grant = CODE_GRANT
    if "idp_id_token" in given:
        grant = ID_JAG_GRANT
    elif "valid_jwt" in given:
        grant = ASSERTION_GRANT
    elif "private_key_pem" in given or ("client_secret" in given and "issuer" not in given):
        grant = OWN_GRANT
    credentials = Credentials(
        client_id=given.get("client_id", ""),
        secret=given.get("client_secret", ""),
        key=given.get("private_key_pem", ""),
        issuer=given.get("issuer", ""),
        grant=grant,
        metadata_document=DOCUMENT,
        assertion=given.get("valid_jwt", ""),
        id_token=given.get("idp_id_token", ""),
        idp_token_endpoint=given.get("idp_token_endpoint", ""),
        idp_client_id=given.get("idp_client_id", ""),
    )
    return Login(url, credentials=credentials, person=Robot())
