"""This agent in the room, over one stream: joins, hears, speaks, notices when it is out, leaves.

Source: XEP-0045 (rooms), XEP-0410 (asking the room whether one is still in it). Imports slixmpp, as `stream` does.
"""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from collections import deque
from collections.abc import Callable
from typing import Any

from slixmpp import JID

from tools.xmpp import faults
from tools.xmpp.faults import Fault
from tools.xmpp.stream import MESSAGE, NAMESPACE, PING, Stream, condition_of
from tools.xmpp.words import quoted

JOIN_S_MAX = 15.0
"""For the room to answer, a federated one included."""

NICKNAMES_TRIED_MAX = 9
"""NICK, NICK-2 … NICK-9: more agents of one configuration in one room are a mistake."""

ECHO_S_MAX = 10.0
"""For the room to show what was said to everybody, this agent included."""

PING_EVERY_S = 60.0
"""How soon a connection that died silently, or a room that forgot this agent, is noticed."""

PING_S_MAX = 20.0

KEPT_IN_MIND = 64
"""Messages said, and messages heard, that are known again: a room shows its last 20 or so to who comes back."""

MUC = "{http://jabber.org/protocol/muc}"
USER = "{http://jabber.org/protocol/muc#user}"
OWNER = "{http://jabber.org/protocol/muc#owner}"
FORM = "{jabber:x:data}"
DELAY = "{urn:xmpp:delay}delay"
STANZA_CONDITIONS = "{urn:ietf:params:xml:ns:xmpp-stanzas}"

SELF, CREATED, NICK_CHANGED = "110", "201", "303"
PUT_OUT = {
    "301": "banned from",
    "307": "kicked out of",
    "321": "put out of",
    "322": "put out of",
    "332": "put out by the shutdown of",
    "333": "put out, for an error, of",
}
"""Status codes of XEP-0045, section 15.6.2, in plain words."""

Heard = Callable[[str, str, str], None]
"""Called with the nickname, the whole address and the body of what somebody said."""


class Memory:
    """What an agent knows again on its next stay."""

    def __init__(self) -> None:
        self.own_ids: deque[str] = deque(maxlen=KEPT_IN_MIND)
        self.heard: deque[tuple[str, str]] = deque(maxlen=KEPT_IN_MIND)
        """Id and body."""


