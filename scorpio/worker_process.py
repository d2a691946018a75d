"""A child process that runs a module of this program, and answers one question after the other.

For native code that is fed with what comes from anywhere: it may crash, hang and grow, and takes nothing with it.
Knows neither questions nor answers: they are bytes. A module with a protocol of its own uses `command`, `environment`
and `begin` alone.
"""

from __future__ import annotations

import os
import signal
import sys

from scorpio.command_environment import SECRETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import NoReturn

LENGTH_BYTES = 8
READ_BYTES = 256 * 1024


class WorkerFailure(Exception):
    """No answer. The text is a predicate: "ended on SIGSEGV"."""


def command(module: str) -> list[str]:
    """The frozen program has no interpreter beside it: it starts itself."""
    if getattr(sys, "frozen", False):
        return [sys.executable, "--internal-worker", module]
    return [sys.executable, "-P", "-m", module]  # -P: nothing of the working directory is imported


def environment() -> dict[str, str]:
    """All of ours but secrets, because the frozen program needs its own variables."""
    inherited = {name: value for name, value in os.environ.items() if name not in SECRETS}
    inherited["MALLOC_ARENA_MAX"] = "1"  # each arena of a thread reserves 64 MiB of the address space
    if not getattr(sys, "frozen", False):
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        before = inherited.get("PYTHONPATH")
        inherited["PYTHONPATH"] = root + os.pathsep + before if before else root
    return inherited


class WorkerProcess:
    """One child. One question at a time; after a failure it is of no more use."""

    __slots__ = ("_process", "answered")

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.answered = 0

    @classmethod
    async def start(cls, module: str) -> WorkerProcess:
        """`module` calls `serve`. Raises WorkerFailure."""
        import asyncio

        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *command(module), stdin=pipe, stdout=pipe, stderr=null, env=environment()
            )
        except OSError as error:
            raise WorkerFailure(f"could not be started ({error.strerror})") from None
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def ask(self, question: bytes, answer_bytes_max: int) -> bytes:
        """Raises WorkerFailure. Cancelled, or failed, it leaves a child that must be ended."""
        import asyncio

        to_child, from_child = self._process.stdin, self._process.stdout
        assert to_child is not None
        assert from_child is not None
        try:
            to_child.write(len(question).to_bytes(LENGTH_BYTES, "little"))
            to_child.write(question)
            await to_child.drain()
            size = int.from_bytes(await from_child.readexactly(LENGTH_BYTES), "little")
            if size > answer_bytes_max:
                raise WorkerFailure(f"gave an answer of {size} bytes, and {answer_bytes_max} are taken")
            answer = await from_child.readexactly(size)
        except (OSError, asyncio.IncompleteReadError):
            raise WorkerFailure(await self._end_text()) from None
        self.answered += 1
        return answer

    async def _end_text(self) -> str:
        self.kill()
        await self.gone()
        code = self._process.returncode or 0
        try:
            return f"ended on {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        except ValueError:
            return f"ended on signal {-code}"

    def kill(self) -> None:
        """From any state; the event loop reaps it."""
        if self._process.returncode is None:
            try:
                self._process.kill()
            except ProcessLookupError:
                pass
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def gone(self) -> None:
        """Until a child that was killed is reaped."""
        if self._process.stdout is not None:
            while await self._process.stdout.read(READ_BYTES):
                pass  # what nobody reads keeps asyncio from seeing the end
        await self._process.wait()


# -- the child


def serve(answer: Callable[[bytes], bytes], *, address_space_bytes: int, processor_s: int) -> NoReturn:
    """Answer until the parent is gone. Each answer has `processor_s`, all of them share `address_space_bytes`."""
    out = begin(address_space_bytes)
    with open(0, "rb", closefd=False) as questions, open(out, "wb") as answers:
        while len(length := questions.read(LENGTH_BYTES)) == LENGTH_BYTES:
            signal.setitimer(signal.ITIMER_PROF, processor_s)  # SIGPROF ends a process that does not expect it
            said = answer(questions.read(int.from_bytes(length, "little")))
            signal.setitimer(signal.ITIMER_PROF, 0)
            answers.write(len(said).to_bytes(LENGTH_BYTES, "little") + said)
            answers.flush()
            del said
    os._exit(0)  # a native library that fails while it is unloaded is nobody's concern


def begin(address_space_bytes: int, processor_s: int | None = None) -> int:
    """What every worker does first: its end and its bounds. The descriptor that its answers go to."""
    _end_with_parent()
    _set_bounds(address_space_bytes, processor_s)
    answers = os.dup(1)
    os.dup2(2, 1)  # libraries print to it
    return answers


def _end_with_parent() -> None:
    """The kernel kills this process when its server dies, also while it computes.

    If the server died before this was said, nobody holds the other end of descriptor 1.
    """
    if sys.platform != "linux":
        return
    import ctypes
    import select

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
    poll = select.poll()
    poll.register(1, 0)
    if any(events & select.POLLERR for _, events in poll.poll(0)):
        os._exit(1)


def _set_bounds(address_space_bytes: int, processor_s: int | None) -> None:
    """Address space of this process, and processor time of its whole life if given; files and core dumps none."""
    try:
        import resource
    except ImportError:  # Windows; the parent's clock is the only bound there
        return
    bounds = [(resource.RLIMIT_AS, address_space_bytes), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)]
    if processor_s is not None:
        bounds.append((resource.RLIMIT_CPU, processor_s))
    for limit, value in bounds:
        hard = resource.getrlimit(limit)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(limit, (value, value))
        except (OSError, ValueError):  # macOS knows RLIMIT_AS and refuses to set it
            continue
