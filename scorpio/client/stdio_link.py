"""A server that this program starts, on its stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scorpio.client.client import Message
from scorpio.client.failures import LinkFailure
from scorpio.protocol.framing import OVERSIZE, LineFramer
from scorpio.protocol.revisions import Revision

READ_BYTES = 64 * 1024
"""One read: what a pipe holds on Linux."""

END_WAIT_S = 2.0
"""For a server whose stdin was closed to end by itself; then it is told by a signal, and half a second later killed."""

KILL_WAIT_S = 0.5

FIRST_WORD_S = 60.0
"""For a server that was started to say anything: some are downloaded at their first start. Later it takes its time."""

STRAY_LINES_MAX = 1000
"""Lines in a row that are no messages; a server's greeting has some, a program that is no server has no end of them."""


class StdioLink:
    """See `client.Link`. What the server says on stderr goes to `said`, line by line."""

    busy = False

    def __init__(
        self,
        command: Sequence[str],
        said: Callable[[str], None],
        environ: Mapping[str, str] | None = None,
        first_word_s: float = FIRST_WORD_S,
    ) -> None:
        self.revision: Revision | None = None
        self._command = command
        self._said = said
        self._environ = dict(environ) if environ is not None else None
        self._process: asyncio.subprocess.Process | None = None
        self._jobs: list[asyncio.Task[None]] = []
        self._lost: Callable[[str], None] = lambda reason: None
        self._last_words: list[str] = []
        self._first_word_s = first_word_s
        self._heard = asyncio.Event()

    async def open(self, receive: Callable[[Any], None], lost: Callable[[str], None]) -> None:
        self._lost = lost
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environ,
                start_new_session=sys.platform != "win32",
            )
        except OSError as error:
            raise LinkFailure(f"{self._command[0]} cannot be started: {error.strerror or error}.") from None
        self._jobs = [asyncio.ensure_future(self._read(receive)), asyncio.ensure_future(self._read_errors()),
                      asyncio.ensure_future(self._hear())]  # fmt: skip

    async def send(self, message: Message) -> None:
        process = self._process
        if process is None or process.stdin is None:
            raise LinkFailure("The server was not started.")
        try:
            process.stdin.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            await process.stdin.drain()
        except (ConnectionError, RuntimeError):
            await asyncio.wait(self._jobs, timeout=KILL_WAIT_S)  # for its status and its last words
            raise LinkFailure(self._ending()) from None
        except UnicodeEncodeError:
            raise LinkFailure("The message holds a lone surrogate, which JSON cannot carry.") from None

    async def ready(self) -> None:
        """Nothing else to open."""

    def cancel(self, request_id: int | str) -> bool:
        return False

    def learn(self, tools: list[Message]) -> list[Message]:
        return tools

    async def close(self) -> None:
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        for number, wait_s in ((None, END_WAIT_S), (signal.SIGTERM, KILL_WAIT_S), (_KILL, KILL_WAIT_S)):
            if number is not None:
                self._signal(number)
            try:
                await asyncio.wait_for(process.wait(), wait_s)
                break
            except TimeoutError:
                continue
        self._signal(_KILL)  # what it left in its process group
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        process._transport.close()  # type: ignore[attr-defined]  # pipes that still hold something would outlive the loop

    def _signal(self, number: int) -> None:
        process = self._process
        assert process is not None
        try:
            if sys.platform == "win32":
                process.terminate()
            else:
                os.killpg(process.pid, number)
        except OSError:
            pass

    async def _hear(self) -> None:
        """A server that never says a word is not waited for without end."""
        try:
            await asyncio.wait_for(self._heard.wait(), self._first_word_s)
        except TimeoutError:
            self._lost(f"{self._command[0]} has been running for {self._first_word_s:g} s and has not answered.")

    async def _read(self, receive: Callable[[Any], None]) -> None:
        try:
            await self._read_messages(receive)
        finally:  # whatever ended it, somebody may be waiting for an answer
            self._lost(self._ending())

    async def _read_messages(self, receive: Callable[[Any], None]) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        framer = LineFramer()
        stray = 0
        while chunk := await self._process.stdout.read(READ_BYTES):
            for frame in framer.feed(chunk):
                message = _decoded(frame)
                if message is UNREADABLE:
                    self._lost(f"{self._command[0]} sent a message that is too long or nested too deeply to be read.")
                    return
                if message is not None:
                    stray = 0
                    self._heard.set()
                    receive(message)
                    continue
                stray += 1
                if stray > STRAY_LINES_MAX:
                    self._lost(f"{self._command[0]} is no MCP server: it writes lines that are no messages.")
                    return
                self._said(f"(not a message) {frame[:200].decode('utf-8', 'replace').rstrip()}")
        await self._process.wait()

    async def _read_errors(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        framer = LineFramer()
        while chunk := await self._process.stderr.read(READ_BYTES):
            for frame in framer.feed(chunk):
                line = frame.decode("utf-8", "replace").rstrip()
                self._last_words = [*self._last_words[-2:], line]
                self._said(line)

    def _ending(self) -> str:
        code = self._process.returncode if self._process is not None else None
        how = "" if code is None else f" with status {code}" if code >= 0 else f" by signal {-code}"
        words = f" Its last words: {' / '.join(self._last_words)}" if self._last_words else ""
        return f"The server has ended{how}.{words}"


_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


UNREADABLE = object()


def _decoded(frame: bytes) -> Any:
    """The JSON value; None for what is none; UNREADABLE for what may be one, and an answer somebody waits for."""
    if frame is OVERSIZE:
        return UNREADABLE
    try:
        return json.loads(frame)
    except RecursionError:
        return UNREADABLE
    except ValueError:
        return None
