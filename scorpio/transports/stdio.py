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

from scorpio.limits import DRAIN_MS_MAX, GRACE_END_MS, QUEUED_BYTES_MAX, READ_BYTES
from scorpio.protocol.framing import LineFramer
from scorpio.server.peer import Peer
from scorpio.transports.wire_guard import claim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.server.server import Server
    from scorpio.transports.wire_guard import Wire

OWNER = "stdio"
SWITCH_INTERVAL_S = 0.0005
"""5 ms by default: a busy slow lane delayed a ping by 5.4 ms; with this by 0.7 ms."""

PIPE_BUF = 4096
"""What a pipe that polls writable takes without blocking. Source: pipe(7)."""

FLUSH_WAIT_S = 0.3
"""At the end, how long a client that does not read is waited for."""


class Output:
    """Lines to the client, in order, from any thread, never blocking while the wire allows it.

    What does not fit now is queued; whoever can waits for the client: the reading thread in `wait_below`, else a
    thread of its own that lives as long as the queue.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._lock = _thread.allocate_lock()
        self._queue: list[memoryview] = []
        self._flushing = False
        self.queued_bytes = 0
        self.broken = False

    def write(self, data: bytes) -> None:
        with self._lock:
            if self.broken:
                return
            if self._queue:
                self._queue.append(memoryview(data))
                self.queued_bytes += len(data)
                return
            written = self._write_some(data)
            if written < len(data) and not self.broken:
                self._queue.append(memoryview(data)[written:])
                self.queued_bytes += len(data) - written
                if not self._flushing:
                    self._flushing = True
                    _thread.start_new_thread(self._flush, ())

    def wait_below(self, bound_bytes: int, timeout_s: float | None = None) -> bool:
        """Wait until less than `bound_bytes` is queued or the client is gone; False when the time is up first."""
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        while self.queued_bytes >= bound_bytes and not self.broken:
            if end_s is not None and time.monotonic() >= end_s:
                return False
            self._await_writable(50)
            with self._lock:
                self._write_queued()
        return True

    def _flush(self) -> None:
        while True:
            self._await_writable(1000)
            with self._lock:
                self._write_queued()
                if not self._queue or self.broken:
                    self._flushing = False
                    return

    def _await_writable(self, timeout_ms: int) -> None:
        poll = select.poll()
        poll.register(self._wire.write_fd, select.POLLOUT)
        poll.poll(timeout_ms)

    def _write_queued(self) -> None:
        while self._queue and not self.broken:
            first = self._queue[0]
            written = self._write_some(first)
            self.queued_bytes -= written
            if written < len(first):
                self._queue[0] = first[written:]
                return
            self._queue.pop(0)

    def _write_some(self, data: bytes | memoryview) -> int:
        """Bytes taken now; all of them where only a blocking write is possible. Called with the lock held."""
        total = 0
        while total < len(data):
            try:
                rest = data[total:] if total else data
                if self._wire.blocking and len(rest) > PIPE_BUF:
                    rest = rest[:PIPE_BUF]
                total += self._wire.write(rest)
            except BlockingIOError:
                break
            except OSError:  # EPIPE and its kin: the client closed its end
                self.broken = True
                self.queued_bytes = 0
                self._queue.clear()
                break
        return total


class StdioServer:
    """One client on stdin and stdout, from the first byte to the end of the process."""

    def __init__(self, server: Server, wire: Wire) -> None:
        self._server = server
        self._wire = wire
        self._output = Output(wire)
        self._peer = Peer(self._output.write, OWNER)
        self._ending = _thread.allocate_lock()
        server.open_peer(self._peer)

    def serve(self) -> None:
        """Until the end; does not return. The process exits with status 0."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        wakeup_fd = _catch_signals()
        _thread.start_new_thread(self._watch, (wakeup_fd,))
        framer = LineFramer()
        self._read_first(framer)
        server, peer, output, read_fd = self._server, self._peer, self._output, self._wire.read_fd
        receive = server.receive
        while not peer.ended and not output.broken:
            if output.queued_bytes >= QUEUED_BYTES_MAX:
                output.wait_below(QUEUED_BYTES_MAX)
            chunk = _read(read_fd)
            if not chunk:
                break
            frames = framer.feed(chunk)
            if len(frames) == 1:
                answer = receive(frames[0], peer)
                if answer is not None:
                    output.write(answer)
            elif frames:
                self._receive_many(frames)
        rest = framer.rest()
        if rest and not peer.ended and not output.broken:
            self._receive_rest(rest)
        self.end(drain=not peer.ended)

    def _read_first(self, framer: LineFramer) -> None:
        """Answer the first message, then import what that did not need."""
        while not self._peer.ended:
            chunk = _read(self._wire.read_fd)
            if not chunk:
                self.end(drain=False)
            frames = framer.feed(chunk)
            if frames:
                answer = self._server.receive(frames[0], self._peer)
                if answer is not None:
                    self._output.write(answer)
                self._server.warm()
                self._receive_many(frames[1:])
                return

    def _receive_many(self, frames: list[bytes]) -> None:
        """The answers of one read leave in one write: 387 k instead of 183 k calls a second."""
        answers = []
        for frame in frames:
            if self._peer.ended:
                break
            answer = self._server.receive(frame, self._peer)
            if answer is not None:
                answers.append(answer)
        if answers:
            self._output.write(b"".join(answers))

    def _receive_rest(self, rest: bytes) -> None:
        """A last message without its newline is served if it is whole; half a line is dropped."""
        from scorpio.protocol import strict_json

        try:
            strict_json.loads(rest)
        except ValueError:
            return
        self._receive_many([rest])

    def end(self, *, drain: bool) -> None:
        """Finish calls (`drain`), end commands, close state, exit 0. The first caller does it; others wait."""
        if not self._ending.acquire(blocking=False):
            self._ending.acquire()  # for ever: the other thread ends the process
        peer = self._peer
        if drain:
            self._drain()
        from scorpio.server.subscriptions import end_listens

        end_listens(self._server, peer)
        self._output.wait_below(1, FLUSH_WAIT_S)
        self._server.close_peer(peer)
        process = sys.modules.get("scorpio.process")
        if process is not None:
            process.end_all(GRACE_END_MS)
        try:
            self._server.close()
        except Exception as bug:  # noqa: BLE001 the end comes all the same
            self._server.internal_error(bug)
        os._exit(0)

    def _drain(self) -> None:
        """Let calls in progress finish, for a bounded time. Nobody is left to answer what they ask."""
        idle = _thread.allocate_lock()
        idle.acquire()
        self._peer.on_idle = lambda: idle.release() if idle.locked() else None
        self._peer.fail_questions()
        if self._peer.running and not self._output.broken:
            idle.acquire(timeout=DRAIN_MS_MAX / 1000)

    def _watch(self, wakeup_fd: int) -> None:
        """Wait for what the reading thread cannot see: signals, the parent's death, a client that closed stdout."""
        poll = select.poll()
        poll.register(wakeup_fd, select.POLLIN)
        poll.register(self._wire.write_fd, 0)  # POLLERR: no reader is left
        parent = os.getppid()
        try:
            poll.register(os.pidfd_open(parent), select.POLLIN)
            timeout_ms = None
        except (AttributeError, OSError):
            timeout_ms = 1000
        while True:
            events = poll.poll(timeout_ms)
            if events or os.getppid() != parent:
                break
        self.end(drain=False)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, READ_BYTES)
    except OSError:  # the other end of a socket was reset, or a terminal went away
        return b""


def _catch_signals() -> int:
    """TERM, INT and HUP arrive as bytes on the returned descriptor: no signal is lost between check and read."""
    read_fd, write_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    _signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP):
        _signal.signal(number, _noticed)
    return read_fd


def _noticed(number: int, frame: object) -> None:
    """The byte on the wake-up descriptor says it all."""


def serve(server: Server) -> None:
    """Serve the client on fd 0 and 1; does not return."""
    StdioServer(server, claim()).serve()
