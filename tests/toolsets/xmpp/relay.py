"""A cable between the agent and its server, which a test can cut, mend, and make deaf."""

from __future__ import annotations

import socket
import threading

from tests.toolsets.xmpp.prosody import free_ports


class Relay:
    """Listens on a port of its own and passes bytes on to `port`, until it is cut."""

    def __init__(self, port: int) -> None:
        self._to = port
        [self.port] = free_ports(1)
        self._flowing = threading.Event()
        self._flowing.set()
        self._sockets: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self.mend()

    @property
    def service(self) -> str:
        return f"xmpp://localhost:{self.port}"

    def mend(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), reuse_port=False)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """Both ends see the end; nobody can connect."""
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)  # or `accept` keeps it open
            self._listener.close()
        self._flowing.set()
        for each in self._sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:  # ended by itself
                pass
            each.close()
        self._sockets = []

    def hold(self) -> None:
        """Nothing passes any more, and nobody sees an end."""
        self._flowing.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._to))
            self._sockets += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self._flowing.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:  # cut
            return
