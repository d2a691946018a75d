"""An XMPP server that a test writes: right until the room is entered, then whatever the test wants.

One connection after another, each served by the test's function on a thread of its own.
"""

from __future__ import annotations

import re
import socket
import threading
from typing import TYPE_CHECKING

from tests.toolsets.xmpp.prosody import DOMAIN

if TYPE_CHECKING:
    from collections.abc import Callable

    Script = Callable[["Connection"], None]

BOUND_S = 30.0

STREAMS = "http://etherx.jabber.org/streams"
DECLARATION = "<?xml version='1.0'?>"
ROOT = f"<stream:stream from='{DOMAIN}' id='1' version='1.0' xmlns='jabber:client' xmlns:stream='{STREAMS}'>"
HEADER = DECLARATION + ROOT
SASL = "urn:ietf:params:xml:ns:xmpp-sasl"
USER = "http://jabber.org/protocol/muc#user"


class Connection:
    """What came and what goes, as text."""

    def __init__(self, connected: socket.socket) -> None:
        connected.settimeout(BOUND_S)
        self.socket = connected
        self._held = ""
        self.room = ""
        self.nickname = ""

    def send(self, data: str | bytes) -> None:
        """Dropped where the agent has gone."""
        try:
            self.socket.sendall(data if isinstance(data, bytes) else data.encode())
        except OSError:
            return

    def expect(self, pattern: str) -> re.Match[str]:
        """What matches, in what has come since the last match; waits for it."""
        while not (found := re.search(pattern, self._held, re.DOTALL)):
            data = self.socket.recv(65536)
            assert data, f"the agent has gone; no {pattern} in {self._held!r}"
            self._held += data.decode("utf-8", "replace")
        self._held = self._held[found.end() :]
        return found

    def rest(self) -> str:
        """What comes until the agent has closed the connection."""
        try:
            while data := self.socket.recv(65536):
                self._held += data.decode("utf-8", "replace")
        except ConnectionError:
            pass
        return self._held

    def gone(self) -> bool:
        """True once the agent has closed the connection; waits for it."""
        self.rest()
        return True

    # -- as a server should

    def features(self, features: str) -> None:
        self.expect("<stream:stream[^>]*>")
        self.send(f"{HEADER}<stream:features>{features}</stream:features>")

    def mechanisms(self, *names: str) -> None:
        offered = "".join(f"<mechanism>{name}</mechanism>" for name in names)
        self.features(f"<mechanisms xmlns='{SASL}'>{offered}</mechanisms>")

    def log_in(self) -> None:
        self.mechanisms("PLAIN")
        self.expect("<auth .*?</auth>")
        self.send(f"<success xmlns='{SASL}'/>")
        self.features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>")
        id_ = self.expect('<iq[^>]* id="([^"]*)".*?</iq>')[1]
        bound = f"<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><jid>dogbot@{DOMAIN}/x</jid></bind>"
        self.send(f"<iq type='result' id='{id_}'>{bound}</iq>")

    def let_in(self, nickname: str = "", codes: str = "") -> None:
        """The agent is in the room, under the nickname that it wants or another one."""
        self.room, wanted = self.expect('<presence[^>]* to="([^"/]*)/([^"]*)".*?</presence>').groups()
        self.nickname = nickname or wanted
        status = "".join(f"<status code='{code}'/>" for code in ("110", *codes.split()))
        self.send(f"<presence from='{self.room}/{self.nickname}'><x xmlns='{USER}'>{status}</x></presence>")

    def enter(self) -> None:
        self.log_in()
        self.let_in()

    def message(self, body: str, sender: str = "mallory", **attributes: str) -> str:
        said = {"from": f"{self.room}/{sender}", "type": "groupchat", **attributes}
        written = "".join(f" {name}='{value}'" for name, value in said.items())
        return f"<message{written}><body>{body}</body></message>"


class FakeServer:
    """Listens on loopback, or at `address`, until it is closed. Faults of the script stand in `faults`."""

    def __init__(self, script: Script, address: str = "127.0.0.1") -> None:
        self._listener = socket.create_server((address, 0))
        self.host, self.port = self._listener.getsockname()[:2]
        self._script = script
        self.connections = 0
        self.faults: list[BaseException] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def service(self) -> str:
        return f"xmpp://{self.host}:{self.port}"

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connected, self.connections), daemon=True).start()

    def _serve(self, connected: socket.socket, number: int) -> None:
        with connected:
            try:
                self._script(Connection(connected))
            except (AssertionError, OSError) as fault:
                if number == 1:  # a later one may be cut by the end of the test
                    self.faults.append(fault)

    def close(self) -> None:
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # or `accept` keeps it open
        except OSError:
            pass
        self._listener.close()
