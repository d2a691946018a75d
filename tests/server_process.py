"""A server in a process of its own, with descriptors of the test's choice, and looks at it from outside.

Knows bytes and lines; shares no code with the program. Every wait is for an event and has a bound that only guards
against a hang.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

BOUND_S = 60.0
"""How long anything is waited for before the test fails."""

END_BOUND_S = 15.0
"""The end of a process takes 2 s at the most; the rest is for a machine that does other things too."""

READ_BYTES = 1 << 20

PING = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n'
PONG = b'{"jsonrpc":"2.0","id":%d,"result":{}}\n'

Message = dict[str, Any]


class ServerProcess:
    """One server and the test's ends of its descriptors. `stdin_fd` and `stdout_fd` are -1 where there is none."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        stderr_path: Path,
        *,
        cwd: Path | None = None,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
    ) -> None:
        self.stdin_fd = self.stdout_fd = -1
        self.stderr_path = stderr_path
        ours: list[int] = []
        if stdin is None:
            stdin, self.stdin_fd = os.pipe()
            ours.append(stdin)
        if stdout is None:
            self.stdout_fd, stdout = os.pipe()
            ours.append(stdout)
        if stderr is None:
            stderr = os.open(stderr_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            ours.append(stderr)
        try:
            self.process = subprocess.Popen(
                [*command], stdin=stdin, stdout=stdout, stderr=stderr, env=dict(environ), cwd=cwd
            )
        finally:
            for descriptor in ours:
                os.close(descriptor)
        self.pid = self.process.pid
        self._held = b""

    # -- bytes

    def send(self, *messages: bytes | Message) -> None:
        """In one write where the pipe has room."""
        data = memoryview(b"".join(m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages))
        while data:
            data = data[os.write(self.stdin_fd, data) :]

    def lines(self, count: int) -> list[bytes]:
        """The next `count` lines, with their ends."""
        end_s = time.monotonic() + BOUND_S
        parts, seen = [self._held], self._held.count(b"\n")
        while seen < count:
            chunk = self.chunk(end_s - time.monotonic())
            if not chunk:
                said = b"".join(parts)[-300:]
                raise AssertionError(f"{seen} lines instead of {count}; last: {said!r}; stderr: {self.stderr()}")
            parts.append(chunk)
            seen += chunk.count(b"\n")
        *lines, self._held = b"".join(parts).split(b"\n")
        self._held = b"\n".join([*lines[count:], self._held])
        return [line + b"\n" for line in lines[:count]]

    def chunk(self, bound_s: float = BOUND_S) -> bytes:
        """One read of what is there; b"" at the end."""
        if not readable(self.stdout_fd, bound_s):
            raise AssertionError(f"nothing to read within {bound_s:.0f} s; stderr: {self.stderr()}")
        try:
            return os.read(self.stdout_fd, READ_BYTES)
        except BlockingIOError:  # a test made a shared description non-blocking; another thread was quicker
            return self.chunk(bound_s)
        except OSError:  # a terminal whose other end is closed
            return b""

    def rest(self) -> bytes:
        """All until the end of output."""
        parts = [self._held]
        self._held = b""
        while chunk := self.chunk():
            parts.append(chunk)
        return b"".join(parts)

    # -- messages

    def answers(self, count: int) -> list[Message]:
        return [json.loads(line) for line in self.lines(count)]

    def request(self, method: str, params: Message | None = None, id: int | str = 1) -> Message:
        """The next line, which must be the answer."""
        self.send({"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})})
        [answer] = self.answers(1)
        assert answer["id"] == id, answer
        return answer

    def open(self, revision: str = "2025-11-25") -> ServerProcess:
        """The handshake of the legacy era."""
        info = {"name": "tests", "version": "1"}
        answer = self.request("initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": info})
        assert answer["result"]["protocolVersion"] == revision
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def call(self, name: str, arguments: Message, id: int | str = 1) -> Message:
        return self.request("tools/call", {"name": name, "arguments": arguments}, id)

    def start_slow(self, id: int | str = "slow") -> None:
        """A call that is in progress when this returns, and for a minute."""
        arguments = {"ms": 60_000, "steps": 1000}
        params = {"name": "test_slow", "arguments": arguments, "_meta": {"progressToken": id}}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        [progress] = self.answers(1)
        assert progress["params"]["progressToken"] == id

    # -- the end

    def close_stdin(self) -> None:
        os.close(self.stdin_fd)
        self.stdin_fd = -1

    def close_stdout(self) -> None:
        os.close(self.stdout_fd)
        self.stdout_fd = -1

    def status(self) -> int:
        """The exit status, once it has ended by itself."""
        try:
            return self.process.wait(END_BOUND_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the server stays; stderr: {self.stderr()}") from None

    def kill(self) -> None:
        """Clean up after the test, whatever became of it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for descriptor in {self.stdin_fd, self.stdout_fd} - {-1}:
            os.close(descriptor)

    # -- from outside

    def stderr(self) -> str:
        return self.stderr_path.read_text("utf-8", "replace") if self.stderr_path.exists() else ""

    def descriptor(self, number: int) -> str:
        """What a descriptor of the server is: a path, or `pipe:[N]`."""
        return os.readlink(f"/proc/{self.pid}/fd/{number}")

    def is_serving(self) -> bool:
        """True once the wire is off descriptor 0, whatever this started with."""
        try:
            return self.descriptor(0) == os.devnull
        except OSError:
            return False

    def peak_bytes(self) -> int:
        """The most memory it ever had."""
        return next(int(line.split()[1]) * 1024 for line in self._status("status") if line.startswith("VmHWM"))

    def wakeups(self) -> int:
        """How often a thread of it went to sleep by itself, until now."""
        return sum(
            int(line.split()[1])
            for thread in os.listdir(f"/proc/{self.pid}/task")
            for line in self._status(f"task/{thread}/status")
            if line.startswith("voluntary_ctxt_switches")
        )

    def processor_ticks(self) -> int:
        fields = self._status("stat")[0].rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def _status(self, name: str) -> list[str]:
        with open(f"/proc/{self.pid}/{name}") as file:
            return file.read().splitlines()


def readable(descriptor: int, bound_s: float) -> bool:
    """True once something can be read, the end included."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(bound_s, 0) * 1000))


def ended(pid: int) -> bool:
    """True once a process that is not our child has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return readable(descriptor, END_BOUND_S)
    finally:
        os.close(descriptor)


def processes_with(environment: str) -> Iterator[int]:
    """Processes that were started with these words in their environment, zombies excepted."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if environment.encode() in file.read():
                    yield int(name)
        except OSError:
            continue
