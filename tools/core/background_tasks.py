"""Commands and the tasks they become: started, watched, ended, and handed over between servers.

Bash and BackgroundBash are one path: a command with a log in a file. It is a task from the start, or from the moment
its shell has ended and something of it still runs. Says nothing to a model but in ToolFailure; renders no output.
"""

from __future__ import annotations

import _thread
import errno
import os
import time

from scorpio.limits import GRACE_CANCEL_MS, GRACE_TIMEOUT_MS, KILL_STUCK_MS, TASK_START_WAIT_MS, TASKS_RUNNING_MAX
from scorpio.process_table import process_start, survivors_of
from scorpio.state.home import Home
from scorpio.tool import ToolFailure
from tools.core.background_files import BackgroundFiles
from tools.core.background_record import (
    LOG,
    OVER_OUTPUT,
    STATUS,
    Record,
    end_of,
    end_of_lost,
    modified_s,
    remove_directory,
    write_record,
)
from tools.core.background_task import Log, Task
from tools.core.command_slots import CommandSlots

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine, Mapping
    from typing import Any

    from scorpio.process import Command
    from scorpio.settings import Settings
    from tools.core.background_files import Adopted
    from tools.core.background_news import BackgroundNews
    from tools.core.plans import Plans

STDIO_OWNER = "stdio"
"""Owner of the calls of a server on stdio; it takes over what dead servers left. See scorpio/transports/stdio.py."""

SERVER_END_S = 2.0
"""What the end of a server takes at most, and so the time from the first command's end to its own."""

ADOPT_EVERY_S = 1.0
"""How often a list of tasks looks for those of dead servers: a look is a directory read, half of what a list costs."""
CLEAN_EVERY_S, IDS_TOLD_MAX = 600.0, 20
NO_DESCRIPTORS_ERRORS = (errno.EMFILE, errno.ENFILE)


