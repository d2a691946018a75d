"""Tasks: calls that outlive their request, what became of them, and how long that is kept.

Each belongs to an owner: on stdio the process, over HTTP the session or the principal. Runs no work and knows no wire:
`task_call` runs it, `task_methods` and `result_call` speak of it.
"""

from __future__ import annotations

import _thread
import os
import time

from scorpio.limits import CALL_TASK_RESULTS_BYTES_MAX, CALL_TASKS_MAX
from scorpio.protocol.errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import TimerHandle
    from collections.abc import Callable
    from typing import Any

    from scorpio.protocol.revisions import Revision
    from scorpio.server.task_call import TaskCall
    from scorpio.tool import ToolFailure

WORKING = "working"
INPUT_REQUIRED = "input_required"
COMPLETED = "completed"
FAILED = "failed"
CANCELLED = "cancelled"


class Task:
    """One task. Changes under `lock`, from the slow lane and from the thread that reads; an end is final."""

    __slots__ = (
        "_answered",
        "_asked_s",
        "_call",
        "_said",
        "_tell",
        "asker",
        "created_unix_s",
        "entry",
        "error",
        "fetched",
        "id",
        "lock",
        "number",
        "owner",
        "questions",
        "result",
        "revision",
        "status",
        "timer",
        "ttl_ms",
        "updated_unix_s",
        "waiting",
        "watchers",
    )

    def __init__(self, number: int, owner: str, call: TaskCall, ttl_ms: int, tell: Callable[[Task], None]) -> None:
        self.id = os.urandom(16).hex()
        """128 bits that nobody guesses: where the owner is everybody, the id alone keeps strangers out."""
        self.number = number
        """Grows from task to task of a server: where a page of the list goes on."""
        self.owner = owner
        self.entry = call.entry
        """The tool that was called."""
        self.revision = call.revision
        """What its result is written in; requests of another era do not see it."""
        self.ttl_ms = ttl_ms
        self.created_unix_s = self.updated_unix_s = time.time()
        self.status = WORKING
        self.questions: dict[str, tuple[str, dict[str, Any]]] = {}
        """key -> (method, params) of what the client has not answered yet."""
        self.asker: object = None
        """Core tasks: the call that puts the questions to the client now; one at a time does."""
        self.result: bytes | None = None
        """The encoded result of the call, once it is there."""
        self.error: ProtocolError | None = None
        self.fetched = False
        """The client was told how it ended, its result included."""
        self.timer: TimerHandle | None = None
        """Ends its life; cancelled when it is forgotten before, so that no timer is left of a task that is."""
        self.watchers: dict[object, Callable[[], object]] = {}
        """Called after each change, from any thread."""
        self.waiting = 0
        """Core tasks: how many `tasks/result` wait for its end."""
        self.lock = _thread.RLock()
        """May be taken again: a transport that cannot tell its client of a change may close it and its tasks there."""
        self._call: TaskCall | None = call
        self._tell = tell
        self._said = ""
        self._answered: Callable[[], None] | None = None
        self._asked_s = 0.0

    @property
    def ended(self) -> bool:
        return self.status not in (WORKING, INPUT_REQUIRED)

    @property
    def message(self) -> str:
        """What is happening, or how it ended, in a few words."""
        said = self._said or (self._call.said if self._call is not None else "")
        if self.status == INPUT_REQUIRED and not said:
            said = "Waiting for the answer to " + ", ".join(method for method, _ in tuple(self.questions.values()))
        return said

    # -- what the work does

    def touch(self) -> None:
        """The message has changed."""
        with self.lock:
            if not self.ended:
                self._changed(self.status)

    def ask(self, questions: dict[str, tuple[str, dict[str, Any]]], answered: Callable[[], None]) -> None:
        """Wait for the client; `answered` is called once nothing is left to answer."""
        with self.lock:
            if not self.ended:
                self.questions = dict(questions)
                self._answered = answered
                self._asked_s = time.monotonic()
                self._changed(INPUT_REQUIRED)

    def withdraw(self) -> None:
        """No answer is waited for any longer."""
        with self.lock:
            self._answered = None
            if self.questions and not self.ended:
                self.questions = {}
                self._changed(WORKING)

    def complete(self, result: bytes, status: str, message: str) -> None:
        self._end(status, message, result=result)

    def fail(self, error: ProtocolError) -> None:
        self._end(FAILED, error.message, error=error)

    # -- what the client does

    def answer(
        self,
        key: str,
        answer: dict[str, Any] | None,
        refusal: ToolFailure | None = None,
        waited_ms: float | None = None,
    ) -> None:
        """What the client said to one question; nothing where that question is not open."""
        with self.lock:
            call = self._call
            if call is None or self.questions.pop(key, None) is None:
                return
            if answer is not None:
                call.answers[key] = answer
            elif refusal is not None:
                call.refusals[key] = refusal
            if waited_ms is None:
                waited_ms = (time.monotonic() - self._asked_s) * 1000
            call.waited_ms[key] = waited_ms
            if not self.questions:
                answered, self._answered = self._answered, None
                self._changed(WORKING)
                if answered is not None:
                    answered()

    def cancel(self, message: str) -> bool:
        """Stop the work; False when it had ended before."""
        call = self._call
        error = ProtocolError(INVALID_PARAMS, f"Task {self.id} was cancelled and has no result.")
        if not self._end(CANCELLED, message, error=error):
            return False
        self.fetched = True
        if call is not None:
            call.stop()
        return True

    def expire(self) -> None:
        call = self._call
        message = f"Task {self.id} was not done within its time to live of {self.ttl_ms} ms."
        if self._end(FAILED, message, error=ProtocolError(INTERNAL_ERROR, message)) and call is not None:
            call.stop()

    def _end(self, status: str, message: str, result: bytes | None = None, error: ProtocolError | None = None) -> bool:
        with self.lock:
            if self.ended:
                return False
            self.result, self.error = result, error
            self._said = message
            self.questions = {}
            self._call = None  # and with it the arguments
            self._changed(status)
        return True

    def _changed(self, status: str) -> None:
        """With the lock held, so that the client hears of changes in their order."""
        self.status = status
        self.updated_unix_s = max(time.time(), self.updated_unix_s)  # a clock may be put back
        self.wake()
        self._tell(self)

    def wake(self) -> None:
        """Let those who watch look again."""
        for watcher in tuple(self.watchers.values()):
            watcher()


