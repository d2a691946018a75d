"""The Chrome DevTools Protocol over two pipes: JSON messages, each ended by NUL.

Source: Chromium's `--remote-debugging-pipe`. Knows no domain of the protocol. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import fcntl
import os

import orjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Listener = Callable[[str, dict[str, Any]], None]

READ_BYTES = 256 * 1024
PIPE_BYTES = 1024 * 1024
"""What Linux gives a pipe without privileges: a page of 1 MB passes without waiting."""

MESSAGE_BYTES_MAX = 128 * 1024 * 1024
"""A page of 10 million characters, escaped as JSON, takes 60 MB at the worst; more is a browser gone wrong."""

F_SETPIPE_SZ = 1031


class CdpFailure(Exception):
    """The browser refused a command, or does not answer any more. A predicate of the browser."""


class BrowserGone(CdpFailure):
    """It will never answer again."""


class Cdp:
    """One browser's pipes. Owns both descriptors."""

    __slots__ = (
        "_held",
        "_held_bytes",
        "_last_id",
        "_loop",
        "_read_fd",
        "_unsent",
        "_waiting",
        "_write_fd",
        "closed",
        "listeners",
    )

    def __init__(self, write_fd: int, read_fd: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._write_fd = write_fd
        self._read_fd = read_fd
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._unsent = bytearray()
        self.listeners: dict[str, Listener] = {}
        """By session; "" hears what belongs to none."""
        self.closed = self._loop.create_future()
        """Done when the browser has closed its end."""
        for pipe in (write_fd, read_fd):
            try:
                fcntl.fcntl(pipe, F_SETPIPE_SZ, PIPE_BYTES)
            except OSError:
                pass  # no Linux, or the user's pipes are full: it works with less
        self._loop.add_reader(read_fd, self._readable)

    def send(self, method: str, session: str = "", **params: Any) -> asyncio.Future[dict[str, Any]]:
        """The result, as a future that raises CdpFailure."""
        answer: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        if self.closed.done():
            answer.set_exception(BrowserGone("has ended"))
            answer.exception()  # nobody has to wait for it
            return answer
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._waiting[self._last_id] = answer
        self._unsent += orjson.dumps(message) + b"\0"
        self._write()
        return answer

    def _write(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self._write_fd, self._unsent)]
            self._loop.remove_writer(self._write_fd)
        except BlockingIOError:
            self._loop.add_writer(self._write_fd, self._write)
        except OSError:
            self.close("has ended")

    def _readable(self) -> None:
        try:
            data = os.read(self._read_fd, READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close("has ended")
            return
        *complete, rest = data.split(b"\0")
        for part in complete:
            self._held.append(part)
            message = b"".join(self._held)
            self._held.clear()
            self._held_bytes = 0
            self._received(message)
        if rest:
            self._held.append(rest)
            self._held_bytes += len(rest)
            if self._held_bytes > MESSAGE_BYTES_MAX:
                self.close("sent more than is taken")

    def _received(self, message: bytes) -> None:
        try:
            received = orjson.loads(message)
        except orjson.JSONDecodeError:  # a lone surrogate in a page's text, which orjson refuses
            import json

            received = json.loads(message)
        if "id" in received:
            answer = self._waiting.pop(received["id"], None)
            if answer is None or answer.done():
                return
            if "error" in received:
                answer.set_exception(CdpFailure(f"refused: {received['error'].get('message', '')}"))
                answer.exception()
            else:
                answer.set_result(received["result"])
        else:
            listener = self.listeners.get(received.get("sessionId", ""))
            if listener is not None:
                listener(received["method"], received.get("params", {}))

    def close(self, reason: str) -> None:
        """Everything that waits fails with `reason`, a predicate. Idempotent."""
        if self.closed.done():
            return
        self.closed.set_result(reason)
        self._loop.remove_reader(self._read_fd)
        self._loop.remove_writer(self._write_fd)
        os.close(self._read_fd)
        os.close(self._write_fd)
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(BrowserGone(reason))
                answer.exception()
        for listener in list(self.listeners.values()):
            listener("closed", {"reason": reason})
        self.listeners.clear()
