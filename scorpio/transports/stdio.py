"""MCP on stdin and stdout: read, receive, write; and every way such a server ends.

The main thread reads, blocking: a round trip costs a read and a write. A second thread only waits: for signals, for
the client's death, for a closed stdout. Parses nothing and knows no method.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` pulls enum: 4 ms of a cold start
import _thread
import os
import select
import sys
import time

from scorpio.limits import (
    CLOSE_MS_MAX,
    DRAIN_MS_MAX,
    END_MS_MAX,
    FLUSH_MS_MAX,
    GRACE_END_MS,
    QUEUED_BYTES_MAX,
    READ_BYTES,
    STALL_MS_MAX,
    START_AFTER_MS,
)
from scorpio.protocol.framing import LineFramer
from scorpio.server.peer import Peer
from scorpio.transports.wire_guard import StrayText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable
    from typing import Any

    from scorpio.server.server import Server
    from scorpio.transports.wire_guard import Wire

OWNER = "stdio"
SWITCH_INTERVAL_S = 0.0005
"""5 ms by default: a busy slow lane delayed a ping by 5.4 ms; with this by 0.7 ms."""

JOINED_BYTES_MAX = 64 * 1024
"""Answers of one read that are joined in one write; a pipe takes no more at once."""


class Output:
    """Lines to the client, in order, from any thread, never blocking.

    What does not fit now is queued and written by a thread that lives as long as the queue, or by whoever waits.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._lock = _thread.allocate_lock()
        self._queue: list[memoryview | bytearray] = []
        self._flushing = False
        self.queued_bytes = 0
        self.taken_bytes = 0
        """By the client, of all that was written: grows as long as it reads."""
        self.broken = False

    def write(self, data: bytes) -> None:
        with self._lock:
            if self.broken:
                return
            if self._queue:
                self._append(data)
                return
            written = 0
            try:
                written = self._wire.write(data)  # the common case: one write takes all
            except OSError:  # full or closed: `_write_some` finds out which
                pass
            self.taken_bytes += written
            if written == len(data):
                return
            written += self._write_some(memoryview(data)[written:])
            if written < len(data) and not self.broken:
                self._append(memoryview(data)[written:])
                if not self._flushing:
                    self._flushing = True
                    _thread.start_new_thread(self._flush, ())

    def offer(self, data: bytes) -> bool:
        """Write, unless the client does not read: False."""
        if self.queued_bytes >= QUEUED_BYTES_MAX:
            return False
        self.write(data)
        return True

    def wait_below(self, bound_bytes: int, end_s: float | None = None, stall_s: float = 0.0) -> bool:
        """Wait until less than `bound_bytes` is queued or the client is gone; False when that takes too long.

        Too long: past `end_s` (monotonic) and nothing was taken for `stall_s`. `end_s` None: when the client has
        closed its end of stdin and took nothing for STALL_MS_MAX.
        """
        poll = select.poll()
        poll.register(self._wire.write_fd, select.POLLOUT)
        if end_s is None:
            poll.register(self._wire.read_fd, 0)  # POLLHUP, also while there is input that was not read
        taken = self.taken_bytes
        while self.queued_bytes >= bound_bytes and not self.broken:
            if taken != self.taken_bytes and end_s is not None:
                taken, end_s = self.taken_bytes, max(end_s, time.monotonic() + stall_s)
            left_ms = None if end_s is None else (end_s - time.monotonic()) * 1000
            if left_ms is not None and left_ms <= 0:
                return False
            events = poll.poll(left_ms)
            if end_s is None and any(descriptor == self._wire.read_fd for descriptor, _ in events):
                poll.unregister(self._wire.read_fd)
                stall_s = STALL_MS_MAX / 1000
                end_s = time.monotonic() + stall_s
            self._write_queued()
        return True

    def _append(self, data: bytes | memoryview) -> None:
        """Short lines share a buffer: 8 MiB of pings would cost 57 MB as objects."""
        last = self._queue[-1] if self._queue else None
        if isinstance(last, bytearray) and len(last) < JOINED_BYTES_MAX:
            last += data
        elif len(data) < JOINED_BYTES_MAX:
            self._queue.append(bytearray(data))
        else:
            self._queue.append(memoryview(data))
        self.queued_bytes += len(data)

    def _flush(self) -> None:
        poll = select.poll()
        poll.register(self._wire.write_fd, select.POLLOUT)
        while True:
            poll.poll()
            self._write_queued()
            with self._lock:
                if not self._queue or self.broken:
                    self._flushing = False
                    return

    def _write_queued(self) -> None:
        with self._lock:
            while self._queue:
                first = self._queue[0]
                written = self._write_some(first)
                if self.broken:  # and the queue empty
                    return
                self.queued_bytes -= written
                if written < len(first):
                    self._queue[0] = first[written:]
                    return
                self._queue.pop(0)

    def _write_some(self, data: bytes | bytearray | memoryview) -> int:
        """Bytes taken now. Called with the lock held."""
        total = 0
        while total < len(data):
            try:
                total += self._wire.write(memoryview(data)[total:] if total else data)
            except BlockingIOError:
                break
            except OSError:  # EPIPE and its kin: the client closed its end
                self.broken = True
                self.queued_bytes = 0
                self._queue.clear()
                break
        self.taken_bytes += total
        return total


