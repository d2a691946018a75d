"""The agent's place in its room over the life of the server: in, out, in again; what was heard last.

`work` runs in the slow lane and owns all that changes; readers of any thread see whole values. Imports slixmpp only
where there is an account to connect with.
"""

from __future__ import annotations

import _thread
import os
import time
from collections import deque

from scorpio.tool import ToolFailure
from tools.xmpp import configuration
from tools.xmpp.faults import Fault
from tools.xmpp.messages import NAME_CHARS_MAX, Announcer, message_of
from tools.xmpp.words import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from scorpio.settings import Settings
    from scorpio.tool import StateLink
    from tools.xmpp.configuration import Account
    from tools.xmpp.messages import Message
    from tools.xmpp.occupant import Memory, Occupant
    from tools.xmpp.stream import Stream

LOGIN_S_MAX = 20.0
"""From the first packet to a login: a far server takes two seconds, a name server that fails its turn fifteen."""

RETRY_S_FIRST = 1.0
RETRY_S_MAX = 60.0
RETRY_LASTING_S = 300.0
"""After a fault that somebody must mend: wrong passwords that are sent every minute lock accounts."""

STABLE_S = 30.0
"""In the room for this long, and the next loss starts with the first delay again."""

LEAVE_S_MAX = 0.25
"""At the end, for the server to take note; the state as a whole has CLOSE_MS_MAX."""

SENT_MAX = 20
SENT_WINDOW_S = 1.0
"""Messages of this agent in that time; a server that is sent more closes the connection."""

FIRST_JOIN_S_MAX = 3.0
"""How long a message waits for the first attempt: what is sent at once after the start would never get through."""


