"""All tools at once on the executable, and everything that may happen to a server: then nothing may be left or lost.

    python3 -m tests.faults.mixed_load EXECUTABLE PLACE [--seconds 600] [--seed N] [--shift LIBRARY]

PLACE is an empty directory, better a small file system of its own: then it is filled up now and then. Servers of one
home come and go; one stays from beginning to end, and its memory, descriptors and files are watched. Standard library
only. Prints one JSON object; status 1 when a promise was broken.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import struct
import sys
import threading
import time
import zlib
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.faults.mixed_client import ENDS, Client

if TYPE_CHECKING:
    from collections.abc import Sequence

LIVES_AT_ONCE = 2
OPEN_MAX = 12
"""Calls of one client at a time: the load is to be mixed, not to be the machine's."""

END_S_MAX = 15.0
SAMPLE_EVERY_S = 2.0
SMALL_BYTES = 64 * 1024 * 1024
"""A file system up to this size is filled up as one of the faults."""

PAGE = b"<html><title>Page</title><main><h1>Heading</h1><p>Words of a page that needs no scripts.</p></main></html>"
FOUND = json.dumps({"results": [{"title": "T", "url": "https://example.org/", "content": "C"}]}).encode()
QUESTIONS = json.dumps([{"question": "Which?", "options": ["a", "b"]}])
JUNK = (b"{bad\n", b"\xff\xfe\n", b"[]\n", b'{"jsonrpc":"2.0","id":true,"method":"ping"}\n', b'{"id":"junk"}\n', b"\n")

COMMANDS = (
    "echo done",
    "sleep 0.2; echo slept",
    "head -c 300000 /dev/urandom | base64",
    "exit 3",
    "kill -9 $PPID; echo alive",
    "setsid sleep 30 & echo left",
    "trap '' TERM; sleep 30",
    "cat; echo read",
    "kill -STOP $PPID; echo on",
    "printf '\\377\\000\\033[31m'",
    "seq 50000",
    "echo x > file-$$; rm file-$$",
)


