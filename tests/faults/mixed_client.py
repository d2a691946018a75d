"""One server and its client in the mixed load: sends, cancels, counts answers, ends it in some way.

Runs under the system's Python as another user too: standard library only, nothing of the tests or of the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ANSWER_S_MAX = 60.0
"""Longer than any call of the load may take, on a machine with other work."""

END_S_MAX = 20.0
ENDS = ("end of input", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL", "vanish", "shutdown", "exit")
"""How a client or the machine may end a server. `vanish`: both pipes are closed at once."""


class Client:
    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], cwd: Path, log: Path, limits: Sequence[str]
    ) -> None:
        """`limits`: options of prlimit, such as `--nofile=20`."""
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [*(("prlimit", *limits) if limits else ()), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(environ),
                cwd=cwd,
            )
        self.starved = bool(limits)
        self.limits = limits
        self.log = log
        self.lock = threading.Condition()
        self.sent: dict[int, dict[str, Any]] = {}
        """Calls that have neither been answered nor cancelled."""
        self.cancelled: set[int] = set()
        self.counts: Counter[str] = Counter()
        self.answers: dict[int, dict[str, Any]] = {}
        self.faults: list[str] = []
        self.number = 0
        self.ended_by_us = False
        self.cut_off = False
        """Its last line may be half a line: it was killed, or nobody read on."""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def start(self) -> bool:
        """The handshake; False when the server could not start, which one that is starved may not."""
        info = {"name": "mixed load", "version": "1"}
        number = self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        if "result" not in (self.wait(number) or {}):
            return False
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return True

    def request(self, method: str, params: Any) -> int:
        with self.lock:
            self.number += 1
            number = self.number
            self.sent[number] = {"method": method, "params": params}
            self.counts["calls"] += 1
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def call(self, name: str, arguments: Any, **members: Any) -> int:
        return self.request("tools/call", {"name": name, "arguments": arguments, **members})

    def cancel(self, number: int) -> None:
        with self.lock:
            if self.sent.pop(number, None) is None:
                return
            self.cancelled.add(number)
            self.counts["cancelled"] += 1
        self.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})

    def write(self, message: bytes | dict[str, Any]) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def wait(self, number: int, bound_s: float = ANSWER_S_MAX) -> dict[str, Any] | None:
        """The answer; None when the server ended or was too slow, which is a fault then."""
        with self.lock:
            self.lock.wait_for(lambda: number in self.answers or not self.reader.is_alive(), bound_s)
            return self.answers.get(number)

    def idle(self, most: int) -> bool:
        """Once at most so many calls are open; False when that takes too long."""
        with self.lock:
            return self.lock.wait_for(lambda: len(self.sent) <= most or not self.reader.is_alive(), ANSWER_S_MAX)

    def text(self, name: str, arguments: Any) -> str:
        """What a tool answers to the model."""
        answer = self.wait(self.call(name, arguments)) or {}
        return "\n".join(block.get("text", "") for block in answer.get("result", {}).get("content", []))

    def end(self, how: str) -> None:
        """Ends it and holds it to its promises: in time, and answered whatever it had been sent."""
        self.ended_by_us = True
        self.cut_off = how in ("SIGKILL", "vanish")
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if how.startswith("SIG"):
            os.kill(self.process.pid, signal.Signals[how])
        elif how == "shutdown":
            self.write({"jsonrpc": "2.0", "id": "end", "method": "shutdown"})
        elif how == "exit":
            self.write({"jsonrpc": "2.0", "method": "exit"})
        elif how == "vanish":
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, self.process.stdout.fileno())  # the reader may be in a read of it
            os.close(null)
        with contextlib.suppress(OSError, ValueError):
            if how in ("end of input", "vanish"):
                self.process.stdin.close()
        began_s = time.monotonic()
        try:
            status = self.process.wait(END_S_MAX)
        except subprocess.TimeoutExpired:
            self.faults.append(f"stays after {how}: {self.limits} {where(self.process.pid)} {self.last_words()}")
            self.process.kill()
            self.process.wait()
            return
        self.counts["slowest end ms"] = int((time.monotonic() - began_s) * 1000)
        expected = -signal.SIGKILL if how == "SIGKILL" else 0
        if status != expected and not self.starved:
            self.faults.append(f"status {status} after {how}")
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.close()
        self.reader.join(END_S_MAX)

    def last_words(self) -> str:
        return self.log.read_bytes()[-1500:].decode("utf-8", "replace")

    # -- what the server says

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.endswith(b"\n") and self.cut_off:
                break
            try:
                message = json.loads(line)
            except ValueError:
                self.faults.append(f"no JSON on stdout: {line[:100]!r}")
                continue
            with self.lock:
                if isinstance(message, dict) and "method" not in message and message.get("id") is not None:
                    self._answered(message)
                self.lock.notify_all()
        with self.lock:
            if not self.ended_by_us and not self.starved:
                self.faults.append(f"ended by itself: {self.process.wait()}")
            self.lock.notify_all()

    def _answered(self, message: dict[str, Any]) -> None:
        number = message["id"]
        if type(number) is str:
            return  # of a message of junk, or of the end
        if number in self.cancelled:
            return  # it was on its way already
        if number not in self.sent:
            self.faults.append(f"answered twice or never asked: {number}")
            return
        asked = self.sent.pop(number)
        self.answers[number] = message
        self.counts["answers"] += 1
        if message.get("error", {}).get("code") == -32603 and not self.starved:
            self.faults.append(f"{asked['params'].get('name')}: {message['error']['message']}")


def where(pid: int) -> str:
    """What each of its threads waits in, for a report of one that stays."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            for name in ("wchan", "syscall"):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/{name}") as file:
                    found.append(f"{thread} {name} {file.read().strip()}")
    return "; ".join(found)
