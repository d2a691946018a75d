"""Why this agent is not in its room: one sentence each, of what a library, a server or a room said.

Nothing in it is a secret: texts of peers are quoted, configuration is not, but for addresses and names.
"""

from __future__ import annotations

import errno
import os
import re

from scorpio.tool import ToolFailure
from tools.xmpp.words import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tools.xmpp.configuration import Account


class Fault(ToolFailure):
    """The agent is not in the room. A sentence for the model and the person: what, which, what next."""

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.lasting = lasting
        """Somebody must do something about it first: trying again soon would only be rude."""


def not_connected(error: OSError, account: Account) -> Fault:
    """Of a connection that was not made, TLS included."""
    import ssl

    if isinstance(error, ssl.SSLError):
        return no_tls(error, account)
    found = re.search(r"\[Errno (\d{1,5})\]", str(error))  # of several addresses, asyncio says it in the text only
    number = error.errno or (int(found[1]) if found else None)
    if number == errno.ECONNREFUSED:
        return Fault(f"Nothing listens at {account.service}: connection refused. Is the XMPP server running?")
    said = os.strerror(number) if number is not None and number > 0 else type(error).__name__
    return Fault(f"No connection to {account.service}: {said}.")


def unknown_host(account: Account) -> Fault:
    return Fault(f"The host {account.host!r} of {account.service} is not known: it has no address. Check XMPP_SERVICE.")


def no_tls(error: BaseException, account: Account) -> Fault:
    """Of a handshake that failed; the usual one is a certificate that does not verify."""
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        return Fault(
            f"The certificate of {account.service} does not verify for {account.domain}: {error.verify_message}. "
            "It needs one that this machine trusts; XMPP_TLS_VERIFY=false accepts any, which is for tests only.",
            lasting=True,
        )
    reason = getattr(error, "reason", None) or type(error).__name__
    other = "xmpp:// (STARTTLS)" if account.direct_tls else "xmpps:// (TLS from the start)"
    return Fault(f"No TLS with {account.service}: {reason}. Does that port speak {other} instead?")


def plain_text_only(account: Account) -> Fault:
    return Fault(
        f"{account.service} offers no STARTTLS, and plain text is for loopback only: the password was not sent.",
        lasting=True,
    )


def login_refused(condition: str, account: Account) -> Fault:
    """`condition`: of SASL, RFC 6120 section 6.5."""
    if condition == "not-authorized":
        return Fault(
            f"{account.service} rejected the user name or the password of {account.username}@{account.domain}. "
            "Check XMPP_USERNAME, XMPP_DOMAIN and XMPP_PASSWORD.",
            lasting=True,
        )
    said = quoted(condition or "no reason given")
    lasting = condition != "temporary-auth-failure"
    return Fault(
        f"{account.service} refused the login of {account.username}@{account.domain}: {said}.", lasting=lasting
    )


def no_login_method(account: Account) -> Fault:
    return Fault(
        f"{account.service} offers no way to log in that this agent uses over this connection (SCRAM or PLAIN).",
        lasting=True,
    )


STREAM_ERRORS = {
    "conflict": "another connection took the place of this one",
    "host-unknown": "it does not serve this domain: check XMPP_DOMAIN",
    "host-gone": "it no longer serves this domain: check XMPP_DOMAIN",
    "see-other-host": "it sends this agent to another host, which is not followed: name that host in XMPP_SERVICE",
    "system-shutdown": "it shuts down",
    "policy-violation": "a message broke its rules",
}
"""Conditions of RFC 6120, section 4.9.3, in plain words."""


def stream_closed(condition: str, text: str, account: Account) -> Fault:
    said = STREAM_ERRORS.get(condition) or quoted(text or condition or "no reason given")
    lasting = condition in ("conflict", "host-unknown", "host-gone", "see-other-host")
    return Fault(f"{account.service} closed the connection: {said}.", lasting=lasting)


def lost(account: Account) -> Fault:
    return Fault(f"The connection to {account.service} was lost.")


def too_slow(account: Account, stage: str, seconds: float) -> Fault:
    return Fault(f"{account.service} did not answer while {stage}, for {seconds:.0f} s.")


def hostile(account: Account, what: str) -> Fault:
    return Fault(f"The connection to {account.service} was closed from here: it sent {what}.", lasting=True)


JOIN_ERRORS = {
    "registration-required": "it is for members only",
    "forbidden": "this account is banned from it",
    "not-authorized": "it has a password, and this agent has none to give",
    "item-not-found": "it does not exist, or is locked",
    "not-allowed": "this account may not create it, and it does not exist",
    "not-acceptable": "it accepts only registered nicknames",
    "service-unavailable": "it is full, or there is no such service",
    "remote-server-not-found": "its server is not known: check MUC_ROOM",
    "remote-server-timeout": "its server does not answer",
}
"""Conditions of XEP-0045, section 7.2, in plain words."""


def room_refused(condition: str, text: str, account: Account) -> Fault:
    said = JOIN_ERRORS.get(condition) or quoted(text or condition or "no reason given")
    return Fault(f"The room {account.room} did not let this agent in: {said} ({quoted(condition)}).", lasting=True)


def no_nickname(account: Account, tried: list[str]) -> Fault:
    names = ", ".join(tried)
    return Fault(f"All of these nicknames are taken in {account.room}: {names}. Set MCP_BOT_NICKNAME.", lasting=True)


def put_out(how: str, text: str, account: Account) -> Fault:
    """Of a room that ended our stay; `how` is a few words."""
    said = f": {quoted(text)}" if text else ""
    return Fault(f"This agent was {how} {account.room}{said}.", lasting=True)


def not_there(account: Account) -> Fault:
    return Fault(f"The room {account.room} no longer knows this agent: it joins again.")


SEND_ERRORS = {
    "forbidden": "this agent may listen there, but not speak",
    "not-acceptable": "this agent is not in it",
    "policy-violation": "it breaks the room's rules, such as how much may be said at once",
    "resource-constraint": "there is too much of it",
}
"""Conditions of XEP-0045, section 7.4, in plain words."""


def not_passed_on(condition: str, text: str, account: Account) -> Fault:
    said = SEND_ERRORS.get(condition) or quoted(text or condition)
    return Fault(f"{account.room} did not pass the message on: {said} ({quoted(condition)}).")


def not_shown(account: Account, seconds: float) -> Fault:
    return Fault(f"{account.room} did not show the message within {seconds:.0f} s. It may have arrived or not.")


def not_taken(account: Account) -> Fault:
    return Fault(f"{account.service} does not take what was sent to it before. Try again in a moment.")
