"""The process that reads pages: started with a search, asked one page at a time, ended with it.

A page that is not read within its time, or ends the process, costs its engine the result and nobody else theirs.
"""

from __future__ import annotations

import asyncio
import json
import subprocess

from scorpio.worker_process import command, environment
from tools.core.limits import SEARCH_HITS_MAX, SEARCH_READ_MS_MAX, SEARCH_URL_CHARS_MAX
from tools.core.web_search.engine import ERROR, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from tools.core.web_search.fetching import Answer

    Process = subprocess.Popen[bytes]

WORKER = "tools.core.web_search.worker"
START_S_MAX = 5.0
"""For the process to start; it takes 0.1 s, and seconds where the machine is busy."""

_NO_PROCESS = "no process could be started to read its page"
_LINE_BYTES_MAX = SEARCH_HITS_MAX * 12 * SEARCH_URL_CHARS_MAX
"""Of one answer: a hit is two addresses and two short texts, in UTF-8."""


class Reader:
    """`async with`: at the end, however it comes, the process is gone."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._process: Process | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    async def warm(self) -> None:
        """Start the process now, while the engines are waited for."""
        async with self._turn:
            await self._started()

    async def read(self, engine: str, answer: Answer) -> dict[str, Any]:
        """What reading.read gives. Raises Refused."""
        async with self._turn:
            process = await self._started()
            try:
                async with asyncio.timeout(SEARCH_READ_MS_MAX / 1000):
                    line = await asyncio.to_thread(_asked, process, engine, answer)
            except TimeoutError:
                await self._end()
                raise Refused(ERROR, f"its page takes more than {SEARCH_READ_MS_MAX} ms to read") from None
            except OSError:  # the process died before it had taken the page
                line = b""
            if not line.endswith(b"\n"):
                await self._end()
                raise Refused(ERROR, "its page ended the process that reads it")
            verdict: dict[str, Any] = json.loads(line)
            return verdict

    async def _started(self) -> Process:
        """A process that is ready for a page. Raises Refused."""
        if self._process is None:
            try:
                self._process = _spawned()
                async with asyncio.timeout(START_S_MAX):
                    ready = await asyncio.to_thread(_line, self._process)
            except (OSError, TimeoutError) as fault:
                await self._end()
                raise Refused(ERROR, f"{_NO_PROCESS} ({fault.strerror or 'it takes too long'})") from None
            if not ready:
                await self._end()
                raise Refused(ERROR, f"{_NO_PROCESS} (it ended at once)")
        return self._process

    async def _end(self) -> None:
        """The process is gone, however often this is cancelled; a killed one takes a millisecond."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        reaping = asyncio.get_running_loop().run_in_executor(None, _reap, process)
        cancelled = False
        while not reaping.done():
            try:
                await asyncio.shield(reaping)
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            raise asyncio.CancelledError


def _spawned() -> Process:
    """In the loop's thread and in one go, so that no cancellation comes between; takes about 2 ms. Raises OSError."""
    return subprocess.Popen(
        command(WORKER),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )


# Blocking, for a thread: each ends when the process is killed.


def _asked(process: Process, engine: str, answer: Answer) -> bytes:
    """The process's answer to a page. Raises OSError."""
    assert process.stdin is not None
    head = {
        "engine": engine,
        "status": answer.status,
        "charset": answer.charset,
        "rest_s": answer.rest_s,
        "bytes": len(answer.body),
    }
    process.stdin.write(json.dumps(head).encode() + b"\n" + answer.body)
    process.stdin.flush()
    return _line(process)


def _line(process: Process) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline(_LINE_BYTES_MAX)


def _reap(process: Process) -> None:
    try:
        with process:  # waits, and closes the pipes
            pass
    except OSError:  # what was not written any more
        pass
