"""The processes that take pages apart: warm, bounded, and replaced when one has died or has worked long enough."""

from __future__ import annotations

import asyncio
import json

from scorpio.worker_process import WorkerFailure, WorkerProcess
from tools.core.limits import PAGE_ANSWER_BYTES_MAX, PAGE_WORKERS_IDLE_S, PAGE_WORKERS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODULE = "tools.core.read_docs.worker"

ANSWERS_MAX = 200
"""Then a worker is replaced: native code may lose memory, and its address space is bounded."""


class _Stale(Exception):
    """A worker that has answered before does not answer any more."""


class Workers:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(PAGE_WORKERS_MAX)
        self._idle: list[WorkerProcess] = []
        self._starting: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def warm(self) -> None:
        """Begin to start one, for a document that is being fetched."""
        if not self._idle and self._starting is None:
            self._starting = asyncio.ensure_future(self._start_ahead())

    async def _start_ahead(self) -> None:
        try:
            self._idle.append(await WorkerProcess.start(MODULE))
        except WorkerFailure:
            pass  # whoever needs it tries again, and tells
        finally:
            self._starting = None

    async def ask(self, question: dict[str, Any], body: bytes) -> tuple[dict[str, Any], str]:
        """(what it answers, text). Raises WorkerFailure; cancelled, it leaves no process."""
        whole = json.dumps(question).encode() + b"\n" + body
        async with self._slots:
            try:
                answer = await self._asked(await self._worker(), whole)
            except _Stale:  # it had died since its last answer, for reasons of its own
                answer = await self._asked(await WorkerProcess.start(MODULE), whole)
        line, _, text = answer.partition(b"\n")
        return json.loads(line), text.decode("utf-8")

    async def _asked(self, worker: WorkerProcess, question: bytes) -> bytes:
        """Raises _Stale of a worker that has answered before, WorkerFailure of a new one."""
        try:
            answer = await worker.ask(question, PAGE_ANSWER_BYTES_MAX)
        except WorkerFailure as failure:
            self._end(worker)
            raise (_Stale(str(failure)) if worker.answered else failure) from None
        except BaseException:
            self._end(worker)
            raise
        if worker.answered < ANSWERS_MAX:
            self._idle.append(worker)
        else:
            self._end(worker)
        self._end_later()
        return answer

    async def _worker(self) -> WorkerProcess:
        if self._starting is not None and not self._idle:
            await asyncio.shield(self._starting)
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
        return await WorkerProcess.start(MODULE)

    def _end_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(PAGE_WORKERS_IDLE_S, self.close)

    def close(self) -> None:
        """End those that nobody uses; the next document starts another."""
        while self._idle:
            self._end(self._idle.pop())

    def _end(self, worker: WorkerProcess) -> None:
        worker.kill()
        task = asyncio.ensure_future(worker.gone())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def gone(self) -> None:
        """Until those that were ended are no more."""
        if self._ending:
            await asyncio.wait(self._ending)
