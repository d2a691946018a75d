"""tasks/result while its task is at work: waits for the end, and puts the task's questions to the client meanwhile.

Source: MCP 2025-11-25, basic/utilities/tasks ("Input Required Status"): a client that sees it waits for the result, and
that request is the way to it. Some only look (ext-tasks 0.2.2): where nobody waits, the session is the way.
"""

from __future__ import annotations

from scorpio.limits import CALL_TASK_ASK_MS
from scorpio.server.calls import RunningCall
from scorpio.server.task_methods import outcome
from scorpio.tool import InputRequired

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.server.calls import Encode
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.server.tasks import Task
    from scorpio.tool import Call


class ResultCall(RunningCall):
    """Cancelling it leaves the task alone: what it asked is withdrawn, and the next tasks/result asks again."""

    __slots__ = ("_task",)

    def __init__(self, server: Server, peer: Peer, request: Request, meta: RequestMeta, task: Task) -> None:
        super().__init__(server, peer, request, meta, task.entry, self._wait)
        self._task = task

    async def _wait(self, call: Call[object]) -> Encode:
        task, server = self._task, self._server
        task.waiting += 1
        changed = _watch(task)
        task.wake()  # who asks where nobody waits
        try:
            while True:
                changed.clear()  # before the look: a change after it sets the event again
                if task.ended:
                    return lambda: outcome(server, task)
                if task.questions and task.asker is None:
                    await _put_questions(self, task, changed, lambda: True)
                else:
                    await changed.wait()
        finally:
            task.waiting -= 1
            _unwatch(task, changed)


async def ask_where_nobody_waits(call: RunningCall, task: Task) -> None:
    """Put the task's questions to the client by its session, whenever no tasks/result has come for them. Cancelled."""
    import asyncio

    changed = _watch(task)
    try:
        while True:
            changed.clear()
            if task.waiting or not task.questions:
                await changed.wait()
                continue
            try:
                async with asyncio.timeout(CALL_TASK_ASK_MS / 1000):
                    await changed.wait()
            except TimeoutError:
                await _put_questions(call, task, changed, lambda: not task.waiting)
    finally:
        _unwatch(task, changed)


async def _put_questions(call: RunningCall, task: Task, changed: asyncio.Event, on: Callable[[], bool]) -> None:
    """Ask until all is answered, until the task does not want to know it any longer, or for as long as `on()`."""
    import asyncio

    task.asker = call
    questions = dict(task.questions)
    asking = asyncio.ensure_future(call.ask_client(InputRequired(questions)))
    try:
        while not asking.done() and task.questions and on():
            changed.clear()
            change = asyncio.ensure_future(changed.wait())
            await asyncio.wait((asking, change), return_when=asyncio.FIRST_COMPLETED)
            change.cancel()
        if asking.done():
            asking.result()  # a bug, where there is one
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        for key in questions:
            if key in call.answers or key in call.refusals:
                task.answer(key, call.answers.get(key), call.refusals.get(key), call.waited_ms.get(key))
        task.asker = None
        task.wake()


def _watch(task: Task) -> asyncio.Event:
    """An event that each change of the task sets, whoever makes it."""
    import asyncio

    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    task.watchers[changed] = lambda: loop.call_soon_threadsafe(changed.set)
    return changed


def _unwatch(task: Task, changed: asyncio.Event) -> None:
    del task.watchers[changed]