class Web(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body, kind = (FOUND, "application/json") if "search" in self.path else (PAGE, "text/html")
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  # the library's name

    def log_message(self, format: str, *args: Any) -> None:
        pass


def png(side: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes(range(256)) * (3 * side // 256 + 1))[: 1 + 3 * side] * side
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Load:
    def __init__(self, executable: str, place: Path, seed: int, shift: str) -> None:
        self.executable, self.place, self.seed = executable, place, seed
        self.project = place / "project"
        self.home = place / "home"
        self.temporary = place / "tmp"
        for folder in (self.project / ".git", self.home, self.temporary, place / "unpacked"):
            folder.mkdir(parents=True)
        skill = self.home / ".scorpio" / "skills" / "writer"
        skill.mkdir(parents=True, mode=0o700)
        (self.home / ".scorpio").chmod(0o700)
        (skill / "SKILL.md").write_text("---\ndescription: Writes.\n---\nWrite $ARGUMENTS.\n", "utf-8")
        (self.project / "small.png").write_bytes(png(64))
        (self.project / "large.png").write_bytes(png(2500))
        (self.project / "broken.png").write_bytes(png(64)[:-30])
        self.web = ThreadingHTTPServer(("127.0.0.1", 0), Web)
        threading.Thread(target=self.web.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.web.server_port}"
        self.shift_file = place / "shift"
        self.shift_file.write_bytes(struct.pack("q", 0))
        preload = {"LD_PRELOAD": shift, "CLOCK_SHIFT_FILE": str(self.shift_file)} if shift else {}
        self.environ = {
            **preload,
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "SCORPIO_HOME": str(self.home / ".scorpio"),
            "SCORPIO_CACHE_DIR": os.environ.get("SCORPIO_CACHE_DIR", str(place / "unpacked")),
            "TMPDIR": str(self.temporary),
            "ASK_TTY": "off",
            "SEARXNG_URL": f"{self.address}/search",
            "WEBSEARCH_ENGINES": "searxng",
            "LOG_LEVEL": "warning",
            "BASH_MAX_OUTPUT_BYTES": "4000000",
        }
        self.small = shutil.disk_usage(place).total <= SMALL_BYTES
        self.faults: list[str] = []
        self.injected: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.kept: set[str] = set()
        """Steps that TaskManager said it has."""
        self.lock = threading.Lock()
        self.samples: list[tuple[float, int, int]] = []
        """Of the server that stays: s since its start, resident KiB, open descriptors."""

    # -- servers

    def client(self, name: str, limits: Sequence[str] = ()) -> Client:
        command = [self.executable, "serve", "--toolsets", "core,sum,schemas"]
        return Client(command, self.environ, self.project, self.place / f"stderr-{name}", limits)

    def act(self, client: Client, choose: random.Random) -> None:
        """One thing that a client may do."""
        kind = choose.randrange(20)
        number = 0
        if kind < 5:
            number = client.call("Bash", {"command": choose.choice(COMMANDS), "timeout": choose.choice((300, 2000))})
        elif kind < 7:
            number = client.call("BackgroundBash", {"command": choose.choice((*COMMANDS, "sleep 60"))})
        elif kind == 7:
            number = client.call("ReadBgOutput", {"task_id": choose.randrange(1, 40)})
        elif kind == 8:
            number = client.call("KillBgTask", {"task_id": choose.randrange(1, 40)})
        elif kind == 9:
            number = client.call("ListBgTasks", {})
        elif kind == 10:
            action = choose.choice(("enter", "status", "reset", "json"))
            number = client.call("PlanMode", {"action": action, "goal": "Think"})
        elif kind == 11:
            arguments = {"action": "set", "message": "Look", "delay_seconds": choose.choice((1, 2, 3600))}
            number = client.call("SetCallback", choose.choice((arguments, {"action": "list"}, {"action": "cancel"})))
        elif kind == 12:
            number = client.call("InvokeSkill", {"skill_name": choose.choice(("writer", "nobody")), "arguments": "x"})
        elif kind == 13:
            name = choose.choice(("small.png", "large.png", "broken.png", "none.png"))
            number = client.call("ReadImage", {"file_path": str(self.project / name)})
        elif kind == 14:
            number = client.call("ReadDocs", {"url": f"{self.address}/page-{choose.randrange(3)}"})
        elif kind == 15:
            number = client.call("WebSearch", {"query": f"words {choose.randrange(9)}"})
        elif kind == 16:
            number = client.call("AskUserQuestion", {"questions_json": QUESTIONS})
        elif kind == 17:
            number = client.call("sum", {"a": choose.randrange(99), "b": 1})
        elif kind == 18:
            number = client.request(choose.choice(("tools/list", "ping", "resources/list", "prompts/list")), {})
        else:
            client.write(choose.choice(JUNK))
        if number and choose.random() < 0.15:
            client.cancel(number)
            with self.lock:
                self.injected["cancel"] += 1

    def write_step(self, client: Client, step: str) -> None:
        """What was acknowledged must be there at the end."""
        answer = client.wait(client.call("TaskManager", {"action": "add", "query": "", "text": step})) or {}
        if answer.get("result", {}).get("isError") is False:
            with self.lock:
                self.kept.add(step)

    # -- a server that comes and goes

    def live(self, name: str, choose: random.Random) -> None:
        limits = []
        if choose.random() < 0.2:
            limits = [f"--nofile={choose.randrange(12, 64)}"]
            self.note("few descriptors")
        elif choose.random() < 0.1 and os.geteuid() != 0:
            limits = [f"--nproc={choose.randrange(1, 200)}"]
            self.note("few processes")
        client = self.client(name, limits)
        started = client.start()
        if started:
            if choose.random() < 0.7:
                client.text("TaskManager", {"action": "create", "query": f"Life {name}"})
                self.write_step(client, f"Step {name}.0")
            until_s = time.monotonic() + choose.uniform(0.2, 2.0)
            step = 0
            while time.monotonic() < until_s and client.idle(OPEN_MAX):
                self.act(client, choose)
                if choose.random() < 0.1:
                    step += 1
                    self.write_step(client, f"Step {name}.{step}")
                if choose.random() < 0.02:
                    self.stop_and_continue(client)
                time.sleep(choose.uniform(0, 0.02))
            if choose.random() < 0.3 and client.idle(0):  # all of it must have been answered
                client.counts["waited for all"] += 1
        elif not limits:
            client.faults.append("did not start")
        how = choose.choice(ENDS)
        self.note(how)
        client.end(how)
        with self.lock:
            self.counts["lives"] += 1
            slowest = max(self.counts["slowest end ms"], client.counts.pop("slowest end ms", 0))
            self.counts.update(client.counts)
            self.counts["slowest end ms"] = slowest
            self.faults += [f"life {name}: {fault}" for fault in client.faults]

    def note(self, fault: str) -> None:
        with self.lock:
            self.injected[fault] += 1

    def stop_and_continue(self, client: Client) -> None:
        self.note("stopped for a moment")
        with contextlib.suppress(ProcessLookupError):
            os.kill(client.process.pid, signal.SIGSTOP)
            time.sleep(0.1)
            os.kill(client.process.pid, signal.SIGCONT)

    def lane(self, number: int, until_s: float) -> None:
        choose = random.Random(f"{self.seed} {number}")
        life = 0
        try:
            while time.monotonic() < until_s:
                life += 1
                self.live(f"{number}.{life}", choose)
        except Exception as error:  # noqa: BLE001  # a fault of the load itself must not look like a success
            self.faults.append(f"the load itself: {error!r}")

    # -- faults of the machine

    def machine(self, until_s: float, choose: random.Random) -> None:
        while time.monotonic() < until_s:
            time.sleep(choose.uniform(0.3, 1.5))
            if choose.random() < 0.5 and self.small:
                self.note("disk full")
                self.fill()
                time.sleep(choose.uniform(0.1, 0.8))
                (self.place / "ballast").unlink(missing_ok=True)
            if "LD_PRELOAD" in self.environ:
                self.note("clock jumps")
                seconds = choose.choice((0, 86_400, -86_400, 3600, -3600, 61, -61))
                with self.shift_file.open("r+b") as file:
                    file.write(struct.pack("q", seconds))

    def fill(self) -> None:
        with (self.place / "ballast").open("wb", buffering=0) as file:
            for piece in (65536, 4096):  # the last page too
                with contextlib.suppress(OSError):
                    while file.write(b"x" * piece):
                        pass

    # -- the server that stays

    def stay(self, client: Client, until_s: float, choose: random.Random) -> None:
        began_s = time.monotonic()
        next_s = began_s
        while time.monotonic() < until_s and client.idle(4):
            self.act(client, choose)
            time.sleep(0.02)
            if time.monotonic() >= next_s:
                next_s += SAMPLE_EVERY_S
                self.samples.append((time.monotonic() - began_s, *watched(client.process.pid)))

    # -- all of it

    def run(self, seconds: float) -> dict[str, Any]:
        until_s = time.monotonic() + seconds
        staying = self.client("stays")
        if not staying.start():
            return {"faults": ["the server does not start"], "seed": self.seed}
        lanes = [threading.Thread(target=self.lane, args=(number, until_s)) for number in range(LIVES_AT_ONCE)]
        lanes.append(threading.Thread(target=self.machine, args=(until_s, random.Random(f"{self.seed} machine"))))
        for lane in lanes:
            lane.start()
        self.stay(staying, until_s, random.Random(f"{self.seed} stays"))
        for lane in lanes:
            lane.join()
        (self.place / "ballast").unlink(missing_ok=True)
        with self.shift_file.open("r+b") as file:
            file.write(struct.pack("q", 0))
        if not staying.idle(0):
            staying.faults.append(f"never answered: {list(staying.sent.values())[:3]}")
        staying.end("end of input")
        self.counts.update(staying.counts)
        self.faults += [f"the one that stays: {fault}" for fault in staying.faults]
        self.look_after()
        return self.figures(seconds)

    def look_after(self) -> None:
        """What the promises say about the time after: no process, no lost step, every state readable."""
        end_s = time.monotonic() + END_S_MAX
        while (left := processes_with(str(self.home))) and time.monotonic() < end_s:
            time.sleep(0.05)
        self.counts["orphans"] = len(left)
        self.faults += [f"left behind: {words}" for words in left]
        last = self.client("last")
        if not last.start():
            self.faults.append("the last server does not start")
        for name, arguments in (("TaskManager", {"action": "list", "query": ""}), ("SetCallback", {"action": "list"})):
            if not last.text(name, arguments):
                self.faults.append(f"{name} does not read what it wrote")
        for name, arguments in (("PlanMode", {"action": "reset"}), ("ListBgTasks", {})):
            if not last.text(name, arguments):
                self.faults.append(f"{name} does not read what it wrote")
        last.end("end of input")
        self.faults += [f"the last: {fault}" for fault in last.faults]
        self.counts["lost"] = self.lost_steps()
        # A killed server cannot delete its own directory: the log that had no other place, a plan that is taken over.
        self.counts["temporary files"] = len(left_over := sorted(os.listdir(self.temporary)))
        if len(left_over) > 2 * self.injected["SIGKILL"]:
            self.faults.append(f"left in TMPDIR: {left_over}")
        said = b"".join(path.read_bytes() for path in self.place.glob("stderr-*"))
        self.counts["bugs on stderr"] = said.count(b"Traceback (most recent call last)")
        if self.counts["bugs on stderr"]:
            at = said.index(b"Traceback")
            self.faults.append(said[at : at + 3000].decode("utf-8", "replace"))

    def lost_steps(self) -> int:
        path = self.home / ".scorpio" / "scorpio.db"
        if not path.exists():
            return len(self.kept)
        with contextlib.closing(sqlite3.connect(path)) as database:
            if database.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                self.faults.append("the database is damaged")
            there = {row[0] for row in database.execute("SELECT text FROM steps")}
        lost = self.kept - there
        self.faults += [f"lost: {step}" for step in sorted(lost)[:5]]
        self.faults += [f"moved aside: {name}" for name in os.listdir(path.parent) if "corrupt" in name]
        return len(lost)

    def figures(self, seconds: float) -> dict[str, Any]:
        later = [sample for sample in self.samples if sample[0] >= seconds / 4]
        return {
            "seed": self.seed,
            "user": "root" if os.geteuid() == 0 else "an ordinary user",
            "seconds": seconds,
            **{name: self.counts[name] for name in ("calls", "answers", "cancelled", "lives", "orphans", "lost")},
            "steps acknowledged": len(self.kept),
            "slowest end ms": self.counts["slowest end ms"],
            "faults injected": sum(self.injected.values()),
            "injected": dict(sorted(self.injected.items())),
            "memory": {
                "first KiB": self.samples[0][1] if self.samples else 0,
                "last KiB": later[-1][1] if later else 0,
                "slope KiB a minute": round(slope([(at / 60, kib) for at, kib, _ in later]), 1),
                "each minute KiB": each_minute([(at, kib) for at, kib, _ in self.samples]),
            },
            "descriptors": [later[0][2], later[-1][2]] if later else [],
            "temporary files": self.counts["temporary files"],
            "faults": self.faults[:40],
        }


def watched(pid: int) -> tuple[int, int]:
    """(resident KiB, open descriptors)"""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
        resident = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")), 0)
        return resident, len(os.listdir(f"/proc/{pid}/fd"))
    return 0, 0


def each_minute(points: list[tuple[float, int]]) -> list[int]:
    """The first value of every minute: whether a slope is a start that takes long, or a leak."""
    first: dict[int, int] = {}
    for at_s, value in points:
        first.setdefault(int(at_s // 60), value)
    return [*first.values()]


def slope(points: list[tuple[float, int]]) -> float:
    """Least squares; 0 where there is nothing to fit."""
    if len(points) < 2:
        return 0.0
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread if spread else 0.0


def processes_with(words: str) -> list[str]:
    """`pid command` of those that were started with these words in their environment, zombies excepted."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if words.encode() in Path(f"/proc/{name}/environ").read_bytes() and int(name) != os.getpid():
                command = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                found.append(f"{name} {command[:80]}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("executable")
    parser.add_argument("place", type=Path)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shift", default="", help="clock_shift.c as a shared library")
    options = parser.parse_args()
    figures = Load(options.executable, options.place, options.seed, options.shift).run(options.seconds)
    sys.stdout.write(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    return 1 if figures["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
