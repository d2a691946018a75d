"""A Prosody of this test's own: configuration, data, users and certificates in one directory, on loopback.

Touches nothing of the system's, and shares no code with the program.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path

BOUND_S = 30.0
"""For a Prosody to be up or gone: it takes half a second."""

DOMAIN = "xmpp"
ROOMS = f"conference.{DOMAIN}"
PASSWORD = "woof-7e1f-woof"
"""Of every user; a word that stands nowhere else, so that a leak of it is found."""

USERS = ("dogbot", "catbot", "alice", "owner")

CONFIGURATION = """
daemonize = false
pidfile = "{base}/prosody.pid"
data_path = "{base}/data"
run_as_root = true
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
c2s_direct_tls_ports = {{ {tls_port} }}
s2s_ports = {{}}
http_ports = {{}}
https_ports = {{}}
component_ports = {{}}
modules_enabled = {{ "roster", "saslauth", "disco", "ping"{tls_modules} }}
modules_disabled = {{ "s2s", "offline", "posix" }}
authentication = "internal_{authentication}"
storage = "internal"
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
{ssl}
log = {{ {{ levels = {{ min = "info" }}, to = "console" }} }}
{options}

VirtualHost "{domain}"

Component "{rooms}" "muc"
  restrict_room_creation = false
  muc_room_locking = {locking}
  muc_room_default_persistent = true
  muc_room_default_history_length = 20
"""


class Prosody:
    """One server. `start` and `stop` may be called in turn; the data stays."""

    def __init__(
        self,
        base: Path,
        *,
        certificate: Certificate | None = None,
        locking: bool = False,
        hashed: bool = False,
        options: str = "",
    ) -> None:
        self.base = base
        self.port, self.tls_port = free_ports(2)
        self.lines: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._up = threading.Event()
        self._ports = 2 if certificate else 1
        ssl = f'ssl = {{ certificate = "{certificate.path}", key = "{certificate.key}" }}' if certificate else ""
        base.mkdir(parents=True, exist_ok=True)
        (base / "prosody.cfg.lua").write_text(
            CONFIGURATION.format(
                base=base,
                port=self.port,
                tls_port=self.tls_port if certificate else "",
                tls_modules=', "tls"' if certificate else "",
                authentication="hashed" if hashed else "plain",
                ssl=ssl,
                options=options,
                domain=DOMAIN,
                rooms=ROOMS,
                locking=str(locking).lower(),
            )
        )
        accounts = base / "data" / DOMAIN / "accounts"
        accounts.mkdir(parents=True, exist_ok=True)
        for user in USERS:
            (accounts / f"{user}.dat").write_text(f'return {{ ["password"] = "{PASSWORD}" }};\n')

    @property
    def service(self) -> str:
        return f"xmpp://localhost:{self.port}"

    @property
    def tls_service(self) -> str:
        return f"xmpps://localhost:{self.tls_port}"

    def start(self) -> Prosody:
        """Returns when it listens."""
        self._up.clear()
        self._process = subprocess.Popen(
            [program(), "--config", str(self.base / "prosody.cfg.lua"), "-F"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.base), "LANG": "C.UTF-8"},
        )
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()
        assert self._up.wait(BOUND_S), "Prosody did not start:\n" + "".join(self.lines[-20:])
        return self

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        listening = 0
        with process.stdout as stream:
            for line in stream:
                self.lines.append(line)
                listening += "Activated service 'c2s" in line
                if listening >= self._ports:
                    self._up.set()

    def stop(self) -> None:
        """As a server that is shut down: its clients are told."""
        self._end("terminate")

    def kill(self) -> None:
        """As a machine that fails: nobody is told."""
        self._end("kill")

    def _end(self, how: str) -> None:
        if self._process is not None and self._process.poll() is None:
            getattr(self._process, how)()
            try:
                self._process.wait(BOUND_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Certificate:
    """Signed by itself, for `name`."""

    def __init__(self, base: Path, name: str = DOMAIN) -> None:
        base.mkdir(parents=True, exist_ok=True)
        self.path, self.key = base / f"{name}.crt", base / f"{name}.key"
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"),
                *("-addext", f"subjectAltName=DNS:{name}", "-keyout", str(self.key), "-out", str(self.path)),
            ],
            check=True,
            capture_output=True,
        )


def program() -> str:
    """Where Debian puts it; "" where there is none."""
    return shutil.which("prosody", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin") or ""


def free_ports(count: int) -> list[int]:
    """Nobody listened there a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
