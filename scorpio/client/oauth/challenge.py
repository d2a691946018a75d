"""What a refusal says in WWW-Authenticate. Source: RFC 9110, 11.6.1; RFC 6750, 3; RFC 9728, 5.1; RFC 9449, 7.1."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_PART = re.compile(
    rf'[\s,]*(?:(?P<name>{_TOKEN})\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s,"]*))|(?P<scheme>{_TOKEN}))'
)


class Challenge:
    """One scheme's wishes; all empty where the server names none."""

    __slots__ = ("error", "metadata", "scheme", "scopes")

    def __init__(self, scheme: str = "", parameters: dict[str, str] | None = None) -> None:
        given = parameters or {}
        self.scheme = scheme.lower()
        self.error = given.get("error", "")
        self.scopes = tuple(given.get("scope", "").split())
        self.metadata = given.get("resource_metadata", "")
        """Address of the protected resource metadata."""


def parsed(values: Iterable[str]) -> Challenge:
    """Bearer's where it is offered, else DPoP's, else an empty one."""
    found: dict[str, dict[str, str]] = {}
    for value in values:
        parameters: dict[str, str] = {}
        at = 0
        while (part := _PART.match(value, at)) is not None:
            at = part.end()
            if part["scheme"]:
                parameters = found.setdefault(part["scheme"].lower(), {})
            else:
                text = re.sub(r"\\(.)", r"\1", part["quoted"]) if part["quoted"] is not None else part["plain"]
                parameters.setdefault(part["name"].lower(), text)
    for scheme in ("bearer", "dpop"):
        if scheme in found:
            return Challenge(scheme, found[scheme])
    return Challenge()
