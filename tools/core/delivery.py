"""What a model is told while it does not ask: callbacks that fire and background tasks that end, each once.

Three ways lead there, and each takes a tiding from the queue in the database, for itself alone, just before it tells
it: the client's channel, the next tool result, and `scorpio wait`. Writes to no client but through its link.
"""

from __future__ import annotations

import _thread
import time

from scorpio.limits import END_MS_MAX
from scorpio.settings import project_of
from scorpio.state.database import StateError
from scorpio.tool import text_block
from tools.core.callback import now_s
from tools.core.callback_store import CALLBACK, TASK, CallbackStore, Tiding
from tools.core.callbacks import Callbacks
from tools.core.limits import CALLBACK_IDLE_S, CALLBACK_LOOK_S, TOLD_BUSY_S
from tools.core.output_log import duration_text
from tools.core.output_text import one_line
from tools.core.server_presence import Presence
from tools.core.told_text import late_text, line, told_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.settings import Settings
    from scorpio.state.home import Home
    from scorpio.tool import Block, StateLink
    from tools.core.background_task import Task
    from tools.core.state import CoreState

CHANNEL_METHOD = "notifications/claude/channel"
"""Params `content`, a string, and `meta`, strings by names of letters, digits and _. Nobody acknowledges it.
Source: Claude Code, channels reference ("Notification format")."""

COMMAND_CHARS_SHOWN = 200

CLAIM_AGAIN_S = END_MS_MAX / 1000 + 1
"""A client that starts its server anew may do so while the old one still ends."""