class BackgroundTasks:
    """The commands of one server, and the tasks it took over.

    Belongs to one event loop; `visible` and `find` to any thread.
    """

    def __init__(self, home: Home, settings: Settings, plans: Plans, news: BackgroundNews | None = None) -> None:
        self.slots = CommandSlots()
        self._plans = plans
        self.news = news
        """None where there is no client to tell."""
        self._settings = settings
        self._files = BackgroundFiles(home)
        self._spare_files: BackgroundFiles | None = None
        self._tasks: dict[int, Task] = {}
        self._adopting = _thread.allocate_lock()
        self._adopted_s = -ADOPT_EVERY_S
        self._jobs: set[asyncio.Future[Any]] = set()
        self._cleaned_s = -CLEAN_EVERY_S

    # -- what an owner sees

    def visible(self, owner: str) -> list[Task]:
        """The owner's tasks by id, those of dead servers among them a second after the death. Instant."""
        if time.monotonic() - self._adopted_s >= ADOPT_EVERY_S:
            self._adopt(owner)
        tasks = [task for _, task in sorted(self._tasks.items()) if task.record.owner == owner]
        for task in tasks:
            self.look_after(task)
            if task.end is not None and modified_s(task.log_path) is None:
                self._tasks.pop(task.id, None)  # removed after its days, by whichever server cleaned
        return [task for task in tasks if task.id in self._tasks]

    def find(self, task_id: int, owner: str) -> Task:
        """Instant. Raises ToolFailure for an unknown id; another owner's task is one."""
        if task_id not in self._tasks:
            self._adopt(owner)
        task = self._tasks.get(task_id)
        if task is not None and task.record.owner == owner:
            self.look_after(task)
            return task
        ids = [str(task.id) for task in self.visible(owner)]
        if not ids:
            raise ToolFailure(f"No background task {task_id}: there are none. BackgroundBash starts one.")
        more = f" and {len(ids) - IDS_TOLD_MAX} older ones" if len(ids) > IDS_TOLD_MAX else ""
        raise ToolFailure(f"No background task {task_id}. The ids are {', '.join(ids[-IDS_TOLD_MAX:])}{more}.")

    def _adopt(self, owner: str) -> None:
        if owner != STDIO_OWNER:
            return  # to whom of many HTTP clients a dead server's tasks would belong, nobody can say
        with self._adopting:
            self._adopted_s = time.monotonic()
            for found in self._files.adopt():
                task = self._tasks.setdefault(found.task_id, _adopted_task(found, owner))
                if self.news is not None:
                    self.news.adopted(task, end_is_new=found.end_is_new)

    def look_after(self, task: Task) -> None:
        """See whether an adopted task has ended: it is no child of this process."""
        if task.end is None and task.command is None and not task.record.is_running_alone():
            task.finish(end_of_lost(task.directory, survived=True))
            task.keep_end()
            self._announce_end(task)

    # -- starting

    def open_log(self) -> Log:
        """For one Bash call; in a private temporary directory where the state cannot be written. Raises ToolFailure."""
        try:
            return Log(self._files)
        except OSError as error:
            if error.errno in NO_DESCRIPTORS_ERRORS:
                raise ToolFailure(_sentence(error)) from None
            try:
                return Log(self._spare())
            except OSError as second:
                raise ToolFailure(
                    f"The output of a command cannot be stored. {_sentence(error)} "
                    f"The temporary directory neither: {_sentence(second)} Make room or set TMPDIR."
                ) from None

    def _spare(self) -> BackgroundFiles:
        if self._spare_files is None:
            import tempfile

            self._spare_files = BackgroundFiles(Home(tempfile.mkdtemp(prefix="scorpio-")))
        return self._spare_files

    async def spawn(
        self,
        command: str,
        *,
        cwd: str,
        owner: str,
        log_path: str,
        status_path: str = "",
        survive: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> Command:
        """As sandbox and plan mode let it. `variables` are added to its environment. Raises ToolFailure."""
        from scorpio import process

        environment = process.command_environment(os.environ)
        path = await process.login_path(environment)
        if path:
            environment["PATH"] = path
        environment.update(variables or {})
        confined = await self._plans.confine(owner, command, cwd=cwd)
        free = None
        if confined is None or not confined.planned:  # nothing is waited for from here to the hand-over
            free = self._plans.free.begin(owner, command)
        started = None
        try:
            started = await process.spawn(
                command,
                cwd=cwd,
                env=confined.environment(environment) if confined else environment,
                log_path=log_path,
                output_bytes_max=self._settings.bash_max_output_bytes,
                status_path=status_path or None,
                survive=survive,
                prefix=confined.prefix if confined else (),
                confinement=confined.confinement if confined else (),
                scratch_path=confined.scratch_path if confined else "",
            )
        except process.SpawnFailure as failure:
            raise ToolFailure(str(failure)) from None
        finally:
            if free:
                free.settle(started)
        return started

    async def start(self, command: str, *, cwd: str, owner: str) -> Task:
        """Start a task; returns when it has ended or run for TASK_START_WAIT_MS. Raises ToolFailure."""
        import asyncio

        running = sum(task.end is None for task in self.visible(owner))
        if running >= TASKS_RUNNING_MAX:
            raise ToolFailure(
                f"{running} background tasks are running, the most there may be. "
                "End one with KillBgTask (ListBgTasks shows them), then start this again."
            )
        self.slots.take_for_task()
        try:
            task = await self._start(command, cwd, owner)
        except BaseException:
            self.slots.free_task()
            raise
        assert task.command is not None
        task.end_told = True  # by the answer to this call, should it be so soon
        self._watch(task, task.command)
        try:
            await asyncio.wait_for(task.command.wait_gone(), TASK_START_WAIT_MS / 1000)
        except TimeoutError:
            task.end_told = task.end is not None
        except asyncio.CancelledError:  # nobody will hear its id
            task.killed = True
            task.command.ask_to_terminate(GRACE_CANCEL_MS)
            raise
        else:
            self._ended(task, task.command)
        task.keep_end()  # where there is one, the answer says it
        self.clean_soon()
        return task

    async def _start(self, command: str, cwd: str, owner: str) -> Task:
        record = Record(command, cwd, owner, time.time(), survive=self._settings.bg_survive)
        try:
            task_id, directory = self._create(self._files)
            write_record(directory, record)
        except OSError as error:
            raise ToolFailure(f"The background task was not started: {_sentence(error)}") from None
        try:
            running = await self.spawn(
                command,
                cwd=cwd,
                owner=owner,
                log_path=os.path.join(directory, LOG),
                status_path=os.path.join(directory, STATUS),
                survive=record.survive,
            )
        except BaseException:
            remove_directory(directory, itself=False)  # else the next server takes over what never ran
            raise
        return self._known(task_id, directory, record, running)

    def keep(self, command: Command, log: Log, *, text: str, cwd: str, owner: str, started_unix_s: float) -> Task:
        """What is left of a Bash call, as a task that ends with the server. Raises OSError."""
        task_id, directory = self._create(log.files)
        path = os.path.join(directory, LOG)
        os.rename(log.path, path)
        log.path = path
        self.slots.becomes_task()
        task = self._known(task_id, directory, Record(text, cwd, owner, started_unix_s), command)
        self._watch(task, command)
        return task

    def _create(self, files: BackgroundFiles) -> tuple[int, str]:
        """An id that is free in memory too: the spare directory counts for itself. Raises OSError."""
        while True:
            task_id, directory = files.create()
            if task_id not in self._tasks:
                return task_id, directory

    def _known(self, task_id: int, directory: str, record: Record, command: Command) -> Task:
        record.runs_at(command.pid, command.supervisor_pid)
        try:
            write_record(directory, record)
        except OSError:
            pass  # the disk is full since: the task runs, and only a later server will not know it
        task = Task(task_id, directory, record, command)
        self._tasks[task_id] = task
        if self.news is not None:
            self.news.started(task)
        return task

    # -- ending

    def _watch(self, task: Task, command: Command) -> None:
        import asyncio

        async def until_gone() -> None:
            await command.wait_gone()
            self._ended(task, command)
            self.slots.free_task()
            if not task.killed:
                await asyncio.sleep(SERVER_END_S)  # or it ended because this server does: then `status` tells the next
            task.keep_end()

        self._run(until_gone())

    def _ended(self, task: Task, command: Command) -> None:
        self._plans.sandboxing.changed(task.record.cwd)
        if task.end is None:
            code, signal = (command.exit.code, command.exit.signal) if command.exit else (None, None)
            reason = command.exit.reason if command.exit else ""
            task.finish(end_of(code, signal, OVER_OUTPUT if command.output_ended else reason, time.time()))
            if not command.ends_with_server:  # else the next server tells
                self._announce_end(task)

    def _announce_end(self, task: Task) -> None:
        if self.news is not None:
            self.news.ended(task)

    def tell_end(self, task: Task) -> None:
        """The call that was to say how the task ends does not: it is told as any other."""
        task.end_told = False
        if task.end is not None:
            self._announce_end(task)

    async def kill(self, task: Task) -> tuple[int, bool]:
        """End a running task and all that it started: (how many processes were told, whether none is left).

        Goes on when the call that asked for it is cancelled.
        """
        import asyncio

        task.killed = True
        killing = asyncio.ensure_future(self._kill_own(task) if task.command else self._kill_adopted(task))
        self._hold(killing)
        return await asyncio.shield(killing), task.end is not None

    def forget(self, owner: str) -> None:
        """Nobody can come as `owner` again: what runs for it ends, unless it is to survive. In the event loop."""
        for task in [task for task in self._tasks.values() if task.record.owner == owner]:
            if task.end is None and not task.record.survive:
                self._run(self._kill_forgotten(task))

    async def _kill_forgotten(self, task: Task) -> None:
        await self.kill(task)

    async def _kill_own(self, task: Task) -> int:
        assert task.command is not None
        count = await task.command.terminate(GRACE_TIMEOUT_MS)
        if task.command.gone:
            self._ended(task, task.command)
        return count

    async def _kill_adopted(self, task: Task) -> int:
        """Its supervisor does it, told by a signal that cannot hit another process that has its number now."""
        import asyncio
        import select
        import signal

        record = task.record
        try:
            supervisor = os.pidfd_open(record.supervisor_pid)
        except OSError:
            self.look_after(task)
            return 0
        try:
            count = len(survivors_of(record.supervisor_pid))
            if process_start(record.supervisor_pid) == record.supervisor_start:
                signal.pidfd_send_signal(supervisor, signal.SIGTERM)
                ended = select.poll()
                ended.register(supervisor, select.POLLIN)
                await asyncio.to_thread(ended.poll, GRACE_TIMEOUT_MS + 2 * KILL_STUCK_MS)
        finally:
            os.close(supervisor)
        self.look_after(task)
        return count

    # -- beside the calls

    def clean_soon(self) -> None:
        """Remove what is past its days, in a thread, now and then. To be called where something new is kept."""
        import asyncio

        now_s = time.monotonic()
        if now_s - self._cleaned_s >= CLEAN_EVERY_S:
            self._cleaned_s = now_s
            self._run(asyncio.to_thread(self._files.clean))

    def _run(self, work: Coroutine[None, None, None]) -> None:
        import asyncio

        self._hold(asyncio.ensure_future(work))

    def _hold(self, job: asyncio.Future[Any]) -> None:
        """The loop itself keeps no job alive."""
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)

    def close(self) -> None:
        """Let go of what others may take over from now on. The commands have ended, or survive."""
        self._files.close()
        if self._spare_files is not None:
            self._spare_files.close()
            self._spare_files.remove()


def _adopted_task(found: Adopted, owner: str) -> Task:
    task = Task(found.task_id, found.directory, found.record, None)
    task.record.owner = owner
    task.end = found.end
    task.cursor = found.cursor
    return task


def _sentence(error: OSError) -> str:
    if error.errno in NO_DESCRIPTORS_ERRORS:
        return "There are no file descriptors left; try again when other commands or connections have ended."
    text = error.strerror or str(error)
    return (f"{error.filename}: {text}" if error.filename else text).rstrip(".") + "."
