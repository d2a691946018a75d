"""A workspace as `--sandbox` finds it, with what it must keep and hide, and a server in it; a listener that counts."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.links import ChildProcess, clean_environment
from tests.ordinary_user import as_user, command_of
from tests.toolsets.core.ways_to_write import give
from tests.wire import Wire

BACKENDS = {
    "bubblewrap": {"SANDBOX_BACKEND": "bubblewrap"},
    "landlock": {"SANDBOX_BACKEND": "landlock"},
    "landlock alone": {"SANDBOX_BACKEND": "landlock", "SANDBOX_NAMESPACES": "false"},
}

SECRET = "sandbox-secret-4711"


class Listener:
    """TCP and UDP on every address of this machine; counts who comes."""

    def __init__(self) -> None:
        self.came = 0
        self._tcp, self._udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        self._tcp.bind(("0.0.0.0", 0))
        self.port = self._tcp.getsockname()[1]
        self._udp.bind(("0.0.0.0", self.port))
        self._tcp.listen(64)
        self._lock = threading.Lock()
        for serve in (self._accept, self._receive):
            threading.Thread(target=serve, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._tcp.accept()
            except OSError:
                return
            with connection, self._lock:
                self.came += 1
                connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")

    def _receive(self) -> None:
        while True:
            try:
                self._udp.recv(64)
            except OSError:
                return
            with self._lock:
                self.came += 1

    def close(self) -> None:
        for each in (self._tcp, self._udp):
            try:
                each.shutdown(socket.SHUT_RDWR)  # wakes the thread
            except OSError:
                pass
            each.close()


class SandboxPlace:
    """`root/work` is the workspace, `root/home` the home directory, `root/beside` somewhere else."""

    def __init__(self, root: Path, common: Path, build: str, user: int | None, *options: str, **variables: str) -> None:
        self.root = root
        self.work, self.home, self.beside = (root / name for name in ("work", "home", "beside"))
        own = {"TMPDIR": str(root / "temporary")}
        marked = {"A_TOKEN": SECRET, "B_KEY": SECRET, "SECRET_C": SECRET, "PLAIN": "plain"}
        git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        environ = clean_environment(self.home, {**own, **marked, **git, **variables})
        if not self.work.exists():
            self._make()
            if user is not None:
                give(root, user)
        command = [*as_user(user), *command_of(build, common, user, environ), *options]
        self.wire = Wire(ChildProcess(command, environ, root / "stderr", self.work), "2025-06-18")
        self.wire.open()

    def _make(self) -> None:
        for path in (self.work, self.home, self.beside, self.root / "temporary"):
            path.mkdir()
        subprocess.run(["git", "init", "-q", self.work], check=True)
        for name in (".claude/settings.json", ".vscode/tasks.json", ".mcp.json", ".bashrc", "src/main"):
            path = self.work / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("before\n")
        (self.work / "decoy").mkdir()
        (self.work / ".codex").symlink_to("decoy")
        os.mkfifo(self.work / ".gitmodules")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.work / ".idea"))
        for name in (".ssh/id", ".aws/credentials", ".netrc", ".bashrc", ".scorpio/scorpio-env.txt"):
            path = self.home / name
            path.parent.mkdir(exist_ok=True, mode=0o700)
            path.write_text(f"# {SECRET}\n")
        (self.beside / "file").write_text("before\n")

    def bash(self, command: str, **arguments: Any) -> tuple[str, bool]:
        result = self.wire.call("Bash", {"command": command, **arguments})
        return result["content"][0]["text"], result["isError"]

    def outcomes(self, commands: dict[str, str]) -> dict[str, bool]:
        """Run each in a shell of its own, all in one call: whether it succeeded."""
        lines = [
            f"bash -c {shlex.quote(command)} </dev/null >/dev/null 2>&1 && echo {shlex.quote(name)}"
            for name, command in commands.items()
        ]
        result = self.wire.call("Bash", {"command": "\n".join([*lines, "echo all"]), "timeout": 55_000})
        said = str(result["content"][0]["text"]).split("[", 1)[0].splitlines()
        assert said[-1:] == ["all"], result  # the last ran too
        return {name: name in said for name in commands}

    def close(self) -> None:
        if not self.wire.closed:
            self.wire.close()