class StdioServer:
    """One client on stdin and stdout, from the first byte to the end of the process."""

    def __init__(self, server: Server, wire: Wire) -> None:
        self._server = server
        self._wire = wire
        self._output = Output(wire)
        self._peer = Peer(self._output.write, OWNER, self._output.offer, local=True)
        self._ending = _thread.allocate_lock()
        server.open_peer(self._peer)

    def serve(self) -> None:
        """Until the end; does not return. The process exits with status 0."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        wakeup_fd = _catch_signals()
        _thread.start_new_thread(self._watch, (wakeup_fd, Parent()))
        stalled = True
        try:
            framer = LineFramer()
            if self._read_first(framer):
                self._read_on(framer)
            stalled = self._output.queued_bytes >= QUEUED_BYTES_MAX
            if not stalled:
                self._receive_rest(framer.rest())
        except Exception as bug:  # noqa: BLE001 else the interpreter would wait for its threads, for ever
            self._server.internal_error(bug)
        finally:
            self.end(drain=not self._peer.ended and not stalled, patient=not stalled)

    def _read_first(self, framer: LineFramer) -> bool:
        """Answer the first message, then import what that did not need; False when the input ended before it."""
        frames: list[bytes] = []
        if self._server.features.starting and not self._has_input(START_AFTER_MS):
            self._server.start_toolsets()
        while not frames:
            chunk = self._wire.read(READ_BYTES)
            if not chunk:
                return False
            frames = framer.feed(chunk)
        self._receive_many(frames[:1])
        self._server.warm()
        self._receive_many(frames[1:])
        return True

    def _has_input(self, wait_ms: int) -> bool:
        poll = select.poll()
        poll.register(self._wire.read_fd, select.POLLIN)
        return bool(poll.poll(wait_ms))

    def _read_on(self, framer: LineFramer) -> None:
        """Until the end of input, or until nobody is left who reads the answers."""
        peer, output, read, receive = self._peer, self._output, self._wire.read, self._server.receive
        while not peer.ended and not output.broken:
            if output.queued_bytes >= QUEUED_BYTES_MAX and not output.wait_below(QUEUED_BYTES_MAX):
                return
            chunk = read(READ_BYTES)
            if not chunk:
                return
            frames = framer.feed(chunk)
            if len(frames) == 1:
                answer = receive(frames[0], peer)
                if answer is not None:
                    output.write(answer)
            elif frames:
                self._receive_many(frames)

    def _receive_many(self, frames: list[bytes]) -> None:
        """The answers of one read leave in one write: 387 k instead of 183 k calls a second."""
        answers: list[bytes] = []
        answers_bytes = 0
        output = self._output
        for frame in frames:
            if self._peer.ended:
                break
            answer = self._server.receive(frame, self._peer)
            if answer is None:
                continue
            answers.append(answer)
            answers_bytes += len(answer)
            if answers_bytes >= JOINED_BYTES_MAX:
                output.write(b"".join(answers))
                answers, answers_bytes = [], 0
                if output.queued_bytes >= QUEUED_BYTES_MAX and not output.wait_below(QUEUED_BYTES_MAX):
                    return
        if answers:
            output.write(b"".join(answers))

    def _receive_rest(self, rest: bytes) -> None:
        """A last message without its newline is served if it is whole; half a line is dropped."""
        if not rest or self._output.broken:
            return
        from scorpio.protocol import strict_json

        try:
            strict_json.loads(rest)
        except ValueError:
            return
        self._receive_many([rest])

    def end(self, *, drain: bool, patient: bool = True) -> None:
        """Finish calls (`drain`), end commands, let the client read the rest, close state, exit 0.

        `patient`: as long as the client reads, however slowly. Returns never. Whoever comes second gives the first
        END_MS_MAX: a signal ends a server that is patient with its client.
        """
        if not self._ending.acquire(blocking=False):
            time.sleep(END_MS_MAX / 1000)
            os._exit(0)
        try:
            self._end(drain, patient)
        except Exception as bug:  # noqa: BLE001 the end comes all the same
            self._server.internal_error(bug)
        finally:
            os._exit(0)

    def _end(self, drain: bool, patient: bool) -> None:
        started_s = time.monotonic()
        peer = self._peer
        ended = _thread.allocate_lock()
        ended.acquire()
        _beside(_exit_unless, ended, END_MS_MAX / 1000)
        if drain:
            self._drain()
        from scorpio.server.subscriptions import end_listens

        end_listens(self._server, peer)
        self._server.close_peer(peer)
        process = sys.modules.get("scorpio.process")
        if process is not None:
            process.end_all(GRACE_END_MS)
        ended.release()  # from here it may take as long as the client reads
        end_s = time.monotonic() + FLUSH_MS_MAX / 1000
        if patient:
            self._output.wait_below(1, max(end_s, started_s + STALL_MS_MAX / 1000), STALL_MS_MAX / 1000)
        else:
            self._output.wait_below(1, end_s)
        closed = _thread.allocate_lock()
        closed.acquire()
        _beside(_exit_unless, closed, CLOSE_MS_MAX / 1000)
        self._server.close()

    def _drain(self) -> None:
        """Let calls in progress finish, for a bounded time. Nobody is left to answer what they ask."""
        idle = _thread.allocate_lock()
        idle.acquire()
        self._peer.on_idle = lambda: idle.release() if idle.locked() else None
        self._peer.fail_questions()
        if self._peer.busy() and not self._output.broken:
            idle.acquire(timeout=DRAIN_MS_MAX / 1000)

    def _watch(self, wakeup_fd: int, parent: Parent) -> None:
        """Wait for what the reading thread cannot see: signals, the parent's death, a client that closed stdout."""
        poll = select.poll()
        poll.register(wakeup_fd, select.POLLIN)
        poll.register(self._wire.write_fd, 0)  # POLLERR: no reader is left
        if parent.pidfd >= 0:
            poll.register(parent.pidfd, select.POLLIN)
        while not poll.poll(parent.look_ms) and os.getppid() == parent.pid:
            pass
        self.end(drain=False, patient=False)


