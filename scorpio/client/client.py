"""One connection: requests and their answers, the server's questions, both eras.

Does not know the transport (a `Link` does) and talks to no person (`Answers` does).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from scorpio import __version__
from scorpio.client.failures import LinkFailure, Refusal, RpcFailure
from scorpio.client.patience import patiently
from scorpio.protocol.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION
from scorpio.protocol.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION, SERVER_INFO
from scorpio.protocol.revisions import LEGACY, MODERN, NAMES_NEWEST_FIRST, REVISIONS, Revision

Message = dict[str, Any]
Progress = Callable[[Message], None]

NEWEST = {
    era: next(REVISIONS[name] for name in NAMES_NEWEST_FIRST if REVISIONS[name].era == era) for era in (MODERN, LEGACY)
}
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
ROUNDS_MAX = 32
"""Rounds of questions in one call; the official server scenarios need four."""

PAGES_MAX = 1000
"""Pages of one list; a server whose cursors go in a circle is not followed for ever."""

POLL_MS_MAX = 10_000
"""Between two looks at a task, whatever the server proposes: a person waits for it."""

DISCOVER_WAIT_S = 5.0
"""For a server of the legacy era that does not answer what it does not know; then `initialize` is tried."""


class Link(Protocol):
    """A way to a server. All of it runs on one event loop."""

    revision: Revision | None
    """Set once it is agreed on; a transport may have to say it."""

    @property
    def busy(self) -> bool:
        """See `patience`."""

    async def open(self, receive: Callable[[Any], None], lost: Callable[[str], None]) -> None:
        """`receive` gets every message, `lost` a sentence when no more will come. Raises LinkFailure."""

    async def send(self, message: Message) -> None:
        """Returns when it is sent. Raises LinkFailure."""

    async def ready(self) -> None:
        """The handshake is done; a transport may now open what belongs to no request."""

    def cancel(self, request_id: int | str) -> bool:
        """Withdraw a request; False where the transport has no way of its own, so that a notification must say it."""

    def learn(self, tools: list[Message]) -> list[Message]:
        """The tools this transport can call; it remembers what their calls need."""

    async def close(self) -> None:
        """Never raises; nothing that this link started is left when it returns."""


class Answers(Protocol):
    """Answers what a server asks its client."""

    capabilities: Message

    async def answer(self, method: str, params: Message) -> Message:
        """The result. Raises Refusal."""


class Waiting:
    """A request on its way."""

    def __init__(self, progress: Progress | None) -> None:
        self.future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self.progress = progress


class Client:
    """`connect`, then `request`; `close` at the end, whatever happened."""

    def __init__(
        self,
        link: Link,
        answers: Answers,
        *,
        revision: str = "auto",
        notified: Callable[[str, Message], None] | None = None,
        traced: Callable[[str, Any], None] | None = None,
    ) -> None:
        """`revision`: its name, or auto, modern, legacy. `traced` sees every message, ("->" or "<-", message)."""
        self.server: Message = {}
        """The result of server/discover or initialize."""
        self.revision: Revision = NEWEST[MODERN]
        self.log_level = "info"
        self._link = link
        self._answers = answers
        self._wanted = revision
        self._notified = notified or (lambda method, params: None)
        self._traced = traced or (lambda way, message: None)
        self._waiting: dict[int | str, Waiting] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._next_id = 0
        self._lost = ""
        self._listening: asyncio.Task[None] | None = None
        self._subscribed: set[str] = set()

    # -- life

    async def connect(self) -> None:
        """Agree on a revision. Raises LinkFailure, RpcFailure."""
        await self._link.open(self._receive, self._gone)
        chosen = REVISIONS.get(self._wanted)
        if self._wanted not in ("auto", "modern", "legacy") and chosen is None:
            raise LinkFailure(f"There is no protocol revision {self._wanted}. Known: {', '.join(NAMES_NEWEST_FIRST)}.")
        if self._wanted in ("auto", "modern") or (chosen is not None and chosen.era == MODERN):
            try:
                await self._discover()
            except (RpcFailure, LinkFailure, TimeoutError):
                if self._wanted != "auto" or self._lost:
                    raise
            else:
                return
        await self._initialize(chosen or NEWEST[LEGACY])

    async def _discover(self) -> None:
        self.revision = self._link.revision = NEWEST[MODERN]
        wait_s = DISCOVER_WAIT_S if self._wanted == "auto" else None
        try:
            self.server = await patiently(self.request("server/discover", {}), wait_s, self._link)
        except RpcFailure as refused:
            if refused.code != UNSUPPORTED_PROTOCOL_VERSION or self.revision.name not in _supported(refused):
                raise  # else it may speak it after all
            self.server = await patiently(self.request("server/discover", {}), wait_s, self._link)
        meta = self.server.get("_meta")
        if "serverInfo" not in self.server and type(meta) is dict and type(meta.get(SERVER_INFO)) is dict:
            self.server["serverInfo"] = meta[SERVER_INFO]
        await self._link.ready()
        self._listen()

    async def _initialize(self, revision: Revision) -> None:
        self.revision, self._link.revision = revision, None
        hello = {
            "protocolVersion": revision.name,
            "capabilities": self._answers.capabilities,
            "clientInfo": _client_info(),
        }
        self.server = await self.request("initialize", hello)
        agreed = REVISIONS.get(str(self.server.get("protocolVersion")))
        if agreed is None or agreed.era != LEGACY:
            raise LinkFailure(
                f"The server speaks protocol {self.server.get('protocolVersion')}, which this client does not."
            )
        self.revision = self._link.revision = agreed
        await self.notify("notifications/initialized", {})
        await self._link.ready()

    async def close(self) -> None:
        """Ends what is in progress and the link."""
        for task in (*self._answering, *([self._listening] if self._listening else [])):
            task.cancel()
        self._gone("The connection was closed.")
        await self._link.close()

    # -- what a caller asks

    async def request(self, method: str, params: Message, progress: Progress | None = None) -> Message:
        """The result, after every question the server asks in between. Cancelled: the server is told.

        Raises RpcFailure, LinkFailure.
        """
        sent = params
        for _ in range(ROUNDS_MAX):
            result = await self._once(method, sent, progress)
            if result.get("resultType") == "task":
                return await self._followed(result, progress)
            if result.get("resultType") != "input_required":
                return result
            sent = {**params, "inputResponses": await self._answered_all(result.get("inputRequests"))}
            if "requestState" in result:
                sent["requestState"] = result["requestState"]
        raise LinkFailure(f"The server asked {ROUNDS_MAX} times and gave no answer to {method}.")

    async def _followed(self, task: Message, progress: Progress | None) -> Message:
        """The result of a call that the server made a task of. Source: extension io.modelcontextprotocol/tasks."""
        named = {"taskId": task.get("taskId")}
        answered: set[str] = set()
        try:
            while True:
                status = task.get("status")
                if status == "completed" and type(task.get("result")) is dict:
                    return dict(task["result"])
                if status in ("failed", "cancelled", "completed"):
                    error = task.get("error")
                    error = error if type(error) is dict else {}
                    said = str(error.get("message") or task.get("statusMessage") or f"The task ended as {status}.")
                    raise RpcFailure(error.get("code", INTERNAL_ERROR), said, error.get("data"))
                asked = task.get("inputRequests")
                new = {key: each for key, each in (asked if type(asked) is dict else {}).items() if key not in answered}
                if new:
                    answers = await self._answered_all(new)
                    answered |= new.keys()
                    await self._once("tasks/update", {**named, "inputResponses": answers}, None)
                elif progress is not None and task.get("statusMessage"):
                    progress({"message": task["statusMessage"]})
                wait_ms = task.get("pollIntervalMs")
                await asyncio.sleep(min(wait_ms if isinstance(wait_ms, int | float) else 1000, POLL_MS_MAX) / 1000)
                task = await self._once("tasks/get", named, None)
        except asyncio.CancelledError:
            self._hold(asyncio.ensure_future(_quietly(self._once("tasks/cancel", named, None))))
            raise

    async def _answered_all(self, asked: Any) -> Message:
        """An answer for each question, by its key."""
        questions = asked if type(asked) is dict else {}
        return {
            key: await self._answered(str(question.get("method")), question.get("params") or {})
            for key, question in questions.items()
        }

    async def _answered(self, method: str, params: Message) -> Message:
        """One answer of a round; where the person refuses, the whole call is refused."""
        try:
            return await self._answers.answer(method, params)
        except Refusal as refusal:
            raise RpcFailure(refusal.code, str(refusal)) from None

    async def notify(self, method: str, params: Message) -> None:
        await self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def all(self, method: str, key: str) -> list[Message]:
        """Every page of a list; tools that this transport cannot call are left out."""
        found: list[Message] = []
        params: Message = {}
        for _ in range(PAGES_MAX):
            result = await self.request(method, params)
            items = result.get(key)
            found += [item for item in (items if type(items) is list else []) if type(item) is dict]
            if type(result.get("nextCursor")) is not str:
                break
            params = {"cursor": result["nextCursor"]}
        return self._link.learn(found) if method == "tools/list" else found

    async def subscribe(self, uri: str, wanted: bool = True) -> None:
        (self._subscribed.add if wanted else self._subscribed.discard)(uri)
        if self.revision.era == MODERN:
            self._listen()
        else:
            await self.request("resources/subscribe" if wanted else "resources/unsubscribe", {"uri": uri})

    async def set_log_level(self, level: str) -> None:
        self.log_level = level
        if self.revision.era == LEGACY:
            await self.request("logging/setLevel", {"level": level})

    # -- one round

    async def _once(self, method: str, params: Message, progress: Progress | None) -> Message:
        if self._lost:
            raise LinkFailure(self._lost)
        self._next_id += 1
        id_ = self._next_id
        waiting = self._waiting[id_] = Waiting(progress)
        try:
            await self._send(
                {"jsonrpc": "2.0", "id": id_, "method": method, "params": self._with_meta(params, id_, progress)}
            )
            return await waiting.future
        except asyncio.CancelledError:
            if not self._link.cancel(id_) and method != "initialize" and not self._lost:
                told = self.notify("notifications/cancelled", {"requestId": id_, "reason": "cancelled by the user"})
                self._hold(asyncio.ensure_future(_quietly(told)))
            raise
        finally:
            self._waiting.pop(id_, None)

    def _with_meta(self, params: Message, id_: int, progress: Progress | None) -> Message:
        meta = dict(params.get("_meta") or {})
        if progress is not None:
            meta["progressToken"] = id_
        if self.revision.era == MODERN:
            meta |= {
                PROTOCOL_VERSION: self.revision.name,
                CLIENT_INFO: _client_info(),
                CLIENT_CAPABILITIES: {**self._answers.capabilities, "extensions": {TASKS_EXTENSION: {}}},
                LOG_LEVEL: self.log_level,
            }
        return {**params, "_meta": meta} if meta else params

    async def _send(self, message: Message) -> None:
        self._traced("->", message)
        await self._link.send(message)

    # -- what arrives

    def _receive(self, message: Any) -> None:
        self._traced("<-", message)
        if type(message) is list:
            for each in message:
                self._receive_one(each)
        else:
            self._receive_one(message)

    def _receive_one(self, message: Any) -> None:
        if type(message) is not dict:
            return
        method, id_ = message.get("method"), message.get("id")
        params = message.get("params")
        params = params if type(params) is dict else {}
        if type(method) is not str:
            self._settle(message)
        elif id_ is None:
            self._notice(method, params)
        else:
            self._hold(asyncio.ensure_future(self._answer(id_, method, params)))

    def _settle(self, message: Message) -> None:
        waiting = self._waiting.pop(message.get("id"), None) if type(message.get("id")) in (int, str) else None  # type: ignore[arg-type]
        if waiting is None or waiting.future.done():
            return
        error = message.get("error")
        if type(error) is dict:
            said = str(error.get("message", "no reason given"))
            waiting.future.set_exception(RpcFailure(error.get("code", INTERNAL_ERROR), said, error.get("data")))
        elif type(message.get("result")) is dict:
            waiting.future.set_result(message["result"])
        else:
            waiting.future.set_exception(LinkFailure("The server's answer has neither a result nor an error."))

    def _notice(self, method: str, params: Message) -> None:
        if method == "notifications/progress":
            waiting = self._waiting.get(params.get("progressToken", ""))
            if waiting is not None and waiting.progress is not None:
                waiting.progress(params)
        self._notified(method, params)

    async def _answer(self, id_: int | str, method: str, params: Message) -> None:
        reply: Message = {"jsonrpc": "2.0", "id": id_}
        try:
            reply["result"] = {} if method == "ping" else await self._answers.answer(method, params)
        except Refusal as refusal:
            reply["error"] = {"code": refusal.code, "message": str(refusal)}
        await _quietly(self._send(reply))

    def _gone(self, reason: str) -> None:
        self._lost = self._lost or reason
        for waiting in tuple(self._waiting.values()):
            if not waiting.future.done():
                waiting.future.set_exception(LinkFailure(reason))
                waiting.future.exception()  # who is still sending fails by that, and never comes to look

    # -- modern: one stream for everything that is subscribed

    def _listen(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        self._listening = asyncio.ensure_future(self._listens())

    async def _listens(self) -> None:
        wanted: Message = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        if self._subscribed:
            wanted["resourceSubscriptions"] = sorted(self._subscribed)
        await _quietly(self._once("subscriptions/listen", {"notifications": wanted}, None))

    def _hold(self, task: asyncio.Future[None]) -> None:
        assert isinstance(task, asyncio.Task)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)


async def _quietly(work: Awaitable[Any]) -> None:
    """For what nobody waits for: a server that went away is noticed by whoever does."""
    try:
        await work
    except (LinkFailure, RpcFailure):
        pass


def _supported(refused: RpcFailure) -> list[Any]:
    """The revisions a server names when it refuses one."""
    names = refused.data.get("supported") if type(refused.data) is dict else None
    return names if type(names) is list else []


def _client_info() -> Message:
    return {"name": "scorpio", "title": "scorpio client", "version": __version__}


def unknown_method(method: str) -> Refusal:
    return Refusal(METHOD_NOT_FOUND, f"This client does not know {method}")
