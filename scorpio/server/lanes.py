"""Where slow calls run: a thread with an event loop (stdio), or the loop that is there already (HTTP).

Knows no protocol. asyncio is imported by the thread, at the first slow call and not before.
"""

from __future__ import annotations

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from typing import Any, Protocol

    Work = Callable[[], Coroutine[Any, Any, None]]
    Failed = Callable[[Exception], None]
    """Called instead of the work, from any thread, when it cannot be begun."""

    class Lane(Protocol):
        """Runs coroutines; both methods return at once and may be called from any thread."""

        def submit(self, work: Work, failed: Failed) -> Handle: ...

        def stop(self) -> None: ...


class Handle:
    """One submitted coroutine. `cancel` works before, while and after it runs."""

    __slots__ = ("_lane", "cancelled", "task")

    def __init__(self, lane: ThreadLane | LoopLane) -> None:
        self._lane = lane
        self.task: asyncio.Task[None] | None = None
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        self._lane.call_soon(self._cancel_task)

    def start(self, loop: asyncio.AbstractEventLoop, work: Work) -> None:
        if not self.cancelled:
            self.task = loop.create_task(work())

    def _cancel_task(self) -> None:
        if self.task is not None:
            self.task.cancel()


class ThreadLane:
    """One thread, one event loop, started at the first submit."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[tuple[Callable[[], None], Failed | None]] = []
        self._started = False
        self._running = _thread.allocate_lock()
        """Held by the thread while it runs."""

    def submit(self, work: Work, failed: Failed) -> Handle:
        """Raises RuntimeError where no thread can be started."""
        handle = Handle(self)
        self.call_soon(lambda: handle.start(self._running_loop(), work), failed)
        return handle

    def call_soon(self, function: Callable[[], None], failed: Failed | None = None) -> None:
        """Run `function` in the lane's thread; kept until the loop is up."""
        with self._lock:
            if self._loop is None:
                if not self._started:
                    _thread.start_new_thread(self._run, ())
                    self._started = True
                self._waiting.append((function, failed))
                return
            loop = self._loop
        loop.call_soon_threadsafe(function)

    def stop(self, timeout_s: float = 0.0) -> None:
        """Cancel what runs and end the loop; wait for the thread, but not longer than `timeout_s`."""
        with self._lock:
            self._waiting.clear()
            loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)
            if timeout_s and self._running.acquire(timeout=timeout_s):
                self._running.release()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        assert self._loop is not None
        return self._loop

    def _run(self) -> None:
        try:
            import asyncio

            loop = asyncio.new_event_loop()
        except (ImportError, OSError) as fault:  # no descriptors are left, or the program's own files are gone
            self._not_started(fault)
            return
        asyncio.set_event_loop(loop)
        with self._running:
            with self._lock:
                self._loop = loop
                waiting, self._waiting = self._waiting, []
            for function, _ in waiting:
                loop.call_soon(function)
            loop.run_forever()
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.close()

    def _not_started(self, fault: Exception) -> None:
        """Nothing that waits may wait for ever; the next call tries again."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            self._started = False
        for _, failed in waiting:
            if failed is not None:
                failed(fault)


class LoopLane:
    """The lane of a transport that is asyncio itself. Made in the thread of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = _thread.get_ident()

    def submit(self, work: Work, failed: Failed) -> Handle:
        handle = Handle(self)
        self.call_soon(lambda: handle.start(self._loop, work))
        return handle

    def call_soon(self, function: Callable[[], None]) -> None:
        if _thread.get_ident() == self._thread:
            self._loop.call_soon(function)
        else:
            self._loop.call_soon_threadsafe(function)

    def stop(self) -> None:
        """The loop belongs to the transport, which ends it."""
