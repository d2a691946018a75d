"""Where the time goes: `python3 build/dev.py bench -- --profile` takes five things apart and writes results/profile.md.

For the targets that are not met on a machine: what of a number is the machine's, what Python's, what ours. Shares of a
whole, from runs that are not interleaved: read them as tenths, and compare nothing across machines.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import commands, http, memory
from benchmarks.harness import BenchmarkFailure, Plan, Subject, median
from benchmarks.stdio import round_trips
from benchmarks.subjects import answer_of, limit, scorpios, serving
from benchmarks.workloads import FIRST_ID, Workload, handshake, line, sum_call

Row = tuple[str, ...]

LOOPS, REPEATS = 2000, 25
"""A stage is timed LOOPS times in a row; the least of REPEATS such times counts."""

HTTP_COUNT_MIN = 8192
"""The kernel counts processor time in steps of 10 ms."""

SUPERVISOR_LOOKS = 300
"""A hundred a second."""

KINDS = (
    ("libpython, code and constants", lambda name, flags: "libpython" in name and "w" not in flags),
    ("libpython, data", lambda name, flags: "libpython" in name),
    ("other libraries", lambda name, flags: ".so" in name),
    ("compiled modules", lambda name, flags: name.endswith("/modules")),
    ("Python's objects, stacks", lambda name, flags: "w" in flags),
    ("the rest", lambda name, flags: True),
)


def page(plan: Plan, head: str) -> str:
    """Markdown. A part that cannot be made here says why."""
    parts = [f"# Where the time goes: {head}\n\nMade by `python3 build/dev.py bench -- --profile`.\n", _python()]
    for title, why, part in PARTS:
        try:
            columns, *rows = part(plan)
            table = [columns, ("---",) * len(columns), *rows]
            body = "".join(f"| {' | '.join(row)} |\n" for row in table)
        except BenchmarkFailure as failure:
            body = f"Not measured: {failure}.\n"
        parts.append(f"## {title}\n\n{why}\n\n{body}")
    return "\n".join(parts)


def _python() -> str:
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    tuned = "--enable-optimizations" in options
    return (
        f"Python {sys.version.split()[0]}, built {'with' if tuned else 'without'} profile-guided optimization, "
        f"{'with' if '--with-lto' in options else 'without'} link-time optimization.\n"
    )


def _waking(plan: Plan) -> Iterator[Row]:
    workload = Workload("sum", "tools/call", sum_call(), count=5000)
    ours = scorpios(plan)[-1]
    subjects = [limit(plan, answer_of(plan, ours, workload.request)), ours]
    yield "", "on one processor, µs", "each on its own, µs", "of that, processor time, µs"
    for subject in subjects:
        cells = []
        for server in ("0", "1"):
            bound = replace(plan.size, processors=("--server-cpu", server, "--own-cpu", "0"))
            run = round_trips(replace(plan, size=bound), subject, workload)
            cells.append((median(run.samples), run.cpu_us or 0.0))
        yield subject.name, f"{cells[0][0]:.1f}", f"{cells[1][0]:.1f}", f"{cells[0][1]:.1f}, {cells[1][1]:.1f}"


def _stages(plan: Plan) -> Iterator[Row]:
    from scorpio.app import build_server
    from scorpio.protocol.framing import LineFramer
    from scorpio.protocol.messages import Request, encode_result
    from scorpio.server.peer import Peer
    from scorpio.server.server_call import ServerCall
    from scorpio.server.tool_methods import call_result

    server = build_server(("sum",))
    peer = Peer(lambda data: None, "profile")
    server.open_peer(peer)
    for message in handshake().splitlines():
        server.receive(message, peer)
    server.warm()
    frame = line("tools/call", sum_call(), FIRST_ID)
    entry = server.features.tools["sum"]
    request = server.message(frame)
    assert isinstance(request, Request)
    assert peer.session is not None
    meta = peer.session.meta
    arguments = request.params["arguments"]
    call = ServerCall(server, peer, entry, meta)
    handle: Callable[..., Any] = entry.handle
    result = handle(arguments, call)
    encoded = call_result(server, peer, entry, result, meta.revision)
    framer = LineFramer()
    stages = {
        "find the line": lambda: framer.feed(frame),
        "parse it, twice: envelope and params": lambda: server.message(frame),
        "check the arguments": lambda: entry.check(arguments),
        "the tool": lambda: handle(arguments, call),
        "the result as JSON": lambda: call_result(server, peer, entry, result, meta.revision),
        "the answer's line": lambda: encode_result(request.id, encoded),
    }
    whole_us = _least_us(lambda: server.receive(framer.feed(frame)[0], peer))
    taken = {name: _least_us(stage) for name, stage in stages.items()}
    yield from _shares(whole_us, {**taken, "choose the method and the tool, guard": whole_us - sum(taken.values())})


def _least_us(step: Callable[[], object]) -> float:
    least_s = float("inf")
    for _ in range(REPEATS):
        start_s = time.perf_counter()
        for _ in range(LOOPS):
            step()
        least_s = min(least_s, time.perf_counter() - start_s)
    return least_s / LOOPS * 1e6


def _shares(whole_us: float, parts: dict[str, float]) -> Iterator[Row]:
    yield "", "µs", "share"
    for name, taken_us in parts.items():
        yield name, f"{taken_us:.2f}", f"{taken_us / whole_us:.0%}"
    yield "all", f"{whole_us:.2f}", ""


def _http(plan: Plan) -> Iterator[Row]:
    from scorpio.app import build_server
    from scorpio.server.peer import Peer

    kind = next(http.kinds())
    run = http.requests(plan, serving(scorpios(plan)[-1]), kind, max(plan.size.count_max, HTTP_COUNT_MIN))
    server = build_server(("sum",))
    server.warm()
    peer = Peer(lambda data: None, "profile")
    core_us = _least_us(lambda: server.receive(kind.body, peer))
    whole_us = run.cpu_us or 0.0
    yield from _shares(
        whole_us,
        {
            "message to answer, as in `receive modern sum`": core_us,
            "HTTP, event loop, access log, and the kernel's recv, send and epoll": whole_us - core_us,
        },
    )


def _bash(plan: Plan) -> Iterator[Row]:
    kind = next(commands.kinds(plan))
    ours = scorpios(plan, "core")[-1]
    bare = replace(limit(plan, answer_of(plan, ours, kind.workload.request), kind.limit, kind.command), cwd=plan.folder)
    bare_us, whole_us = (median(round_trips(plan, subject, kind.workload).samples) for subject in (bare, ours))
    supervised_us = asyncio.run(_supervised_us(plan, _supervisor(plan, ours), kind.pause_ms / 1000))
    yield from _shares(
        whole_us,
        {
            "bash itself, started and waited for in C: the limit": bare_us,
            "the two processes above it, and what they say": supervised_us - bare_us,
            "the call: lane, log, plan and sandbox, output, protocol": whole_us - supervised_us,
        },
    )


async def _supervised_us(plan: Plan, supervisor: str, pause_s: float) -> float:
    """Of a command that is started and waited for by `scorpio.process`, without a tool around it."""
    from scorpio import process

    os.environ["SCORPIO_SUPERVISOR"] = supervisor
    environment = plan.environment(scorpios(plan)[0])
    taken_s = []
    for number in range(plan.size.paused_count):
        await asyncio.sleep(pause_s)
        start_s = time.perf_counter()
        command = await process.spawn(
            "true",
            cwd=str(plan.folder),
            env=environment,
            log_path=str(plan.folder / f"{number}.log"),
            output_bytes_max=0,
        )
        await command.wait_shell()
        taken_s.append(time.perf_counter() - start_s)
        await command.wait_gone()
    process.end_all(0)
    return median(taken_s) * 1e6


def _supervisor(plan: Plan, ours: Subject) -> str:
    """The compiled one, as the executable starts it ahead of the next command."""
    if not ours.frozen:
        raise BenchmarkFailure("the executable is not built; from source a Python program stands above each command")
    with memory.Talk(plan, ours) as talk:
        talk.ask(line("tools/call", {"name": "Bash", "arguments": {"command": "true"}}, FIRST_ID + 1))
        for _ in range(SUPERVISOR_LOOKS):
            for pid in talk.processes()[1:]:
                found = str(Path(f"/proc/{pid}/exe").readlink())
                if found.endswith("-supervisor"):
                    return found
            time.sleep(0.01)
    raise BenchmarkFailure("no supervisor was started ahead")


def _memory(plan: Plan) -> Iterator[Row]:
    held: Counter[str] = Counter()
    with memory.Talk(plan, scorpios(plan)[-1]) as talk:
        talk.ask(memory.LIST)
        talk.ask(memory.PING)
        for pid in talk.processes():
            held += _held_kb(Path(f"/proc/{pid}/smaps").read_text("utf-8"))
    whole = sum(held.values())
    yield "", "PSS, MB", "share"
    for name, _ in KINDS:
        yield name, f"{held[name] / 1024:.2f}", f"{held[name] / whole:.0%}"
    yield "all", f"{whole / 1024:.2f}", ""


def _held_kb(smaps: str) -> Counter[str]:
    held: Counter[str] = Counter()
    kind = ""
    for row in smaps.splitlines():
        mapped = re.match(r"[0-9a-f]+-[0-9a-f]+ (\S+) \S+ \S+ \d+\s*(.*)", row)
        if mapped:
            kind = next(name for name, fits in KINDS if fits(mapped[2], mapped[1]))
        elif row.startswith("Pss:"):
            held[kind] += int(row.split()[1])
    return held


PARTS: Sequence[tuple[str, str, Callable[[Plan], Iterator[Row]]]] = (
    (
        "A round trip on stdio",
        "To wake another processor costs the same whoever answers, and makes all ratios small.",
        _waking,
    ),
    (
        "64 in flight: one `sum`, from its bytes to its answer's",
        "In process, without a pipe. The limit does none of this: it looks for the newline only.",
        _stages,
    ),
    ("HTTP: processor time of one modern `sum`, 64 connections", "From /proc, user and system.", _http),
    (
        "Bash: one `true`, after a pause",
        "From three runs, one after the other. After a pause every cache is cold, for the limit too.",
        _bash,
    ),
    ("Memory of an idle server", "After the handshake, `tools/list` and `ping`.", _memory),
)
