"""Signatures: who we are (RFC 7523, private_key_jwt) and that a token is ours (RFC 9449, DPoP). ES256 and RS256.

The library is imported by the first key: nearly no server asks for one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from typing import Any

from scorpio.client.failures import LoginFailure
from scorpio.client.oauth import address

COORDINATE_BYTES = 32


class Key:
    """A private key, of a PEM text."""

    def __init__(self, pem: str = "") -> None:
        """Without a text a new one. Raises LoginFailure for what is no usable key."""
        from Crypto.PublicKey import ECC

        self._key: Any = ECC.generate(curve="P-256") if not pem else _imported(pem)
        self.algorithm = "RS256" if hasattr(self._key, "n") else "ES256"

    @property
    def pem(self) -> str:
        return str(self._key.export_key(format="PEM"))

    @property
    def public(self) -> dict[str, str]:
        """As a JSON web key, of an elliptic curve."""
        point = self._key.pointQ
        x, y = (int(each).to_bytes(COORDINATE_BYTES, "big") for each in (point.x, point.y))
        return {"kty": "EC", "crv": "P-256", "x": _b64(x), "y": _b64(y)}

    def signed(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        """The JSON web token."""
        from Crypto.Hash import SHA256

        text = ".".join(_b64(json.dumps(each).encode()) for each in ({"alg": self.algorithm} | header, claims))
        digest = SHA256.new(text.encode())
        if self.algorithm == "RS256":
            from Crypto.Signature import pkcs1_15

            signature = pkcs1_15.new(self._key).sign(digest)
        else:
            from Crypto.Signature import DSS

            signature = DSS.new(self._key, "fips-186-3").sign(digest)
        return f"{text}.{_b64(signature)}"


class Proofs:
    """That a request's token is ours: a fresh one a request. Keeps what each origin wants to see in the next."""

    def __init__(self, pem: str = "") -> None:
        self._key = Key(pem)
        self.pem = pem or self._key.pem
        self._nonces: dict[str, str] = {}

    def header(self, method: str, url: str, token: str = "") -> dict[str, str]:
        claims: dict[str, Any] = {
            "jti": secrets.token_urlsafe(16),
            "htm": method,
            "htu": url.partition("#")[0].partition("?")[0],
            "iat": int(time.time()),
        }
        if token:
            claims["ath"] = _b64(hashlib.sha256(token.encode()).digest())
        nonce = self._nonces.get(address.origin(url))
        if nonce:
            claims["nonce"] = nonce
        return {"DPoP": self._key.signed({"typ": "dpop+jwt", "jwk": self._key.public}, claims)}

    def learn(self, url: str, nonce: str) -> bool:
        """True for one that is new."""
        where = address.origin(url)
        if not nonce or self._nonces.get(where) == nonce:
            return False
        self._nonces[where] = nonce
        return True


def _imported(pem: str) -> Any:
    from Crypto.PublicKey import ECC, RSA

    for library in (ECC, RSA):
        try:
            key = library.import_key(pem)
        except ValueError:
            continue
        if key.has_private() and (library is RSA or key.curve == "NIST P-256"):
            return key
    raise LoginFailure("The private key for the log-in is none of P-256 or RSA in PEM without a passphrase.")


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
