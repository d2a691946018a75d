"""Talk to the frozen executable over stdio in both eras, as a client would: a line for each answer, exit status 0 or 1.

    python build/smoke.py [EXECUTABLE]

Uses a home of its own, so that the first start unpacks, and leaves nothing behind. Does not compare with the sources.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ANSWER_S_MAX = 30
LEGACY, MODERN = "2025-11-25", "2026-07-28"
CLIENT = {"name": "smoke", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}

Json = dict[str, Any]


class Fault(Exception):
    """What the executable did not do: one sentence."""


class Conversation:
    """One started executable. Answers come in the order of the requests, because one is sent at a time."""

    def __init__(self, executable: Path, home: Path) -> None:
        environment = {**os.environ, "SCORPIO_HOME": str(home)}
        self.started = time.perf_counter()
        self.child = subprocess.Popen(
            [str(executable)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.deadline = threading.Timer(ANSWER_S_MAX, self.child.kill)
        self.deadline.start()
        self.next_id = 0

    def send(self, method: str, params: Json) -> Json:
        """The result. Raises Fault."""
        self.next_id += 1
        self.write({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        assert self.child.stdout is not None
        for line in self.child.stdout:
            answer = json.loads(line)
            if answer.get("id") != self.next_id:
                continue
            if not isinstance(answer.get("result"), dict):
                raise Fault(f"{method} was answered {line.decode().strip()}")
            result: Json = answer["result"]
            return result
        raise Fault(f"{method} was not answered: the executable {self.last_words()}")

    def write(self, message: Json) -> None:
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(json.dumps(message).encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            raise Fault(f"the executable {self.last_words()}") from None

    def last_words(self) -> str:
        _, errors = self.child.communicate()
        if self.child.returncode == -getattr(signal, "SIGKILL", 9):  # Windows has no such name
            return f"took longer than {ANSWER_S_MAX} s and was killed"
        return f"ended with {self.child.returncode} and said: {errors.decode(errors='replace').strip() or 'nothing'}"

    def end(self) -> str:
        """Close its input; it must then end by itself."""
        _, errors = self.child.communicate()
        self.deadline.cancel()
        if self.child.returncode != 0:
            raise Fault(
                f"the executable ended with {self.child.returncode} at the end of input and said: {errors.decode()}"
            )
        return "exit status 0"

    def abandon(self) -> None:
        self.deadline.cancel()
        self.child.kill()
        self.child.communicate()


def initialize(talk: Conversation) -> str:
    result = talk.send("initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT})
    elapsed_ms = (time.perf_counter() - talk.started) * 1000
    if result["protocolVersion"] != LEGACY:
        raise Fault(f"initialize chose {result['protocolVersion']}, {LEGACY} was asked for")
    talk.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return f"{result['serverInfo']['name']} {result['serverInfo']['version']}, {elapsed_ms:.1f} ms after its start"


def discover(talk: Conversation) -> str:
    result = talk.send("server/discover", {"_meta": META})
    elapsed_ms = (time.perf_counter() - talk.started) * 1000
    if MODERN not in result["supportedVersions"]:
        raise Fault(f"server/discover names {result['supportedVersions']}, without {MODERN}")
    return f"{', '.join(result['supportedVersions'])}, {elapsed_ms:.1f} ms after its start"


def tools(talk: Conversation, meta: Json) -> str:
    names = [tool["name"] for tool in talk.send("tools/list", meta)["tools"]]
    if "Bash" not in names:
        raise Fault(f"tools/list has no Bash, only {', '.join(names)}")
    return f"{len(names)} tools: {', '.join(names)}"


def bash(talk: Conversation, meta: Json) -> str:
    """A command through the supervisor, which must not see what the bundle needs for itself."""
    command = "echo hello from $((6 * 7)); env | grep -E '^(LD_LIBRARY_PATH|_PYI|_MEI|SCORPIO_CACHE_LOCK)' || true"
    result = talk.send("tools/call", {"name": "Bash", "arguments": {"command": command}, **meta})
    text = "".join(block.get("text", "") for block in result["content"])
    if result.get("isError") or "hello from 42" not in text:
        raise Fault(f"Bash answered {json.dumps(result)}")
    leaked = [line for line in text.splitlines() if "=" in line and line.split("=")[0] not in os.environ]
    if leaked:
        raise Fault(f"a command inherits {', '.join(leaked)}")
    return "hello from 42"


def speak(executable: Path, home: Path, name: str, steps: dict[str, Callable[[Conversation], str]]) -> None:
    """Raises Fault at the first step that fails."""
    talk = Conversation(executable, home)
    try:
        for what, step in steps.items():
            print(f"{name:7} {what:16} {step(talk)}", flush=True)
        print(f"{name:7} {'end of input':16} {talk.end()}", flush=True)
    except (KeyError, TypeError, ValueError) as error:
        raise Fault(f"an answer has another shape than {name} MCP's: {error!r}") from error
    finally:
        talk.abandon()


def main(arguments: list[str]) -> int:
    executable = Path(arguments[0] if arguments else ROOT / "dist" / "scorpio").resolve()
    modern: Json = {"_meta": META}
    legacy_steps = {"initialize": initialize, "tools/list": lambda t: tools(t, {}), "Bash": lambda t: bash(t, {})}
    modern_steps = {
        "server/discover": discover,
        "tools/list": lambda t: tools(t, modern),
        "Bash": lambda t: bash(t, modern),
    }
    try:
        with tempfile.TemporaryDirectory(prefix="scorpio-smoke-") as home:
            speak(executable, Path(home), "legacy", legacy_steps)
            speak(executable, Path(home), "modern", modern_steps)
    except (Fault, OSError) as fault:
        print(f"smoke.py: {executable}: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
