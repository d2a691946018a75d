"""How tests reach a server: a child process from source or frozen, or `Server.receive` in this process.

Knows lines, not messages.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tests.lacking import lacking

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
LANE_BOUND_S = 10.0
"""For the slow lane of a server in this process to end."""


class Link(Protocol):
    """Carries bytes to a server and its lines back."""

    def start(self, on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None: ...

    def send(self, data: bytes) -> None: ...

    def close_input(self) -> None: ...

    def wait(self, bound_s: float) -> int: ...

    def stderr(self) -> str: ...


class ChildProcess:
    """A server in a process of its own, by its command line."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], stderr_path: Path, cwd: Path) -> None:
        self.stderr_path = stderr_path
        self._sending = threading.Lock()
        with stderr_path.open("wb") as log:
            self.process = subprocess.Popen(
                [*command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=dict(environ), cwd=cwd
            )

    def start(self, on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        threading.Thread(target=self._read, args=(on_line, on_end), daemon=True).start()

    def _read(self, on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        assert self.process.stdout is not None
        try:
            with self.process.stdout as stream:
                for line in stream:
                    on_line(line)
        finally:
            on_end()

    def send(self, data: bytes) -> None:
        """Bytes for the server; dropped once its input is closed, as an answer of the reading thread may come late."""
        assert self.process.stdin is not None
        with self._sending:
            if not self.process.stdin.closed:
                self.process.stdin.write(data)
                self.process.stdin.flush()

    def close_input(self) -> None:
        assert self.process.stdin is not None
        with self._sending:
            try:
                self.process.stdin.close()
            except BrokenPipeError:  # the server was gone before the last bytes were
                pass

    def wait(self, bound_s: float) -> int:
        return self.process.wait(bound_s)

    def stderr(self) -> str:
        return self.stderr_path.read_text("utf-8", "replace")


class InProcess:
    """`Server.receive` behind a thread that reads, as stdio does it, without descriptors."""

    def __init__(self, toolsets: Sequence[str], environ: Mapping[str, str], stderr_path: Path) -> None:
        from scorpio.log import Log
        from scorpio.protocol.framing import LineFramer
        from scorpio.server.lanes import ThreadLane
        from scorpio.server.server import Server
        from scorpio.settings import load
        from scorpio.state.home import Home, home_path
        from scorpio.toolset import Features, chosen

        self.stderr_path = stderr_path
        self._log = stderr_path.open("wb")
        home = Home(home_path(dict(environ)))
        settings = load(environ, home.root)
        features = Features(chosen(toolsets), hidden=settings.hidden_tools, tools=settings.tools)
        self.lane = ThreadLane()
        self.server = Server(features, settings, home, self.lane, Log(settings.log_level, self._log.fileno()))
        self.server.open_configured()
        self._framer = LineFramer()
        self._chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._on_line: Callable[[bytes], None] = lambda line: None
        self._write_lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._warm = False

    def start(self, on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        from scorpio.server.peer import Peer

        self._on_line = on_line
        self.peer = Peer(self._write, "in-process")
        self.server.open_peer(self.peer)
        self._thread = threading.Thread(target=self._read, args=(on_end,), daemon=True)
        self._thread.start()

    def _write(self, data: bytes) -> None:
        with self._write_lock:
            for line in data.splitlines(keepends=True):
                self._on_line(line)

    def _read(self, on_end: Callable[[], None]) -> None:
        try:
            while not self.peer.ended and (chunk := self._chunks.get()):
                self._receive(self._framer.feed(chunk))
            self._end()
        finally:
            on_end()

    def _receive(self, frames: list[bytes]) -> None:
        for frame in frames:
            if self.peer.ended:
                return
            answer = self.server.receive(frame, self.peer)
            if answer is not None:
                self._write(answer)
            if not self._warm:
                self._warm = True
                self.server.warm()

    def _end(self) -> None:
        from scorpio.limits import DRAIN_MS_MAX
        from scorpio.server.subscriptions import end_listens

        idle = threading.Event()
        self.peer.on_idle = idle.set
        self.peer.fail_questions()
        if self.peer.busy() and not self.peer.ended:
            idle.wait(DRAIN_MS_MAX / 1000)
        end_listens(self.server, self.peer)
        self.server.close_peer(self.peer)
        self.server.close()
        self.lane.stop(LANE_BOUND_S)

    def send(self, data: bytes) -> None:
        self._chunks.put(data)

    def close_input(self) -> None:
        self._chunks.put(b"")

    def wait(self, bound_s: float) -> int:
        assert self._thread is not None
        self._thread.join(bound_s)
        assert not self._thread.is_alive(), "the server in this process did not end"
        self._log.close()
        return 0

    def stderr(self) -> str:
        return self.stderr_path.read_text("utf-8", "replace")


BYTECODE = os.environ.get("PYTHONPYCACHEPREFIX", str(ROOT / ".cache" / "pycache"))
"""Where servers from source share their bytecode, as dev.py has it: compiling it takes 0.15 s of each start."""

KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "COVERAGE_PROCESS_START", "LD_LIBRARY_PATH")


def clean_environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment of this test's own: nothing of the person who runs it, state below `home`."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "SCORPIO_HOME": str(home / ".scorpio"),
        "PYTHONPYCACHEPREFIX": BYTECODE,
        "ASK_TTY": "off",  # no dialog at the terminal of the person who tests
        "PYTHONPATH": str(ROOT),
        **(extra or {}),
    }


def program_of(build: str) -> list[str]:
    """What stands before the words of the command line, of `source` or `frozen`."""
    return [sys.executable, "-m", "scorpio"] if build == "source" else [executable_under_test()]


def server_command(build: str, toolsets: Sequence[str]) -> list[str]:
    return [*program_of(build), "serve", "--toolsets", ",".join(toolsets)]


def source_command(toolsets: Sequence[str]) -> list[str]:
    return server_command("source", toolsets)


def frozen_command(executable: str, toolsets: Sequence[str]) -> list[str]:
    return [executable, "serve", "--toolsets", ",".join(toolsets)]


def executable_under_test() -> str:
    """SCORPIO_EXECUTABLE_UNDER_TEST, else dist/scorpio; lacking, with the cure, where none is of these sources."""
    named = os.environ.get("SCORPIO_EXECUTABLE_UNDER_TEST")
    if named:
        return os.path.abspath(named)
    built = ROOT / "dist" / "scorpio"
    if not built.is_file():
        lacking("There is no dist/scorpio. Run build/dev.py freeze.")
    sources = (path for folder in ("scorpio", "tools") for path in (ROOT / folder).rglob("*.py"))
    if max(path.stat().st_mtime for path in sources) > built.stat().st_mtime:
        lacking("dist/scorpio is older than the sources. Run build/dev.py freeze.")
    return str(built)
