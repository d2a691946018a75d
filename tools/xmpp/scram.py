"""SCRAM as slixmpp has it, with hashing that a server cannot make endless and a nonce that nobody can guess.

slixmpp's own takes as many rounds as the server names, in Python: four thousand million would hold the slow lane for
hours. Imports slixmpp.
"""

from __future__ import annotations

import hashlib
import os

from slixmpp.util.sasl.client import SASLFailed, sasl_mech
from slixmpp.util.sasl.mechanisms import SCRAM

ROUNDS_MAX = 1_000_000
"""Servers ask for 4,096 to 600,000; a million take 0.3 s here."""

NONCE_BYTES = 16

METHODS = {f"SCRAM-SHA-{bits}{plus}" for bits in (1, 256, 512) for plus in ("", "-PLUS")} | {"PLAIN"}
"""What this agent logs in with, the best that is offered first; all others are older or somebody's own."""


class Unbelievable(Exception):
    """What a server that knows the password does not send."""


@sasl_mech(60)  # takes the place of the library's, which has the same names
class BoundedScram(SCRAM):
    def Hi(self, text: str | bytes, salt: bytes, iterations: int) -> bytes:  # noqa: N802 the library's name
        if not 0 < iterations <= ROUNDS_MAX:
            raise Unbelievable(f"a login of {iterations} rounds")
        password = text if isinstance(text, bytes) else text.encode()
        return hashlib.pbkdf2_hmac(self.hash_name.replace("-", "").lower(), password, salt, iterations)

    def process_1(self, challenge: bytes = b"") -> bytes:
        super().process_1(challenge)
        self.cnonce = os.urandom(NONCE_BYTES).hex().encode()
        name = self.client_first_message_bare.rpartition(b",r=")[0]
        self.client_first_message_bare = name + b",r=" + self.cnonce
        self.client_first_message = self.gs2_header + self.client_first_message_bare
        return self.client_first_message

    def process_3(self, challenge: bytes) -> bytes:
        try:
            return super().process_3(challenge)
        except SASLFailed:
            raise Unbelievable("no proof that it knows the password") from None
