"""Memory: what does a server hold when nothing happens, and how far does it grow when a command prints a lot?

Idle is after the handshake, `tools/list` and `ping`. A server's children count; what processes share counts once in
PSS. Linux only: the numbers are those of /proc.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self

from benchmarks.harness import BenchmarkFailure, Plan, Record, Run, Subject, alternate
from benchmarks.subjects import answer_of, limit, rivals, scorpios
from benchmarks.workloads import FIRST_ID, handshake, has_tool, line, plain

PROC = Path("/proc")
ANSWER_WAIT_S = 60
MB = 1024 * 1024
LIST = line("tools/list", None, FIRST_ID + 1)
PING = line("ping", None, FIRST_ID + 2)


def run(plan: Plan) -> Iterator[Record]:
    if not (PROC / "self" / "smaps_rollup").exists():
        plan.note("memory", "memory is read from /proc, which this system does not have")
        return
    for name, key in (("memory idle rss", "Rss"), ("memory idle pss", "Pss")):
        if plan.wants(name):
            yield from _idle(plan, name, key)
    if plan.wants("memory bash"):
        yield from _bash(plan)


def _idle(plan: Plan, name: str, key: str) -> Iterator[Record]:
    ours = scorpios(plan)
    others = [rival.subject for rival in rivals(plan) if rival.plays(name)]
    subjects = [limit(plan, answer_of(plan, ours[0], LIST)), *ours, *others]

    def measure(subject: Subject) -> Run:
        with Talk(plan, subject) as talk:
            answer = talk.ask(LIST)
            talk.ask(PING)
            held = sum(_bytes(PROC / str(pid) / "smaps_rollup", key) for pid in talk.processes())
        return Run([held / MB], hashlib.sha256(answer).hexdigest())

    yield from alternate(name, subjects, plan.size.rounds, measure, "MB")


def _bash(plan: Plan) -> Iterator[Record]:
    """Growth of the server itself to its highest point while a command prints; the first command is behind it."""
    name = "memory bash"
    if not has_tool("core", "bash"):
        plan.note(name, "the core toolset has no Bash here")
        return
    first = _bash_call("true", FIRST_ID + 1)
    printing = _bash_call(f"yes 0123456789abcdef | head -c {plan.size.output_bytes}", FIRST_ID + 2)

    def measure(subject: Subject) -> Run:
        with Talk(plan, subject) as talk:
            talk.ask(first)
            own = PROC / str(talk.process.pid)
            (own / "clear_refs").write_text("5")  # the highest point starts anew from here
            before = _bytes(own / "status", "VmRSS")
            answer = talk.ask(printing)
            grown = _bytes(own / "status", "VmHWM") - before
        result = plain(answer)
        if result.get("isError"):
            raise BenchmarkFailure(f"{subject.name}: Bash answered {answer[:300]!r}")
        words = re.sub(rb"[0-9a-f]*[0-9][0-9a-f]*", b"0", answer)  # durations and names of files differ each time
        return Run([grown / MB], hashlib.sha256(words).hexdigest())

    yield from alternate(name, scorpios(plan, "core"), plan.size.rounds, measure, "MB")


def _bash_call(command: str, id_: int) -> bytes:
    return line("tools/call", {"name": "Bash", "arguments": {"command": command}}, id_)


class Talk:
    """A server that has been shaken hands with, one question at a time."""

    def __init__(self, plan: Plan, subject: Subject) -> None:
        self.process = subprocess.Popen(
            subject.command,
            cwd=subject.cwd,
            env=plan.environment(subject),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._name = subject.name
        self._watch = threading.Timer(ANSWER_WAIT_S, self.process.kill)
        self._watch.start()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to: IO[bytes] = self.process.stdin
        self._from: IO[bytes] = self.process.stdout

    def __enter__(self) -> Self:
        initialize, initialized = handshake().splitlines(keepends=True)
        self.ask(initialize)
        self._to.write(initialized)
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.cancel()
        self._to.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._from.close()

    def ask(self, request: bytes) -> bytes:
        """The answer with the request's id; other messages are passed over."""
        self._to.write(request)
        self._to.flush()
        wanted = re.search(rb'"id":(\d+)', request)
        assert wanted is not None
        for answer in self._from:
            if wanted[0] in answer:
                return answer
        raise BenchmarkFailure(f"{self._name} gave no answer to {request[:100]!r}")

    def processes(self) -> list[int]:
        """The server and all that descends from it."""
        found = [self.process.pid]
        for pid in found:
            for children in (PROC / str(pid) / "task").glob("*/children"):
                found += [int(child) for child in children.read_text().split()]
        return found


def _bytes(file: Path, key: str) -> int:
    found = re.search(rf"^{key}:\s+(\d+) kB$", file.read_text(), re.MULTILINE)
    if found is None:
        raise BenchmarkFailure(f"{file.name} has no line {key}")
    return int(found[1]) * 1024