class Delivery:
    """One server's. `work` is called by the ticker's thread, all else by any."""

    def __init__(self, home: Home, settings: Settings, link: StateLink, state: CoreState) -> None:
        self._settings = settings
        self._link = link
        self._state = state
        self._opening = _thread.allocate_lock()
        self._presence = Presence(home)
        self._opened_store: CallbackStore | None = None
        self._opened_callbacks: Callbacks | None = None
        self._waiting: set[str] = set()
        """Owners for whom something may wait. Only a hint: another process may have told it."""
        self._ended: list[tuple[Task, str]] = []
        """Tasks and how they ended, not in the database yet."""
        self._shown: set[int] = set()
        """Tasks whose end an answer has shown already."""
        self._to_forget: list[int] = []
        self._claims_s: list[float] = []
        """When to look for what dead servers left, on the monotonic clock."""
        self._plan_claims()
        self._push_again_s = 0.0
        self._warned = False

    @property
    def callbacks(self) -> Callbacks:
        with self._opening:
            if self._opened_callbacks is None:
                self._opened_callbacks = Callbacks(self._store(), self._presence)
            return self._opened_callbacks

    def _store(self) -> CallbackStore:
        if self._opened_store is None:
            self._opened_store = CallbackStore(self._state.database, self._presence.name)
        return self._opened_store

    # -- the calls of this server

    def after_result(self, owner: str) -> list[Block]:
        """What goes out with a result that is about to be written; from then on nobody else tells it."""
        if owner not in self._waiting or not self._settings.piggyback:
            return []
        tidings = self._taken(owner)
        return [text_block(told_text(tidings, time.time()))] if tidings else []

    def _taken(self, owner: str) -> list[Tiding]:
        """All that waits for `owner`, now the caller's; nothing where the database is busy, and it goes on waiting."""
        self._waiting.discard(owner)  # before the look: what comes after it is noted again
        try:
            tidings = self._store().take(owner, TOLD_BUSY_S)
        except StateError:
            self._waiting.add(owner)
            return []
        return [tiding for tiding in tidings if tiding.kind == CALLBACK or tiding.subject not in self._shown]

    def claim(self, owner: str, project: str) -> None:
        """Take over what dead servers of the project left to `owner`. Blocks; raises StateError."""
        if self.callbacks.claim(owner, project):
            self._tell_soon(owner)

    def changed(self) -> None:
        """There are other callbacks than before."""
        self._wake()

    def _wake(self) -> None:
        self._state.ticker.wake()

    def claim_soon(self) -> None:
        """The project is another one."""
        self._plan_claims()
        self._wake()

    def _plan_claims(self) -> None:
        at_s = time.monotonic()
        self._claims_s += [at_s, at_s + CLAIM_AGAIN_S]

    def task_ended(self, task: Task) -> None:
        self._ended.append(
            (task, f"{task.state_text('exited with code {code}')} after {duration_text(task.runtime_s)}")
        )
        self._wake()

    def end_shown(self, task_id: int) -> None:
        """An answer shows how a task ended: nobody need be told again."""
        if task_id not in self._shown:
            self._shown.add(task_id)
            if self._waiting:
                self._to_forget.append(task_id)
                self._wake()

    def close(self) -> None:
        opened = self._opened_callbacks
        self._presence.close(leaves=bool(self._waiting) or (opened is not None and opened.next_due_s() is not None))

    # -- the ticker's thread

    def work(self) -> float | None:
        """All that is due now; seconds until there may be more."""
        try:
            self._claim()
            self._keep_ends()
            self._fire()
            self._push()
        except StateError as error:
            if not self._warned:
                self._warned = True
                self._link.warn(f"Callbacks and ends of tasks are not told for now. {error}")
            return CALLBACK_LOOK_S
        self._warned = False
        return self._next_s()

    def _next_s(self) -> float | None:
        at_s = time.monotonic()
        wanted = [claim_s - at_s for claim_s in self._claims_s]
        due_s = self._opened_callbacks.next_due_s() if self._opened_callbacks is not None else None
        if due_s is not None:
            wanted.append(min(due_s - now_s(), CALLBACK_LOOK_S))
        if any(map(self._by_channel, tuple(self._waiting))):
            wanted.append(max(self._push_again_s - at_s, CALLBACK_IDLE_S))
        return min(wanted, default=None)

    def _by_channel(self, owner: str) -> bool:
        return self._settings.callback_channel and self._link.can_notify(owner)

    def _idle(self, owner: str) -> bool:
        return self._link.idle_s(owner) >= CALLBACK_IDLE_S

    def _claim(self) -> None:
        at_s = time.monotonic()
        due = [claim_s for claim_s in self._claims_s if claim_s <= at_s]
        if due:
            self._claims_s = [claim_s for claim_s in self._claims_s if claim_s > at_s]
            for owner in self._link.owners():
                if self.callbacks.claim(owner, self._state.skills.project()):
                    self._tell_soon(owner)
            if not any(self._presence.others()):
                self._claims_s.clear()

    def _keep_ends(self) -> None:
        while self._to_forget:
            self._store().forget_task(self._to_forget[0])
            self._to_forget.pop(0)
        while self._ended:
            task, how = self._ended[0]
            if task.id not in self._shown:
                self._presence.show()
                owner, made_unix_s = task.record.owner, time.time()
                command = one_line(task.record.command, COMMAND_CHARS_SHOWN)
                tiding = Tiding(TASK, task.id, command, how=how, made_unix_s=made_unix_s)
                key = f"{task.id} {task.record.started_unix_s:.3f}"
                if self._store().end_task(owner, project_of(task.record.cwd), tiding, key):
                    self._tell_soon(owner)
            self._ended.pop(0)

    def _tell_soon(self, owner: str) -> None:
        self._waiting.add(owner)
        self._presence.stir()

    def _fire(self) -> None:
        if self._opened_callbacks is None:
            return
        callbacks, at_s = self._opened_callbacks, now_s()
        for callback in callbacks.due(at_s):
            owner = callback.owner
            if not self._idle(owner) or self._state.callbacks_held(owner):
                callbacks.put_off(callback, at_s)
                continue
            # What waits already goes first, and is bounded.
            told = self._by_channel(owner) and owner not in self._waiting
            tiding = callbacks.fire(callback, at_s, told=told)
            if tiding is not None and not (told and self._pushed(owner, [tiding])):
                self._tell_soon(owner)

    def _push(self) -> None:
        """What waits already, through the channel: ends of tasks, and what an earlier server could not tell."""
        if time.monotonic() < self._push_again_s:
            return
        for owner in tuple(self._waiting):
            if self._by_channel(owner) and self._idle(owner) and not self._pushed(owner, self._taken(owner)):
                self._push_again_s = time.monotonic() + CALLBACK_LOOK_S
                self._tell_soon(owner)

    def _pushed(self, owner: str, tidings: list[Tiding]) -> bool:
        """True when all went out; the others are given back."""
        for number, tiding in enumerate(tidings):
            if not self._link.notify(owner, CHANNEL_METHOD, _channel_params(tiding)):
                self._store().give_back([left.id for left in tidings[number:]])
                return False
        return True


def _channel_params(tiding: Tiding) -> dict[str, Any]:
    if tiding.kind != CALLBACK:
        return {"content": line(tiding, tiding.made_unix_s), "meta": {"kind": TASK, "task_id": str(tiding.subject)}}
    meta = {"kind": CALLBACK, "callback_id": str(tiding.subject)}
    if tiding.count > 1:
        meta["count"] = str(tiding.count)
    if late := late_text(tiding).strip(", "):
        meta["late"] = late.removesuffix(" late")
    return {"content": tiding.text, "meta": meta}
