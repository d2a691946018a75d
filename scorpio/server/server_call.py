"""A handler's view of its call, as `scorpio.tool.Call` promises it. Does not run anything."""

from __future__ import annotations

import os

from scorpio.limits import ROOTS_WAIT_S
from scorpio.protocol.errors import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY, ProtocolError
from scorpio.protocol.meta import LOG_LEVELS, has_capability
from scorpio.server import questions, subscriptions
from scorpio.tool import Call, InputRequired, ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.meta import RequestMeta
    from scorpio.protocol.revisions import Revision
    from scorpio.server.calls import RunningCall
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.settings import Settings
    from scorpio.state.home import Home
    from scorpio.toolset import Entry


class ServerCall(Call["Any"]):
    """A handler's view of its call. Instant calls have no `running`: they cannot ask and report no progress."""

    def __init__(
        self,
        server: Server,
        peer: Peer,
        entry: Entry,
        meta: RequestMeta,
        running: RunningCall | None = None,
    ) -> None:
        self._server = server
        self._peer = peer
        self._entry = entry
        self._meta = meta
        self._running = running

    @property
    def name(self) -> str:  # type: ignore[override]
        return self._entry.name

    @property
    def owner(self) -> str:  # type: ignore[override]
        return self._peer.owner

    @property
    def local(self) -> bool:  # type: ignore[override]
        return self._peer.local

    @property
    def revision(self) -> Revision:  # type: ignore[override]
        return self._meta.revision

    @property
    def settings(self) -> Settings:  # type: ignore[override]
        return self._server.settings

    @property
    def home(self) -> Home:  # type: ignore[override]
        return self._server.home

    @property
    def state(self) -> Any:
        return self._server.state(self._entry.toolset)

    @property
    def activity(self) -> str:
        return self._running.activity if self._running is not None else ""

    @activity.setter
    def activity(self, text: str) -> None:
        if self._running is not None:
            self._running.activity = text

    def supports(self, capability: str) -> bool:
        revision = self._meta.revision
        known = revision.elicitation if capability == "elicitation" else True
        known = revision.elicitation_url if capability == "elicitation.url" else known
        return known and has_capability(self._meta.client_capabilities, capability)

    async def working_directory(self) -> str:
        session = self._peer.session
        if session is not None and session.roots_pending:
            await _roots_or_timeout(session)
        environ = os.environ
        roots = session.roots if session is not None else []
        for path in (environ.get("SCORPIO_CWD"), *roots[:1], environ.get("CLAUDE_PROJECT_DIR")):
            if path:
                return os.path.abspath(os.path.expanduser(path))
        try:
            here = os.getcwd()
        except OSError:  # the directory was removed
            here = "/"
        return here if here != "/" else os.path.expanduser("~")

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._running is not None:
            self._running.send_progress(progress, total, message)

    def log(self, level: str, data: object, logger: str | None = None) -> None:
        least = self._meta.log_level
        if self._running is not None and not self._running.live():
            return
        if least is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(least):
            return
        params = {"level": level, "data": data} | ({"logger": logger} if logger else {})
        self._peer.hint("notifications/message", self._server.encode(params))

    def changed_list(self, kind: str) -> None:
        subscriptions.changed_list(self._server, kind)

    def changed_resource(self, uri: str) -> None:
        subscriptions.changed_resource(self._server, uri)

    def ask_all(self, asked: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
        if self._running is None:
            raise TypeError("an instant handler cannot ask: make it `async def`")
        for method, params in asked.values():
            self._require(method, params)
        answers, refusals = self._running.answers, self._running.refusals
        missing = {}
        for key, (method, params) in asked.items():
            if key in refusals:
                raise refusals[key]
            if key in answers:
                self._check(key, method, answers[key])
            else:
                missing[key] = (method, params)
        if missing:
            raise InputRequired(missing)
        return {key: answers[key] for key in asked}

    def waited_ms(self, key: str) -> float | None:
        return self._running.waited_ms.get(key) if self._running is not None else None

    def _require(self, method: str, params: dict[str, Any]) -> None:
        name, required = questions.capability(method, params)
        if self.supports(name):
            return
        if self._meta.revision.asks_by_request:
            raise ToolFailure(f"This client cannot answer {method}: it did not declare {name}.")
        said = f"Client capability required: {name}"
        raise ProtocolError(MISSING_CLIENT_CAPABILITY, said, {"requiredCapabilities": required})

    def _check(self, key: str, method: str, answer: dict[str, Any]) -> None:
        fault = questions.fault(method, answer)
        if fault and self._meta.revision.asks_by_request:
            raise ToolFailure(f"The client's answer to {method} is none: {fault}.")
        if fault:
            raise ProtocolError(INVALID_PARAMS, f"inputResponses/{key}: {fault}")


async def _roots_or_timeout(session: Any) -> None:
    import asyncio

    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()
    session.roots_waiting.append(lambda: loop.call_soon_threadsafe(arrived.set))
    if session.roots_pending:
        try:
            await asyncio.wait_for(arrived.wait(), ROOTS_WAIT_S)
        except TimeoutError:
            session.roots_pending = False
