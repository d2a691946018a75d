"""Who logs in to servers at an address: the user's browser, with what the environment says of them.

SCORPIO_LOGIN=off: nobody. All others are SCORPIO_OAUTH_…: CLIENT_ID, CLIENT_SECRET or CLIENT_KEY (a file), ISSUER (the
authorization server they are for), GRANT, SCOPES, PORT (of the registered redirect address), CLIENT_DOCUMENT (address
of a Client ID Metadata Document), ASSERTION_FILE, ID_TOKEN_FILE, IDP_TOKEN_ENDPOINT, IDP_CLIENT_ID.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping

from scorpio.client.oauth.login import CODE_GRANT, GRANTS, Login
from scorpio.client.oauth.registration import Credentials
from scorpio.client.oauth.store import Store
from scorpio.state.home import Home, home_path

PREFIX = "SCORPIO_OAUTH_"
DIRECTORY = "logins"
SECRETS = ("CLIENT_SECRET", "CLIENT_KEY", "ASSERTION_FILE", "ID_TOKEN_FILE")
"""What may only go to the authorization server it is for: a server could name any."""

SECRET_BYTES_MAX = 1 << 16


class Browser:
    """Of the user at this terminal. Text browsers are not started: they would take the terminal."""

    async def visit(self, url: str) -> None:
        _say(f"This server wants a log-in. Do it in a browser at this machine:\n  {url}")
        try:
            _open(url)
        except OSError:
            pass  # the address stands there
        _say("Waiting for it (Ctrl-C gives up) …")


def login_for(url: str, environ: Mapping[str, str]) -> Login | None:
    """None where nobody is to log in. Raises ValueError."""
    if environ.get("SCORPIO_LOGIN", "").lower() in ("off", "no", "false", "0"):
        return None
    store = Store(Home(home_path(dict(environ))).path(DIRECTORY), _once())
    person = Browser() if sys.stderr.isatty() else None
    return Login(url, credentials=_credentials(environ), person=person, store=store)


def _credentials(environ: Mapping[str, str]) -> Credentials:
    given = {name.removeprefix(PREFIX): value for name, value in environ.items() if name.startswith(PREFIX) and value}
    for name in SECRETS:
        if name in given and "ISSUER" not in given:
            raise ValueError(f"{PREFIX}{name} needs {PREFIX}ISSUER, the authorization server that may see it")
    grant = given.get("GRANT", CODE_GRANT)
    if grant not in GRANTS:
        raise ValueError(f"{PREFIX}GRANT must be {', '.join(GRANTS[:-1])} or {GRANTS[-1]}")
    port = given.get("PORT", "0")
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ValueError(f"{PREFIX}PORT must be a port")
    return Credentials(
        client_id=given.get("CLIENT_ID", ""),
        secret=given.get("CLIENT_SECRET", ""),
        key=_content(given, "CLIENT_KEY"),
        issuer=given.get("ISSUER", ""),
        grant=grant,
        metadata_document=given.get("CLIENT_DOCUMENT", ""),
        port=int(port),
        scopes=tuple(given.get("SCOPES", "").split()),
        assertion=_content(given, "ASSERTION_FILE"),
        id_token=_content(given, "ID_TOKEN_FILE"),
        idp_token_endpoint=given.get("IDP_TOKEN_ENDPOINT", ""),
        idp_client_id=given.get("IDP_CLIENT_ID", ""),
    )


def _content(given: Mapping[str, str], name: str) -> str:
    if name not in given:
        return ""
    try:
        with open(os.path.expanduser(given[name]), encoding="utf-8") as file:
            return file.read(SECRET_BYTES_MAX).strip()
    except (OSError, UnicodeDecodeError):
        raise ValueError(f"{PREFIX}{name}: {given[name]} cannot be read") from None


def _open(url: str) -> None:
    """Raises OSError."""
    if sys.platform == "win32":
        os.startfile(url)
        return
    graphical = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if graphical:
        program = "open" if sys.platform == "darwin" else "xdg-open"
        quiet = subprocess.DEVNULL
        subprocess.Popen([program, url], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def _once() -> Callable[[str], None]:
    said: list[str] = []

    def complain(sentence: str) -> None:
        if not said:
            _say(f"scorpio: {sentence}")
        said.append(sentence)

    return complain


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