class Tasks:
    """All tasks of a server, by owner."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._of: dict[str, dict[str, Task]] = {}
        self._count = 0

    def add(self, owner: str, call: TaskCall, ttl_ms: int, tell: Callable[[Task], None]) -> Task | None:
        """A new task; None where `owner` has CALL_TASKS_MAX, and of none the client knows how it ended."""
        with self._lock:
            tasks = self._of.setdefault(owner, {})
            if len(tasks) >= CALL_TASKS_MAX:
                done = next((task for task in tasks.values() if task.ended and task.fetched), None)
                if done is None:
                    return None
                _forget(tasks, done)
            self._count += 1
            task = Task(self._count, owner, call, ttl_ms, tell)
            tasks[task.id] = task
            return task

    def find(self, owner: str, id_: str, revision: Revision) -> Task | None:
        """None for the id of another owner, of another era, of a task that is over and forgotten."""
        task = self._of.get(owner, {}).get(id_)
        return task if task is not None and task.revision is revision else None

    def after(self, owner: str, number: int, revision: Revision) -> list[Task]:
        """Those made after the task `number`, oldest first."""
        with self._lock:
            tasks = tuple(self._of.get(owner, {}).values())
        return [task for task in tasks if task.number > number and task.revision is revision]

    def busy(self, owner: str) -> bool:
        with self._lock:
            return any(not task.ended for task in self._of.get(owner, {}).values())

    def remove(self, task: Task) -> None:
        with self._lock:
            tasks = self._of.get(task.owner, {})
            _forget(tasks, task)
            if not tasks:
                self._of.pop(task.owner, None)

    def trim(self, newest: Task) -> None:
        """Forget results until the rest is within CALL_TASK_RESULTS_BYTES_MAX: fetched ones first, `newest` never."""
        with self._lock:
            tasks = self._of.get(newest.owner, {})
            sizes = {task: len(task.result) for task in tasks.values() if task.result is not None}
            total_bytes = sum(sizes.values())
            for task in sorted(sizes.keys() - {newest}, key=lambda task: (not task.fetched, task.number)):
                if total_bytes <= CALL_TASK_RESULTS_BYTES_MAX:
                    break
                total_bytes -= sizes[task]
                _forget(tasks, task)

    def expire(self, task: Task) -> None:
        """The time to live of a task is over."""
        task.expire()
        self.remove(task)

    def end_owner(self, owner: str) -> None:
        """The client is gone for good: its work is stopped, its results are forgotten."""
        with self._lock:
            tasks = self._of.pop(owner, {})
        for task in tuple(tasks.values()):
            _forget(tasks, task)
            task.cancel("The client has gone.")

    def end_all(self) -> None:
        for owner in tuple(self._of):
            self.end_owner(owner)


def _forget(tasks: dict[str, Task], task: Task) -> None:
    tasks.pop(task.id, None)
    if task.timer is not None:
        task.timer.cancel()
