"""`requestState`: what a question leaves in the client's hands, sealed so that it comes back as it went.

The client is not trusted with it: HMAC-SHA256 with a key of this installation, an expiry, and a digest of the
request it belongs to. Nothing secret is put in: it is signed, not encrypted.
Source: MCP 2026-07-28, multi round-trip requests ("Servers MUST treat requestState as untrusted").
"""

from __future__ import annotations

import os
import time

from scorpio.protocol.errors import INVALID_PARAMS, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.state.home import Home

EXPIRY_S = 600
"""Ten minutes: a person may fetch a coffee before answering, and a stolen state is soon worthless."""

KEY_BYTES = 32


class Seal:
    """Seals with the installation's key; with one of this process where the state directory cannot be written."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._key = b""

    def seal(self, answers: dict[str, Any], request_digest: str, owner: str) -> str:
        import orjson

        expires = time.time() + EXPIRY_S
        body = orjson.dumps({"answers": answers, "digest": request_digest, "owner": owner, "expires": expires})
        return self._sealed(body)

    def unseal(self, state: object, request_digest: str, owner: str) -> dict[str, Any]:
        """The answers of earlier rounds. Raises ProtocolError -32602 when it is not ours, too old or not for this.

        Its length is bounded by the frame it came in: an answer may hold an image.
        """
        import orjson

        content = _bytes(state.partition(".")[2]) if type(state) is str else b""
        if not content or type(state) is not str or not _same(state, self._sealed(content)):
            raise _refused("is not a state of this server")
        said = orjson.loads(content)
        if said["digest"] != request_digest or said["owner"] != owner:
            raise _refused("belongs to another request")
        if said["expires"] < time.time():
            raise _refused(f"is older than {EXPIRY_S} s")
        return dict(said["answers"])

    def age_ms(self, state: str) -> float:
        """Since `state`, which `unseal` accepted, was sealed; by the wall clock: any process may have done it."""
        import orjson

        expires_unix_s: float = orjson.loads(_bytes(state.partition(".")[2]))["expires"]
        return (time.time() - (expires_unix_s - EXPIRY_S)) * 1000

    def _sealed(self, content: bytes) -> str:
        """MAC and content, each in the one base64 spelling that is taken back."""
        return f"{_text(self._mac(content))}.{_text(content)}"

    def _mac(self, content: bytes) -> bytes:
        import hashlib
        import hmac

        if not self._key:
            self._key = _installation_key(self._home)
        return hmac.digest(self._key, content, hashlib.sha256)


def digest(method: str, params: dict[str, Any]) -> str:
    """Of what a request asks for, without what a retry adds (`_meta`, `inputResponses`, `requestState`)."""
    import hashlib

    import orjson

    asked = {k: v for k, v in params.items() if k not in ("_meta", "inputResponses", "requestState")}
    return hashlib.sha256(orjson.dumps([method, asked], option=orjson.OPT_SORT_KEYS)).hexdigest()


def _installation_key(home: Home) -> bytes:
    try:
        path = os.path.join(home.directory(), "key")
        fresh = os.urandom(KEY_BYTES)
        staged = f"{path}.{os.getpid()}"
        with open(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as stream:
            stream.write(fresh)
        try:
            os.link(staged, path)  # fails where another process was first: then its key counts
        except FileExistsError:
            pass
        finally:
            os.unlink(staged)
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            kept = stream.read(KEY_BYTES)
        return kept if len(kept) == KEY_BYTES else fresh
    except OSError:
        return os.urandom(KEY_BYTES)


def _refused(why: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"requestState {why}. Send the request again without it.")


def _same(one: str, other: str) -> bool:
    import hmac

    return hmac.compare_digest(one.encode(), other.encode())


def _text(content: bytes) -> str:
    import base64

    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    import base64
    import binascii

    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""
