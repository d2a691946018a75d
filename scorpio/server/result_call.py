"""tasks/result while its task is at work: waits for the end, and puts the task's questions to the client meanwhile.

Source: MCP 2025-11-25, basic/utilities/tasks ("Input Required Status"): this request is the way to the client.
"""

from __future__ import annotations

from scorpio.server.calls import RunningCall
from scorpio.server.task_methods import outcome
from scorpio.tool import InputRequired

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

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
        import asyncio

        task, server = self._task, self._server
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        task.watchers.append(wake)
        try:
            while True:
                changed.clear()  # before the look: a change after it sets the event again
                if task.ended:
                    return lambda: outcome(server, task)
                if task.questions and task.asker is None:
                    await self._put_questions(changed)
                else:
                    await changed.wait()
        finally:
            task.watchers.remove(wake)

    async def _put_questions(self, changed: asyncio.Event) -> None:
        """Ask the client what the task wants to know, until it has answered or the task does not want to know it."""
        import asyncio

        task = self._task
        task.asker = self
        questions = dict(task.questions)
        asking = asyncio.ensure_future(self._ask_client(InputRequired(questions)))
        try:
            while not asking.done() and task.questions:
                change = asyncio.ensure_future(changed.wait())
                await asyncio.wait((asking, change), return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                changed.clear()
            if asking.done():
                asking.result()
                for key in questions:
                    task.answer(key, self.answers.get(key), self.refusals.get(key), self.waited_ms.get(key))
        finally:
            task.asker = None
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            for wake in tuple(task.watchers):  # another tasks/result may go on where this one was cancelled
                wake()
