"""A tool call that is a task, or becomes one: it answers its request with the task, and goes on.

Source: MCP 2025-11-25, basic/utilities/tasks (the client asks for a task); `io.modelcontextprotocol/tasks`, the
extension of 2026-07-28 (the server decides).
"""

from __future__ import annotations

import time

from scorpio.limits import (
    ASK_WAIT_S,
    CALL_TASK_BEGIN_MS,
    CALL_TASK_MESSAGE_CHARS_MAX,
    CALL_TASK_TOLD_EVERY_S,
    CALL_TASK_TTL_MS_DEFAULT,
    CALL_TASK_TTL_MS_MAX,
    CALL_TASK_TTL_MS_MIN,
    CALL_TASKS_MAX,
)
from scorpio.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    ProtocolError,
)
from scorpio.protocol.meta import RELATED_TASK, TASKS, has_extension
from scorpio.protocol.revisions import TASKS_CORE, TASKS_EXTENSION
from scorpio.server.calls import RunningCall
from scorpio.server.task_methods import created, missing_extension, tell
from scorpio.server.tasks import COMPLETED, FAILED
from scorpio.server.tool_methods import call_result, handled, refused
from scorpio.tool import Call, InputRequired, Unanswered
from scorpio.toolset import TASK_REQUIRED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.messages import Request
    from scorpio.protocol.meta import RequestMeta
    from scorpio.protocol.revisions import Revision
    from scorpio.server.calls import Encode
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.server.tasks import Task
    from scorpio.tool import ToolResult
    from scorpio.toolset import ToolEntry


def begun(server: Server, request: Request, meta: RequestMeta, peer: Peer, entry: ToolEntry) -> bool:
    """True when the call was begun here, as one that may be a task; False: it is a call as any other.

    Raises ProtocolError where a task is refused, or needed and not asked for.
    """
    kind = meta.revision.tasks
    asked = request.params.get("task")
    if kind == TASKS_CORE:
        if asked is None:
            if entry.task == TASK_REQUIRED:
                raise ProtocolError(METHOD_NOT_FOUND, f"{entry.name} runs as a task only: send params.task with it")
            return False
        if not entry.task:
            raise ProtocolError(METHOD_NOT_FOUND, f"{entry.name} cannot run as a task: send it without params.task")
        ttl_ms, begin_ms = _time_to_live(asked), 0
    elif kind == TASKS_EXTENSION and entry.task:
        if not has_extension(meta.client_capabilities, TASKS):
            if entry.task == TASK_REQUIRED:
                raise missing_extension()
            return False
        ttl_ms, begin_ms = CALL_TASK_TTL_MS_DEFAULT, 0 if entry.task == TASK_REQUIRED else CALL_TASK_BEGIN_MS
    else:
        return False
    arguments, faults = entry.check(request.params.get("arguments"))
    if faults and kind == TASKS_EXTENSION:
        return False
    call = TaskCall(server, request, meta, peer, entry, arguments, begin_ms, ttl_ms)
    if faults:  # a client that asked for a task is given one, however short
        call.result = refused(entry, faults)
    call.start()
    return True


def _time_to_live(asked: Any) -> int:
    """Milliseconds, of `params.task`. Raises ProtocolError."""
    ttl_ms: Any = asked.get("ttl") if type(asked) is dict else ""
    if ttl_ms is None:
        return CALL_TASK_TTL_MS_DEFAULT
    if type(ttl_ms) not in (int, float) or ttl_ms < 0:
        raise ProtocolError(INVALID_PARAMS, "task must be an object; its ttl, where there is one, milliseconds")
    return int(min(max(ttl_ms, CALL_TASK_TTL_MS_MIN), CALL_TASK_TTL_MS_MAX))