class Occupant:
    """One stay in the room. All in the slow lane."""

    def __init__(self, stream: Stream, memory: Memory, heard: Heard) -> None:
        self._stream = stream
        self._account = stream.account
        self._memory = memory
        self._heard = heard
        try:
            self._room = JID(self._account.room).bare
            self._wanted = JID(f"{self._room}/{self._account.nickname}").resource
        except ValueError:  # InvalidJID
            said = "MUC_ROOM and MCP_BOT_NICKNAME make no address of a room and a name in it."
            raise Fault(said, lasting=True) from None
        self.nickname = self._wanted
        self._joining: asyncio.Future[tuple[str, str]] | None = None
        """Comes true with the condition and the text of a refusal, or with two empty strings."""
        self._said: dict[str, tuple[str, asyncio.Future[tuple[str, str]]]] = {}
        """What the room has not shown yet: id -> (body, as `_joining`)."""
        self._missed_s = 0.0
        self._left = False
        self.notice = ""
        """Why the nickname is not the one that was wanted; "" where it is."""

    # -- in and out

    async def join(self, missed_s: float) -> None:
        """`missed_s`: how long this agent was not in the room; what was said meanwhile is heard. Raises Fault."""
        self._missed_s = missed_s
        tried = []
        for number in range(1, NICKNAMES_TRIED_MAX + 1):
            self.nickname = self._wanted if number == 1 else f"{self._wanted}-{number}"
            tried.append(self.nickname)
            condition, text = await self._ask_in()
            if not condition:
                self._notice(taken=number > 1)
                return
            if condition != "conflict":
                raise faults.room_refused(condition, text, self._account)
        raise faults.no_nickname(self._account, tried)

    def _notice(self, taken: bool = False) -> None:
        if taken:
            self.notice = f"The nickname {self._wanted} is taken: this agent is {self.nickname}."
        elif self.nickname != self._wanted:
            self.notice = f"The room calls this agent {quoted(self.nickname)}, not {self._wanted}."
        else:
            self.notice = ""

    async def _ask_in(self) -> tuple[str, str]:
        self._joining = asyncio.get_running_loop().create_future()
        self._stream.stage = f"joining {self._account.room}"
        presence = self._stream.make_presence(pto=self._own_address())
        joining = ET.Element(MUC + "x")
        wanted = {"seconds": str(int(self._missed_s) + 1)} if self._missed_s else {"maxstanzas": str(KEPT_IN_MIND)}
        ET.SubElement(joining, MUC + "history", wanted)
        presence.append(joining)
        presence.send()
        answer: tuple[str, str] = await self._stream.until(self._joining, JOIN_S_MAX)
        return answer

    def _own_address(self) -> str:
        return f"{self._room}/{self.nickname}"

    def leave(self) -> None:
        """Written at once, so that it is on its way even when this process ends now."""
        stream = self._stream
        if stream.transport is not None and not self._left:
            self._left = True
            presence = stream.make_presence(pto=self._own_address(), ptype="unavailable")
            stream.send_raw(str(presence))
            stream.close()

    async def stay(self) -> Fault:
        """Until the stream ends; why."""
        while not self._stream.ended.done():
            await asyncio.wait({self._stream.ended}, timeout=PING_EVERY_S)
            if not self._stream.ended.done() and not await self._is_in():
                self._stream.fail(faults.not_there(self._account))
        return self._stream.ended.result()

    async def _is_in(self) -> bool:
        """What the room says of a ping to ourselves; a server that does not answer at all ends the stream."""
        answer = self._stream.ask(self._own_address(), "get", ET.Element(PING))
        self._stream.stage = "being asked for a sign of life"
        try:
            condition, _ = _error_of(await self._stream.until(answer, PING_S_MAX))
        except Fault:
            return True
        return condition not in ("not-acceptable", "item-not-found")

    # -- what is said

    async def say(self, body: str) -> None:
        """Returns when the room has shown it to everybody. Raises Fault."""
        if not self._stream.is_read():
            raise faults.not_taken(self._account)
        message = self._stream.make_message(mto=self._room, mbody=body, mtype="groupchat")
        id_: str = message["id"]
        shown: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        self._said[id_] = (body, shown)
        self._memory.own_ids.append(id_)
        message.send()
        waited: set[asyncio.Future[Any]] = {shown, self._stream.ended}
        try:
            await asyncio.wait(waited, timeout=ECHO_S_MAX, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._said[id_]
        if not shown.done():
            ended = self._stream.ended
            raise ended.result() if ended.done() else faults.not_shown(self._account, ECHO_S_MAX)
        condition, text = shown.result()
        if condition:
            raise faults.not_passed_on(condition, text, self._account)

    def take(self, stanza: ET.Element) -> None:
        """A message or a presence; what is not of our room is nobody's business."""
        sender = stanza.get("from", "")
        bare, _, nickname = sender.partition("/")
        if bare.lower() != self._room.lower():
            return
        if stanza.tag == MESSAGE:
            self._take_message(stanza, sender, nickname)
        else:
            self._take_presence(stanza, nickname)

    def _take_message(self, message: ET.Element, sender: str, nickname: str) -> None:
        id_ = message.get("id", "")
        if message.get("type") == "error":
            self._settle(id_, _error_of(message))
            return
        body = message.findtext(NAMESPACE + "body")
        if message.get("type") != "groupchat" or not body:
            return
        memory = self._memory
        if message.find(DELAY) is not None:
            if id_ in memory.own_ids or (id_, body) in memory.heard:
                return
            if not self._missed_s:  # said before this agent first came: kept in mind, to be known the next time
                memory.heard.append((id_, body))
                return
        if nickname == self.nickname and (id_ in memory.own_ids or self._settles(body)):
            self._settle(id_ if id_ in self._said else self._settles(body), ("", ""))
            return
        memory.heard.append((id_, body))
        self._heard(nickname, sender, body)

    def _settles(self, body: str) -> str:
        """The id of the oldest unsettled message of ours with this body: some rooms do not keep ids."""
        return next((id_ for id_, (said, shown) in self._said.items() if said == body and not shown.done()), "")

    def _settle(self, id_: str, outcome: tuple[str, str]) -> None:
        if id_ in self._said and not self._said[id_][1].done():
            self._said[id_][1].set_result(outcome)

    # -- who is in

    def _take_presence(self, presence: ET.Element, nickname: str) -> None:
        kind = presence.get("type", "")
        user = presence.find(USER + "x")
        codes = {status.get("code", "") for status in user.iter(USER + "status")} if user is not None else set()
        if kind == "error":
            self._settle_joining(_error_of(presence))
        elif SELF not in codes and nickname != self.nickname:
            return
        elif kind == "unavailable" and NICK_CHANGED in codes and user is not None:
            item = user.find(USER + "item")
            self.nickname = (item.get("nick", "") if item is not None else "") or self.nickname
            self._notice()
        elif kind == "unavailable":
            self._put_out(codes, user)
        elif not kind:
            self.nickname = nickname
            if CREATED in codes:
                self._unlock()
            self._settle_joining(("", ""))

    def _settle_joining(self, outcome: tuple[str, str]) -> None:
        if self._joining is not None and not self._joining.done():
            self._joining.set_result(outcome)

    def _put_out(self, codes: set[str], user: ET.Element | None) -> None:
        if self._joining is None or not self._joining.done():
            return
        how = next((words for code, words in PUT_OUT.items() if code in codes), "put out of")
        places = (f"{USER}item/{USER}reason", f"{USER}destroy/{USER}reason")
        reasons = [user.findtext(place) for place in places] if user is not None else []
        fault = faults.put_out(how, next(filter(None, reasons), ""), self._account)
        fault.lasting = "332" not in codes
        self._stream.fail(fault)

    def _unlock(self) -> None:
        """A room that our coming created takes others in once its owner has accepted how it is."""
        query = ET.Element(OWNER + "query")
        ET.SubElement(query, FORM + "x", {"type": "submit"})
        self._stream.ask(self._room, "set", query)


def _error_of(stanza: ET.Element) -> tuple[str, str]:
    """Condition and text of an error; two empty strings for what is none."""
    if stanza.get("type") != "error":
        return "", ""
    error = stanza.find(NAMESPACE + "error")
    condition, text = condition_of(error, STANZA_CONDITIONS) if error is not None else ("", "")
    return condition or "undefined-condition", text
