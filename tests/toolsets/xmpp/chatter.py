"""Somebody else in the room: an XMPP client of sockets and XML only, in plain text on loopback.

Shares no code with the program, nor with its library.
"""

from __future__ import annotations

import base64
import socket
import threading
import time
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from tests.toolsets.xmpp.prosody import DOMAIN, PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.toolsets.xmpp.prosody import Prosody

BOUND_S = 30.0
"""How long anything is waited for before the test fails."""

CLIENT = "{jabber:client}"
USER = "{http://jabber.org/protocol/muc#user}"
STREAMS = "http://etherx.jabber.org/streams"
HEADER = f"<stream:stream to='{DOMAIN}' xmlns='jabber:client' xmlns:stream='{STREAMS}' version='1.0'>"


class Chatter:
    """One connection of one user, logged in when it is made."""

    def __init__(self, prosody: Prosody, user: str = "alice") -> None:
        self.stanzas: list[ET.Element] = []
        self._arrived = threading.Condition()
        self._count = 0
        self._ended = False
        self._socket = socket.create_connection(("127.0.0.1", prosody.port))
        self._parser: ET.XMLPullParser[Any] = ET.XMLPullParser(("start", "end"))
        self._depth = 0
        threading.Thread(target=self._read, daemon=True).start()
        self.raw(HEADER)
        self.wait("features")
        login = base64.b64encode(f"\0{user}\0{PASSWORD}".encode()).decode()
        self.raw(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{login}</auth>")
        self.wait("success")
        with self._arrived:
            self._parser, self._depth = ET.XMLPullParser(("start", "end")), 0
        self.raw(HEADER)
        self.wait("bind")
        self.ask("set", "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>")

    # -- the stream

    def raw(self, xml: str | bytes) -> None:
        self._socket.sendall(xml.encode() if isinstance(xml, str) else xml)

    def _read(self) -> None:
        while True:
            try:
                data = self._socket.recv(65536)
            except OSError:
                data = b""
            with self._arrived:
                if not data:
                    self._ended = True
                    self._arrived.notify_all()
                    return
                self._parser.feed(data)
                events: Iterator[Any] = self._parser.read_events()
                for event, element in events:
                    self._depth += 1 if event == "start" else -1
                    if event == "end" and self._depth == 1:
                        self.stanzas.append(element)
                self._arrived.notify_all()

    def stanza(self, accept: Callable[[ET.Element], bool], what: str = "stanza") -> ET.Element:
        """The first accepted one of all that came; waits for it."""
        end_s = time.monotonic() + BOUND_S
        with self._arrived:
            while True:
                for stanza in self.stanzas:
                    if accept(stanza):
                        return stanza
                left_s = end_s - time.monotonic()
                if self._ended or left_s <= 0:
                    raise AssertionError(f"No {what}; last: {[ET.tostring(each) for each in self.stanzas[-5:]]}")
                self._arrived.wait(left_s)

    def wait(self, name: str) -> ET.Element:
        """The first stanza that has an element of this name in it."""
        return self.stanza(lambda stanza: any(each.tag.rpartition("}")[2] == name for each in stanza.iter()), name)

    def ask(self, kind: str, payload: str, to: str = "") -> ET.Element:
        """The answer to an iq."""
        self._count += 1
        id_ = f"c{self._count}"
        address = f" to='{to}'" if to else ""
        self.raw(f"<iq type='{kind}' id='{id_}'{address}>{payload}</iq>")
        return self.stanza(
            lambda stanza: stanza.tag == CLIENT + "iq" and stanza.get("id") == id_, f"answer to {payload}"
        )

    def close(self) -> None:
        self._socket.close()

    # -- the room

    def join(self, room: str, nickname: str) -> Chatter:
        self.raw(f"<presence to='{room}/{nickname}'><x xmlns='http://jabber.org/protocol/muc'/></presence>")
        self.present(room, nickname)
        return self

    def say(self, room: str, body: str, id_: str = "") -> None:
        named = f" id='{id_}'" if id_ else ""
        self.raw(f"<message to='{room}' type='groupchat'{named}><body>{escape(body)}</body></message>")

    def heard(self, room: str, nickname: str, body: str) -> ET.Element:
        """The message with which somebody said this; waits for it."""
        said = (f"{room}/{nickname}", body)
        return self.stanza(lambda each: (each.get("from"), each.findtext(CLIENT + "body")) == said, f"message {said}")

    def present(self, room: str, nickname: str) -> ET.Element:
        """The presence with which somebody came in; waits for it."""
        return self._presence(f"{room}/{nickname}", None)

    def absent(self, room: str, nickname: str) -> ET.Element:
        """The presence with which somebody left; waits for it."""
        return self._presence(f"{room}/{nickname}", "unavailable")

    def _presence(self, who: str, kind: str | None) -> ET.Element:
        def is_it(stanza: ET.Element) -> bool:
            return stanza.tag == CLIENT + "presence" and (stanza.get("from"), stanza.get("type")) == (who, kind)

        return self.stanza(is_it, f"{kind or 'available'} presence of {who}")

    def item(self, room: str, attributes: str, reason: str = "") -> ET.Element:
        """Change somebody's place in the room: `nick='x' role='none'` kicks, `jid='x' affiliation='outcast'` bans."""
        item = f"<item {attributes}><reason>{escape(reason)}</reason></item>"
        return self.ask("set", f"<query xmlns='http://jabber.org/protocol/muc#admin'>{item}</query>", room)

    def configure(self, room: str, **fields: str) -> ET.Element:
        """Set fields of the room's configuration, such as `membersonly='1'`."""
        rows = "".join(
            f"<field var='muc#roomconfig_{name}'><value>{escape(value)}</value></field>"
            for name, value in fields.items()
        )
        kind = "<field var='FORM_TYPE'><value>http://jabber.org/protocol/muc#roomconfig</value></field>"
        form = f"<x xmlns='jabber:x:data' type='submit'>{kind}{rows}</x>"
        return self.ask("set", f"<query xmlns='http://jabber.org/protocol/muc#owner'>{form}</query>", room)
