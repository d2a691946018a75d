"""Where the browser brings the answer of a log-in: one page at 127.0.0.1. Source: RFC 8252, 7.3.

Takes nothing but the answer that carries this log-in's state; others get a page that says so, and it goes on waiting.
"""

from __future__ import annotations

import asyncio
import hmac
from typing import Self
from urllib.parse import parse_qsl, urlsplit

PATH = "/callback"
HEAD_BYTES_MAX = 1 << 14
"""Of a browser's request; codes and states have some hundred bytes."""

HEAD_S = 10
"""For a request to arrive: browsers open connections ahead and say nothing on them."""

TAKEN = "<p>You may close this page and go back to the terminal.</p>"
NOT_OURS = "<p>This answer belongs to no log-in that is waiting. Nothing was done.</p>"


class Listener:
    """`async with Listener(port, state) as listener`, then `answer`."""

    def __init__(self, port: int, state: str) -> None:
        """Port 0: any that is free."""
        self._wanted = port
        self._state = state
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._talks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        """Raises OSError where the port is taken."""
        self._server = await asyncio.start_server(self._opened, "127.0.0.1", self._wanted, limit=HEAD_BYTES_MAX)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *failure: object) -> None:
        if self._server is not None:
            self._server.close()
        for talk in tuple(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    @property
    def redirect(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    async def answer(self) -> dict[str, str]:
        """The parameters of the answer, its state already checked."""
        return await asyncio.shield(self._answer)

    def _opened(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.ensure_future(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        given: dict[str, str] | None = None
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_S)
            given = self._judged(head)
            status, text = ("200 OK", TAKEN) if given is not None else ("400 Bad Request", NOT_OURS)
            writer.write(_page(status, text))
            await asyncio.wait_for(writer.drain(), HEAD_S)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()
            if given is not None and not self._answer.done():
                self._answer.set_result(given)

    def _judged(self, head: bytes) -> dict[str, str] | None:
        """The parameters; None for what is not our answer."""
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target = urlsplit(rest.rpartition(" ")[0])
        pairs = parse_qsl(target.query, keep_blank_values=True)
        given = dict(pairs)
        if method != "GET" or target.path != PATH or len(given) != len(pairs):
            return None
        ours = hmac.compare_digest(given.get("state", "").encode(), self._state.encode())
        return given if ours and not self._answer.done() else None


def _page(status: str, text: str) -> bytes:
    body = f"<!doctype html><meta charset=utf-8><title>scorpio</title>{text}".encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