class Room:
    """One a server process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._link: StateLink | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._settled: asyncio.Event | None = None
        """Set once the first attempt has come to anything."""
        self._occupant: Occupant | None = None
        """While in the room."""
        self._account: Account | None = None
        self._memory: Memory | None = None
        self._fault: Fault | None = None
        self._retry_at_s = 0.0
        self._out_since_s: float | None = None
        """When the last stay ended, on the monotonic clock."""
        self._entered_s = 0.0
        self._stayed_s = 0.0
        """In the room, on the newest attempt."""
        self._closing = False
        self._thread_id = 0
        self._left = _thread.allocate_lock()
        """Held while `_work` runs."""
        self._announcer: Announcer | None = None
        self._sent_s: deque[float] = deque(maxlen=SENT_MAX)
        self.last: Message | None = None
        """What somebody said last."""

    def begin(self, link: StateLink) -> None:
        self._link = link
        self._announcer = Announcer(link, self._settings.callback_channel)
        link.background(self._work)

    # -- what the tools ask, from any thread

    def status(self) -> dict[str, Any]:
        occupant, account, fault, last = self._occupant, self._account, self._fault, self.last
        said: dict[str, Any] = {
            "connected": occupant is not None,
            "room": account.room if account is not None else self._settings.muc_room,
            "nickname": shown(occupant.nickname, NAME_CHARS_MAX) if occupant is not None else self._nickname(account),
            "lastIncoming": last,
        }
        if occupant is None:
            said["error"] = self._reason(fault)
        elif occupant.notice:
            said["notice"] = occupant.notice
        return said

    def _nickname(self, account: Account | None) -> str:
        chosen = account.nickname if account is not None else self._settings.mcp_bot_nickname
        return chosen or configuration.NICKNAME_DEFAULT

    def _reason(self, fault: Fault | None) -> str:
        if fault is None:
            where = f" to {self._account.service}" if self._account is not None else ""
            return f"Not connected yet: connecting{where}."
        left_s = self._retry_at_s - time.monotonic()
        if self._account is None:
            return str(fault)
        return f"{fault} Next attempt in {left_s:.0f} s." if left_s >= 1 else f"{fault} Trying again now."

    # -- what the tools ask, in the slow lane

    async def say(self, body: str) -> str:
        """The room it was said in. Raises ToolFailure, of which Fault is one."""
        if self._occupant is None and self._fault is None:
            await self._first_attempt()
        occupant = self._occupant
        if occupant is None or self._account is None:
            raise Fault(self._reason(self._fault))
        now_s = time.monotonic()
        if len(self._sent_s) == SENT_MAX and now_s - self._sent_s[0] < SENT_WINDOW_S:
            raise ToolFailure(f"More than {SENT_MAX} messages within {SENT_WINDOW_S:.0f} s. Say it in one.")
        self._sent_s.append(now_s)
        await occupant.say(body)
        return self._account.room

    async def _first_attempt(self) -> None:
        import asyncio

        if self._settled is None:
            self._settled = asyncio.Event()
        try:
            await asyncio.wait_for(self._settled.wait(), FIRST_JOIN_S_MAX)
        except TimeoutError:
            pass

    # -- the work

    async def _work(self) -> None:
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._thread_id = _thread.get_ident()
        if self._settled is None:
            self._settled = asyncio.Event()
        self._left.acquire()
        try:
            if not self._closing:
                await self._stay_in()
        except Fault as fault:  # the configuration: nothing will change it
            self._tell(fault)
        finally:
            if self._fault is None and not self._closing:
                self._account = None
                self._fault = Fault(
                    "This agent stopped on an internal error, which the server's log shows. Restart it."
                )
            self._left.release()

    async def _stay_in(self) -> None:
        import asyncio
        import random

        assert self._link is not None
        account, warnings = configuration.configured(self._settings, _here())
        for warning in warnings:
            self._link.warn(warning)
        self._account = account
        delay_s = RETRY_S_FIRST
        while True:
            fault = await self._attempt(account)
            if self._closing:
                return
            if self._stayed_s > STABLE_S:
                delay_s = RETRY_S_FIRST
            wait_s = RETRY_LASTING_S if fault.lasting else delay_s * random.uniform(0.5, 1.0)
            self._retry_at_s = time.monotonic() + wait_s
            self._tell(fault)
            delay_s = min(delay_s * 2, RETRY_S_MAX)
            await asyncio.sleep(wait_s)

    async def _attempt(self, account: Account) -> Fault:
        """One connection, from its first packet to its end; why it ended."""
        from tools.xmpp.occupant import Memory, Occupant
        from tools.xmpp.stream import Stream

        stream: Stream | None = None
        occupant: Occupant | None = None
        try:
            stream = Stream(account, lambda stanza: occupant.take(stanza) if occupant is not None else None)
            self._memory = self._memory or Memory()
            occupant = Occupant(stream, self._memory, self._hear)
            await stream.open(LOGIN_S_MAX)
            missed_s = time.monotonic() - self._out_since_s if self._out_since_s is not None else 0.0
            await occupant.join(missed_s)
            self._entered(occupant, stream.security())
            return await occupant.stay()
        except Fault as fault:
            return fault
        except (ImportError, OSError) as fault:  # no descriptors are left, or the program's own files are gone
            return Fault(f"This agent cannot begin: {fault}.")
        finally:
            await self._end(stream)

    async def _end(self, stream: Stream | None) -> None:
        """Of one connection, whatever became of it; politely where the server goes on and this process ends."""
        import asyncio

        occupant, self._occupant = self._occupant, None
        self._stayed_s = 0.0
        if occupant is not None:
            self._out_since_s = time.monotonic()
            self._stayed_s = self._out_since_s - self._entered_s
        if stream is None:
            return
        try:
            if occupant is not None and not stream.ended.done():
                occupant.leave()
                await asyncio.wait({stream.ended}, timeout=LEAVE_S_MAX)
        finally:
            stream.fail(Fault("This agent has left."))
            await asyncio.sleep(0)  # in which the transport closes its socket: the loop may be at its end

    def _entered(self, occupant: Occupant, security: str) -> None:
        assert self._link is not None
        assert self._settled is not None
        self._entered_s = time.monotonic()
        self._occupant, self._fault = occupant, None
        self._settled.set()
        account = self._account
        assert account is not None
        how = f"through {account.service}, {security}"
        self._link.log("info", f"xmpp: in {account.room} as {occupant.nickname}, {how}")
        if occupant.notice:
            self._link.warn(f"xmpp: {occupant.notice}")

    def _tell(self, fault: Fault) -> None:
        """What changed is a line on stderr; the tenth refused connection is not."""
        assert self._link is not None
        assert self._settled is not None
        earlier, self._fault = self._fault, fault
        self._settled.set()
        if earlier is None or str(earlier) != str(fault):
            self._link.warn(f"xmpp: {fault}")

    def _hear(self, nickname: str, sender: str, body: str) -> None:
        assert self._announcer is not None
        self.last = message_of(nickname, sender, body)
        self._announcer.announce(self.last)

    # -- the end

    def close(self) -> None:
        """Leave the room. From any thread; waits for the server to know it, where it is not the lane that waits."""
        self._closing = True
        loop, task, occupant = self._loop, self._task, self._occupant
        if loop is None or task is None or loop.is_closed():
            return
        if _thread.get_ident() == self._thread_id:
            if occupant is not None:
                occupant.leave()
            task.cancel()
            return
        try:
            loop.call_soon_threadsafe(task.cancel)
        except RuntimeError:  # the loop has ended meanwhile, and `_work` with it
            return
        if self._left.acquire(timeout=LEAVE_S_MAX * 1.5):
            self._left.release()


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # the directory was removed
        return "/"
