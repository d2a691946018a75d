"""One call in the slow lane: its rounds of questions, its progress, its one answer.

The only place where a handler's exception becomes bytes. Does not choose lanes and does not know transports.
"""

from __future__ import annotations

import _thread
import time

from scorpio.limits import ASK_ROUNDS_MAX, ASK_WAIT_S, ENDING_CALLS_MAX, PROGRESS_EVERY_S, RUNNING_CALLS_MAX
from scorpio.protocol.errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError
from scorpio.protocol.messages import encode_error, encode_result
from scorpio.server.request_state import digest
from scorpio.server.server_call import ServerCall
from scorpio.tool import Call, InputRequired, ToolFailure, Unanswered

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from typing import Any

    from scorpio.protocol.messages import Request, Response
    from scorpio.protocol.meta import RequestMeta
    from scorpio.server.lanes import Handle
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.toolset import Entry

    Encode = Callable[[], bytes]
    """Makes the encoded result. Called once the right to answer is certain, so that what it delivers is delivered."""
    Work = Callable[[Call[Any]], Awaitable[Encode]]

PROGRESS_STEP = 0.001
"""What a keep-alive adds: progress must increase (MCP, basic/utilities/progress), but not overtake a handler's."""


class RunningCall:
    """A request in progress in the slow lane."""

    __slots__ = (
        "_entry",
        "_handle",
        "_last_progress",
        "_last_progress_s",
        "_last_total",
        "_meta",
        "_peer",
        "_progress_lock",
        "_request",
        "_server",
        "_started_s",
        "_work",
        "activity",
        "answers",
        "client_tasks",
        "refusals",
        "waited_ms",
    )

    def __init__(
        self,
        server: Server,
        peer: Peer,
        request: Request,
        meta: RequestMeta,
        entry: Entry,
        work: Work,
    ) -> None:
        self._server = server
        self._peer = peer
        self._request = request
        self._meta = meta
        self._entry = entry
        self._work = work
        self.answers: dict[str, dict[str, Any]] = {}
        """What the client answered in this and earlier rounds, by key."""
        self.refusals: dict[str, ToolFailure] = {}
        """Questions of the legacy era that the client answered with an error or not at all, by key."""
        self.waited_ms: dict[str, float] = {}
        """How long the answers of the newest round took, by key."""
        self.client_tasks: dict[str, list[dict[str, Any]]] = {}
        """What the client said of the tasks it made of questions, by key."""
        self.activity = ""
        self._handle: Handle | None = None
        self._started_s = time.monotonic()
        self._last_progress = -1.0
        self._last_total: float | None = None
        self._last_progress_s = self._started_s
        self._progress_lock = _thread.allocate_lock()
        """A handler's threads and the keep-alive report; nothing may follow the end of the call."""

    def start(self) -> None:
        """Begin; the answer leaves later. Raises ProtocolError when the peer has too many calls in progress.

        Registers first and submits second: the other order could lose the answer of a quick call.
        """
        most = RUNNING_CALLS_MAX + (ENDING_CALLS_MAX if self._entry.ends_others else 0)
        if self._peer.client.running_count >= most:
            raise ProtocolError(
                INTERNAL_ERROR, f"{most} calls are in progress. Send the request again when one has ended."
            )
        self._take_earlier_answers()
        self._request.frame = None  # as large as the arguments, and read by now
        self._peer.running[self._request.id] = self
        self._peer.client.count_call(1)
        try:
            self._handle = self._server.lane.submit(self._run, self._not_begun)
        except RuntimeError:  # no thread can be started
            self._peer.take(self._request.id, self)
            raise

    def _take_earlier_answers(self) -> None:
        params = self._request.params
        self.answers = earlier_answers(self._server, self._request, self._meta, self._peer)
        if self.answers and "requestState" in params:
            age_ms = self._server.seal.age_ms(params["requestState"])
            self.waited_ms = dict.fromkeys(params.get("inputResponses", {}), age_ms)

    def _not_begun(self, fault: Exception) -> None:
        self._finish(self._failing(self._server.internal_error(fault)))

    def cancel(self) -> None:
        """Stop the work. The caller has taken the call from the peer, so nothing more is sent for it."""
        self.stop()
        if self._request.answer is not None:
            self._request.answer(None)

    def stop(self) -> None:
        with self._progress_lock:  # a report that is being written gets out; none comes after
            pass
        if self._handle is not None:
            self._handle.cancel()

    def live(self) -> bool:
        return self._peer.running.get(self._request.id) is self

    def send_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """What the handler reports. From any thread."""
        if self._meta.progress_token is None:
            return
        with self._progress_lock:
            self._write_progress(progress, total, message)

    def _write_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """With the lock held: nothing that does not increase, nothing after the end."""
        if progress <= self._last_progress or not self.live():
            return
        self._last_progress, self._last_total = progress, total
        self._last_progress_s = time.monotonic()
        params: dict[str, Any] = {"progressToken": self._meta.progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message and self._meta.revision.progress_message:
            params["message"] = message
        self.tell("notifications/progress", params)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """A notification about this call."""
        self._peer.hint(method, self._server.encode(params))

    async def _run(self) -> None:
        import asyncio

        keep_alive = self._start_keep_alive() if self._meta.progress_token is not None else None
        try:
            encode = await self._rounds()
        except ProtocolError as error:
            encode = self._failing(error)
        except ToolFailure as failed:
            encode = self._failing(ProtocolError(INTERNAL_ERROR, str(failed)))
        except asyncio.CancelledError as cancelled:
            if not self.live():  # by the client, or at the end
                raise
            encode = self._failing(self._server.internal_error(cancelled))
        except BaseException as bug:  # the boundary: a handler's bug, or a panic of Rust, must not end the lane
            encode = self._failing(self._server.internal_error(bug))
        finally:
            if keep_alive is not None:
                keep_alive.cancel()
        self._finish(encode)

    def _finish(self, encode: Encode) -> None:
        self._answer(encode)

    def _answer(self, encode: Encode) -> bool:
        """Answer the request, if that right is still ours; False when it was cancelled."""
        peer = self._peer
        peer.answering += 1
        with self._progress_lock:
            ours = peer.take(self._request.id, self) is not None
        if ours:
            (self._request.answer or peer.write)(self._line(encode))
        peer.answering -= 1
        if peer.on_idle is not None and not peer.busy():
            peer.on_idle()
        return ours

    def _line(self, encode: Encode) -> bytes:
        made = self._made(encode)
        if isinstance(made, ProtocolError):
            return encode_error(self._request.id, made)
        return encode_result(self._request.id, made)

    def _made(self, encode: Encode) -> bytes | ProtocolError:
        """The encoded result, or the error in its place."""
        try:
            return encode()
        except ProtocolError as error:
            return error
        except Exception as bug:  # as in `_run`
            return self._server.internal_error(bug)

    @staticmethod
    def _failing(error: ProtocolError) -> Encode:
        def encode() -> bytes:
            raise error

        return encode

    async def _rounds(self) -> Encode:
        for _ in range(ASK_ROUNDS_MAX):
            call = ServerCall(self._server, self._peer, self._entry, self._meta, self)
            try:
                return await self._work(call)
            except InputRequired as required:
                encode = await self._ask(required)
                if encode is not None:
                    return encode
        raise ToolFailure(f"{self._entry.name} asked more than {ASK_ROUNDS_MAX} questions in a row.")

    async def _ask(self, required: InputRequired) -> Encode | None:
        """Questions of one round: asked, so that the next round finds the answers; or a result that asks them."""
        if not self._meta.revision.asks_by_request:
            return self._input_required(required)
        await self.ask_client(required)
        return None

    def _input_required(self, required: InputRequired) -> Encode:
        state = self._server.seal.seal(
            self.answers, digest(self._request.method, self._request.params), self._peer.owner
        )
        requests = {key: {"method": method, "params": p} for key, (method, p) in required.questions.items()}
        result = {"resultType": "input_required", "inputRequests": requests, "requestState": state}
        return lambda: self._server.encode_result(result, self._meta.revision)

    async def ask_client(self, required: InputRequired) -> None:
        """By requests of ours; what was answered stands in `answers` then, what was not in `refusals`."""
        import asyncio

        try:
            async with asyncio.timeout(ASK_WAIT_S), asyncio.TaskGroup() as group:
                for key, (method, params) in required.questions.items():
                    group.create_task(self._ask_one(key, method, params))
        except TimeoutError:
            for key in required.questions.keys() - self.answers.keys() - self.refusals.keys():
                said = f"Nobody answered {required.questions[key][0]} within {ASK_WAIT_S:.0f} s."
                self.refusals[key] = Unanswered(said)

    async def _ask_one(self, key: str, method: str, params: dict[str, Any]) -> None:
        sent_s = time.monotonic()
        response, arrived_s = await self.exchange(method, params)
        if "task" in params and response is not None:
            from scorpio.server.client_task import followed

            response = await followed(self, key, response)
            arrived_s = time.monotonic()
        self.waited_ms[key] = (arrived_s - sent_s) * 1000
        self._take_answer(key, method, response)

    async def exchange(self, method: str, params: dict[str, Any]) -> tuple[Response | None, float]:
        """A request of ours, withdrawn when nobody waits for it any longer: (its answer, when it came).

        The answer is None when the client is gone.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        answered: asyncio.Future[tuple[Response | None, float]] = loop.create_future()
        id_ = self._peer.request(method, self._server.encode(params), _resolver(loop, answered))
        try:
            return await answered
        finally:
            if self._peer.asked.pop(id_, None) is not None:
                withdrawn = self._server.encode({"requestId": id_, "reason": "The call that asked has ended"})
                self._peer.notify("notifications/cancelled", withdrawn)

    def _take_answer(self, key: str, method: str, response: Response | None) -> None:
        if response is None:
            self.refusals[key] = Unanswered(f"The client went away before it answered {method}.")
        elif response.error is not None or type(response.result) is not dict:
            said = response.error.get("message") if type(response.error) is dict else "an answer that is not an object"
            self.refusals[key] = ToolFailure(f"The client answered {method} with an error: {said}")
        else:
            self.answers[key] = response.result

    def _start_keep_alive(self) -> asyncio.Task[None]:
        import asyncio

        return asyncio.create_task(self._keep_alive())

    async def _keep_alive(self) -> None:
        import asyncio

        while True:
            quiet_s = time.monotonic() - self._last_progress_s
            if quiet_s < PROGRESS_EVERY_S:
                await asyncio.sleep(PROGRESS_EVERY_S - quiet_s)
                continue
            elapsed_s = time.monotonic() - self._started_s
            with self._progress_lock:
                progress = max(self._last_progress, 0.0) + PROGRESS_STEP
                said = self.activity or f"running for {elapsed_s:.0f} s"
                self._write_progress(progress, self._last_total, said)
            self._last_progress_s = time.monotonic()


def _resolver(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[tuple[Response | None, float]]
) -> Callable[[Response | None], None]:
    def resolve(response: Response | None, arrived_s: float) -> None:
        if not future.done():
            future.set_result((response, arrived_s))

    def answered(response: Response | None) -> None:
        loop.call_soon_threadsafe(resolve, response, time.monotonic())

    return answered


def start(server: Server, request: Request, meta: RequestMeta, peer: Peer, entry: Entry, work: Work) -> None:
    """Begin a slow call. Raises ProtocolError when the peer has too many in progress."""
    RunningCall(server, peer, request, meta, entry, work).start()


def earlier_answers(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> dict[str, dict[str, Any]]:
    """Modern era: what earlier rounds and this retry answered, by key. Raises ProtocolError for a forged state."""
    params = request.params
    if meta.revision.asks_by_request or ("requestState" not in params and "inputResponses" not in params):
        return {}
    answers: dict[str, dict[str, Any]] = {}
    if "requestState" in params:
        answers = server.seal.unseal(params["requestState"], digest(request.method, params), peer.owner)
    responses = params.get("inputResponses", {})
    if type(responses) is not dict:
        raise ProtocolError(INVALID_PARAMS, "inputResponses must be an object of key to response")
    answers.update({key: value for key, value in responses.items() if type(value) is dict})
    return answers