class Parent:
    """Who started this process, asked for before the client can know that it runs."""

    __slots__ = ("look_ms", "pid", "pidfd")

    def __init__(self) -> None:
        self.pid = os.getppid()
        self.pidfd = -1
        self.look_ms: int | None = None
        """How often to look for another parent, where the kernel does not tell."""
        try:
            self.pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            if self.pid:  # 0: in another namespace, and never seen to change
                self.look_ms = 1000


def _exit_unless(done: LockType, seconds: float) -> None:
    """The end comes whatever hangs: a toolset's state, a disk, a lock that somebody holds."""
    if not done.acquire(timeout=seconds):
        os._exit(0)


def _beside(function: Callable[..., None], *arguments: Any) -> None:
    """In a thread of its own; not at all where none can be started, and nothing may depend on it then."""
    try:
        _thread.start_new_thread(function, arguments)
    except RuntimeError:
        pass


def _catch_signals() -> int:
    """TERM, INT and HUP arrive as bytes on the returned descriptor: no signal is lost between check and read."""
    read_fd, write_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    _signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP):
        _signal.signal(number, _noticed)
    return read_fd


def _noticed(number: int, frame: object) -> None:
    """The byte on the wake-up descriptor says it all."""


def serve(server: Server, wire: Wire) -> None:
    """Serve the client at the other end of `wire`; does not return."""
    sys.stdout = sys.stderr = StrayText(server.log)
    StdioServer(server, wire).serve()