class TaskCall(RunningCall):
    """A call that answers with a task after `begin_ms`, if it has not ended before; with 0 before it begins."""

    __slots__ = ("_arguments", "_begin_ms", "_reported", "_told_s", "_tool", "_ttl_ms", "result", "task")

    def __init__(
        self,
        server: Server,
        request: Request,
        meta: RequestMeta,
        peer: Peer,
        entry: ToolEntry,
        arguments: dict[str, Any],
        begin_ms: int,
        ttl_ms: int,
    ) -> None:
        super().__init__(server, peer, request, meta, entry, self._call_tool)
        self._tool = entry
        self._arguments = arguments
        self._begin_ms = begin_ms
        self._ttl_ms = ttl_ms
        self.task: Task | None = None
        """From the moment it is one."""
        self.result: ToolResult | None = None
        self._reported = ""
        self._told_s = 0.0

    @property
    def revision(self) -> Revision:
        return self._meta.revision

    @property
    def entry(self) -> ToolEntry:
        return self._tool

    @property
    def said(self) -> str:
        """What the handler said last of what it does."""
        return (self._reported or self.activity)[-CALL_TASK_MESSAGE_CHARS_MAX:]

    # -- one of two answers

    async def _run(self) -> None:
        import asyncio

        if not self._begin_ms:
            if self._become_task():
                await super()._run()
            return
        timer = asyncio.get_running_loop().call_later(self._begin_ms / 1000, self._become_task)
        try:
            await super()._run()
        finally:
            timer.cancel()

    def _become_task(self) -> bool:
        """Answer the request with a task; False when it was cancelled, or the owner has too many."""
        import asyncio

        server, tasks = self._server, self._server.tasks
        client = self._peer.client
        task = tasks.add(client.owner, self, self._ttl_ms, lambda task: tell(server, client, task))
        if task is None:
            if not self._begin_ms:  # else it stays a call, whose answer the client gets when it is there
                said = f"{CALL_TASKS_MAX} tasks are kept for this client. Fetch their results, or cancel some."
                self._answer(self._failing(ProtocolError(INTERNAL_ERROR, said)))
            return False
        self.task = task
        if not self._answer(lambda: created(server, task)):
            self.task = None
            tasks.remove(task)
            return False
        self._peer = client  # the way back of the request ends with its answer
        task.timer = asyncio.get_running_loop().call_later(self._ttl_ms / 1000, tasks.expire, task)
        return True

    def live(self) -> bool:
        return super().live() if self.task is None else not self.task.ended

    # -- the work

    async def _call_tool(self, call: Call[Any]) -> Encode:
        if self.result is None:
            self.result = await handled(self._tool, self._arguments, call)
        return self._encoded

    def _encoded(self) -> bytes:
        result = self.result
        assert result is not None
        if self.task is not None and self.revision.tasks == TASKS_CORE:
            result.meta = {**(result.meta or {}), RELATED_TASK: {"taskId": self.task.id}}
        tell = self.task is None  # else whoever fetches the result is told
        return call_result(self._server, self._peer, self._tool, result, self.revision, tell)

    def _finish(self, encode: Encode) -> None:
        task = self.task
        if task is None:
            super()._finish(encode)
            return
        made = self._made(encode)
        if isinstance(made, ProtocolError):
            task.fail(made)
            return
        failed = self.result is not None and self.result.is_error
        status = FAILED if failed and self.revision.tasks == TASKS_CORE else COMPLETED
        task.complete(made, status, self._last_words() if failed else "")
        self._server.tasks.trim(task)

    def _last_words(self) -> str:
        blocks = self.result.content if self.result is not None else []
        said = "\n".join(block["text"] for block in blocks if type(block.get("text")) is str)
        return said[-CALL_TASK_MESSAGE_CHARS_MAX:]

    # -- what it says meanwhile

    def send_progress(self, progress: float, total: float | None, message: str | None) -> None:
        if message:
            self._reported = message
            now_s = time.monotonic()
            if self.task is not None and now_s - self._told_s >= CALL_TASK_TOLD_EVERY_S:
                self._told_s = now_s
                self.task.touch()
        super().send_progress(progress, total, message)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """With the task's name on it; not at all in the extension, whose tasks report by their status only."""
        if self.task is not None:
            if self.revision.tasks == TASKS_EXTENSION:
                return
            params = self._related(params)
        super().tell(method, params)

    def _related(self, params: dict[str, Any]) -> dict[str, Any]:
        assert self.task is not None
        return {**params, "_meta": {**params.get("_meta", {}), RELATED_TASK: {"taskId": self.task.id}}}

    # -- what it asks

    async def _ask(self, required: InputRequired) -> Encode | None:
        if self.task is None:
            return await super()._ask(required)
        import asyncio

        from scorpio.server.result_call import ask_where_nobody_waits

        task = self.task
        loop = asyncio.get_running_loop()
        answered = asyncio.Event()
        questions = required.questions
        asking = None
        if self.revision.tasks == TASKS_CORE:
            questions = {key: (method, self._related(params)) for key, (method, params) in questions.items()}
            asking = asyncio.ensure_future(ask_where_nobody_waits(self, task))
            asking.add_done_callback(lambda done: answered.set())  # it never ends but by a bug
        try:
            task.ask(questions, lambda: _wake(loop, answered))
            async with asyncio.timeout(ASK_WAIT_S):
                await answered.wait()
            if asking is not None and asking.done():
                asking.result()
        except TimeoutError:
            for key, (method, _) in tuple(task.questions.items()):
                self.refusals[key] = Unanswered(f"Nobody answered {method} within {ASK_WAIT_S:.0f} s.")
        finally:
            task.withdraw()
            if asking is not None:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
        return None


def _wake(loop: Any, event: Any) -> None:
    loop.call_soon_threadsafe(event.set)
