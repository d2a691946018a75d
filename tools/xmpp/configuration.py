"""Which account, which server, which room: from TIA_ENV_PATH, else `.env` in the working directory, else the settings.

A `.env` that lies in the working directory may have come with somebody's repository. It is taken as a whole or not at
all: its address never meets a password from elsewhere. The file that TIA_ENV_PATH names was chosen by the user, and
only says some things differently.
"""

from __future__ import annotations

import os
import re

from scorpio.settings import read_keys
from tools.xmpp.faults import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.settings import Settings

FILE_NAME = ".env"
KEYS = (
    *("XMPP_SERVICE", "XMPP_DOMAIN", "XMPP_USERNAME", "XMPP_PASSWORD", "XMPP_TLS_VERIFY"),
    *("MUC_ROOM", "MCP_BOT_NICKNAME"),
)
NEEDED = ("XMPP_SERVICE", "XMPP_USERNAME", "XMPP_PASSWORD", "MUC_ROOM")
NICKNAME_DEFAULT = "McpDebug"
_SERVICE = re.compile(
    r"(?P<scheme>xmpps?)://(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<host>[\w.-]+))(?::(?P<port>[0-9]{1,5}))?/?"
)
PORTS = {"xmpp": 5222, "xmpps": 5223}
"""Source: RFC 6120, section 3.2.1; for TLS from the start there is a custom only (XEP-0368 leaves it to DNS)."""


class Account:
    """All that a connection needs."""

    __slots__ = ("direct_tls", "domain", "host", "nickname", "password", "port", "room", "username", "verify")

    def __init__(self, values: dict[str, Any]) -> None:
        """Raises Fault for a value that cannot be used; never with the password, nor with an address that holds one."""
        scheme, self.host, self.port = _service(values["XMPP_SERVICE"])
        self.direct_tls = scheme == "xmpps"
        self.username, _, domain = str(values["XMPP_USERNAME"]).partition("@")
        self.domain: str = values.get("XMPP_DOMAIN") or domain or self.host
        self.password: str = values["XMPP_PASSWORD"]
        self.verify: bool = values.get("XMPP_TLS_VERIFY", True)
        self.room: str = values["MUC_ROOM"]
        self.nickname: str = values.get("MCP_BOT_NICKNAME") or NICKNAME_DEFAULT
        if not self.username or "/" in self.username or "/" in self.domain:
            raise Fault(
                "XMPP_USERNAME must be the part of the address before the @, and XMPP_DOMAIN the part after it."
            )
        local, at, service = self.room.partition("@")
        if not local or not at or not service or "/" in self.room or "@" in service:
            raise Fault(f"MUC_ROOM must be ROOM@SERVICE, such as general@conference.{self.domain}, not {self.room!r}.")

    @property
    def service(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'xmpps' if self.direct_tls else 'xmpp'}://{host}:{self.port}"


def configured(settings: Settings, directory: str) -> tuple[Account, tuple[str, ...]]:
    """The account, and warnings about the files it was read from. Raises Fault, which says what is missing where."""
    values = {name: getattr(settings, name.lower()) for name in KEYS}
    place = "the configuration"
    if settings.tia_env_path:
        path = os.path.abspath(os.path.join(directory, os.path.expanduser(settings.tia_env_path)))
        found, warnings = read_keys(path, KEYS)
        if not os.path.isfile(path):
            warnings = (f"TIA_ENV_PATH names {path}, and there is no such file. The configuration counts.",)
        values |= found
        place = f"{path} and the configuration"
    else:
        path = os.path.join(directory, FILE_NAME)
        found, warnings = read_keys(path, KEYS)
        if found.keys() - {"MCP_BOT_NICKNAME"}:
            values = {name: values[name] for name in ("MUC_ROOM", "MCP_BOT_NICKNAME")}
            place = f"{path}, which is taken as a whole"
        values |= found
    missing = [name for name in NEEDED if not values.get(name)]
    if missing:
        raise Fault(f"Not configured: {', '.join(missing)} missing in {place}.")
    return Account(values), warnings


def _service(text: str) -> tuple[str, str, int]:
    """(scheme, host, port). Raises Fault, which never shows the text: people write passwords into addresses."""
    found = _SERVICE.fullmatch(text.strip())
    port = int(found["port"] or PORTS[found["scheme"]]) if found else 0
    if not found or not 0 < port < 65536 or not _can_be_looked_up(found["host"] or ""):
        raise Fault("XMPP_SERVICE must be xmpp://HOST:PORT (STARTTLS) or xmpps://HOST:PORT (TLS from the start).")
    return found["scheme"], found["address"] or found["host"], port


def _can_be_looked_up(host: str) -> bool:
    try:
        host.encode("idna")
    except UnicodeError:  # such as a part of more than 63 characters
        return False
    return True
