"""Plan modes of this server: which are active, and what a command may do while one is.

The one place that is asked before every command. `active` and `of` are for any thread, the rest for the slow lane.
A mode belongs to an owner and a project. Those of servers that have ended are taken over by the next one.
"""

from __future__ import annotations

import _thread
import os
import stat
import time

from scorpio.limits import PLAN_ADOPT_S
from scorpio.settings import project_of
from scorpio.tool import ToolFailure
from tools.core import plan_record
from tools.core.free_commands import FreeCommands
from tools.core.sandboxing import Sandboxing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.sandbox import Backend, Confined, Policy
    from scorpio.settings import Settings
    from scorpio.state.home import Home
    from scorpio.tool import StateLink
    from tools.core.directory_watch import DirectoryWatch, Wanted
    from tools.core.plan_record import Held, Mode

URI = "scorpio://plan"

LOOKS_KEPT_MAX = 1024
"""Owners and directories remembered as looked at: more than sessions at once; forgotten, they are looked at again."""

HOW_IT_ENDS = "PlanMode ends it, with action exit (needs a plan) or reset."


class Plans:
    def __init__(self, home: Home, settings: Settings, link: StateLink | None) -> None:
        self.free = FreeCommands()
        self.sandboxing = Sandboxing(home, settings, link)
        self.settings = settings
        self._home = home
        self._link = link
        self._lock = _thread.allocate_lock()
        self._modes: list[Mode] = []
        self._held: dict[int, Held] = {}
        """By the id of its mode."""
        self._looked: dict[tuple[str, str], float] = {}
        """(owner, directory) -> when first looked for one on disk, by the monotonic clock."""
        self._backend: Backend | None = None
        self._leftovers: list[str] = []
        """Temporary directories of modes that have ended, which commands may still use."""
        self._watch: DirectoryWatch | None = None
        self._seen: tuple[object, ...] = ()

    # -- which are active

    def active(self, owner: str, directory: str) -> bool:
        """Whether this owner is in plan mode in the project of `directory`. Instant, from any thread."""
        return self.of(owner, directory) is not None

    def of(self, owner: str, directory: str) -> Mode | None:
        """The active mode. A system call or none where there is none."""
        if self._modes:
            place = os.path.realpath(directory)
            for mode in self._modes:
                if mode.owner == owner and _is_within(place, mode.project):
                    return mode
        first_s = self._looked.get((owner, directory))
        now_s = time.monotonic()
        if first_s is not None and now_s - first_s > PLAN_ADOPT_S:
            return None
        return self._adopt(owner, directory, first_s or now_s)

    def _adopt(self, owner: str, directory: str, first_s: float) -> Mode | None:
        """What a server that has ended left of this owner and project: now, and for a while after the first look."""
        with self._lock:
            if len(self._looked) >= LOOKS_KEPT_MAX:
                self._looked.clear()
            self._looked[owner, directory] = first_s
            if not os.path.isdir(self._home.path(plan_record.DIRECTORY)):
                return None
            project = project_of(directory)
            for mode in self._modes:  # the other lane was quicker
                if mode.owner == owner and mode.project == project:
                    return mode
            found = plan_record.adopt(self._home, owner, project)
            if found is None:
                return None
            mode, self._held[id(mode)] = found
            self._modes = [*self._modes, mode]  # never changed in place: other threads walk through it
        self._watch_plans()
        return mode

    # -- what a command may do

    async def confine(self, owner: str, command: str, *, cwd: str) -> Confined | None:
        """How a command is to be started now, by plan mode and `--sandbox`; None: as ever. Raises ToolFailure.

        Whoever starts it does so before he waits for anything: then none slips by that begins after `enter`.
        """
        await self.sandboxing.prepare()
        while self.settings.plan_mode_enforce == "strict" and (mode := self.of(owner, cwd)) is not None:
            if self._backend is not None or self.sandboxing.in_force:
                return self._confined(mode, command, cwd)
            await self.backend()
        if not self.sandboxing.in_force:
            return None
        return self.sandboxing.confined(command, cwd=cwd, plan=None, temporary="")

    def _confined(self, mode: Mode, command: str, cwd: str) -> Confined:
        from scorpio.readonly_commands import outward
        from scorpio.sandbox import SandboxRefusal

        named = outward(command)
        if named:
            raise ToolFailure(f"Plan mode is active, and {named} changes something elsewhere. {HOW_IT_ENDS}")
        temporary = self.temporary(mode)
        policy = self.policy(mode)
        try:
            if self.sandboxing.in_force:
                confined = self.sandboxing.confined(command, cwd=cwd, plan=policy, temporary=temporary)
            else:
                assert self._backend is not None
                confined = self._backend.confined(policy, command, cwd=cwd)
        except SandboxRefusal as refusal:
            raise ToolFailure(f"Plan mode is active. {refusal} {HOW_IT_ENDS}") from None
        names = ("TMPDIR", "TMP", "TEMP")
        confined.planned = True
        cache = os.path.join(temporary, ".cache")  # what builds keep at home cannot be written
        confined.variables |= dict.fromkeys(names, temporary) | {"XDG_CACHE_HOME": cache, "GIT_OPTIONAL_LOCKS": "0"}
        return confined

    def policy(self, mode: Mode) -> Policy:
        from scorpio.sandbox import Policy

        return Policy((*mode.writable, self.temporary(mode)), network=self.settings.plan_mode_network)

    async def backend(self) -> Backend:
        """The sandbox that works here, found once."""
        from scorpio import sandbox

        if self._backend is None:
            self._backend = await sandbox.find(
                self.settings.sandbox_backend, namespaces=self.settings.sandbox_namespaces
            )
        return self._backend

    def temporary(self, mode: Mode) -> str:
        """The private directory of its commands; made, and made anew when somebody cleaned up. Raises ToolFailure."""
        import tempfile

        if mode.temporary and _is_own_directory(mode.temporary):
            return mode.temporary
        try:
            mode.temporary = os.path.realpath(tempfile.mkdtemp(prefix="scorpio-plan-"))
        except OSError as error:
            raise ToolFailure(
                f"Plan mode needs a temporary directory: {error.strerror}. Set TMPDIR to a directory that is writable."
            ) from None
        return mode.temporary

    def note(self, owner: str, cwd: str, command: str, *, failed: bool) -> str:
        """The line about plan mode below a command's output; empty where none is needed."""
        if self.settings.plan_mode_enforce == "off" or (mode := self.of(owner, cwd)) is None:
            return ""
        if self.settings.plan_mode_enforce == "advisory":
            from scorpio.readonly_commands import refusal

            if not refusal(command):
                return ""
            return f"[plan mode is active, and nothing is enforced: change nothing but the plan. {HOW_IT_ENDS}]"
        if not failed:
            return ""
        places = " and ".join(self.policy(mode).writable)
        network = "" if self.settings.plan_mode_network else ", no network"
        return f"[plan mode is active: nothing can be written but in {places}{network}. {HOW_IT_ENDS}]"

    # -- beginning and ending

    def begin(self, mode: Mode) -> None:
        """From now on; whatever begins later is confined."""
        with self._lock:
            self._modes = [*self._modes, mode]

    def keep(self, mode: Mode) -> None:
        """Write it down for the next server. Blocks. Raises OSError."""
        self._held[id(mode)] = plan_record.write(self._home, mode, self._held.get(id(mode)))

    def end(self, mode: Mode) -> None:
        """Raises OSError: then it is still active, as the next server would find it."""
        held = self._held.get(id(mode))
        if held is not None:
            held.remove()
        with self._lock:
            self._held.pop(id(mode), None)
            self._modes = [each for each in self._modes if each is not mode]
        self.discard(mode)

    def discard(self, mode: Mode) -> None:
        """What it leaves goes with `remove_leftovers`, but for a plan that is in there."""
        if mode.temporary and not _is_within(mode.plan_file or "", mode.temporary):
            self._leftovers.append(mode.temporary)

    def remove_leftovers(self) -> None:
        """The temporary directories that no command uses any more. Blocks."""
        import shutil

        leftovers, self._leftovers = self._leftovers, []
        for path in dict.fromkeys(leftovers):
            shutil.rmtree(path, ignore_errors=True)

    def close(self) -> None:
        """Every command has ended; what is active may be taken over."""
        if self._watch is not None:
            self._watch.close()
        if self._leftovers:
            self.remove_leftovers()
        for mode in self._modes:
            _remove_empty(mode.temporary)
        for held in self._held.values():
            held.close()
        self._held.clear()

    # -- who reads the plan

    def changed(self, mode: Mode) -> None:
        """The mode or its plan is another: tell who reads it as a resource."""
        if self._link is not None:
            self._link.changed_resource(URI, mode.owner)
            self._watch_plans()

    def _watch_plans(self) -> None:
        if self._watch is not None:
            self._watch.wake()
        elif self._link is not None and any(mode.plan_file for mode in self._modes):
            from tools.core.directory_watch import DirectoryWatch

            self._seen = self._contents()
            self._watch = DirectoryWatch(self._watched, self._look)
            self._watch.start()

    def _watched(self) -> Wanted:
        wanted: Wanted = {}
        for path in [mode.plan_file for mode in self._modes if mode.plan_file]:
            directory, name = os.path.split(path)
            others = wanted.get(directory) or frozenset()
            wanted[directory] = others | {name}
        return wanted

    def _look(self) -> None:
        """In the thread of the watch."""
        before, self._seen = self._seen, self._contents()
        if before != self._seen and self._link is not None:
            for owner in {mode.owner for mode in self._modes}:
                self._link.changed_resource(URI, owner)

    def _contents(self) -> tuple[object, ...]:
        return tuple(_signature(mode.plan_file) for mode in self._modes if mode.plan_file)


def _signature(path: str) -> tuple[object, ...]:
    try:
        state = os.lstat(path)
        return path, state.st_ino, state.st_size, state.st_mtime_ns
    except OSError:
        return (path,)


def _remove_empty(directory: str) -> None:
    try:
        os.rmdir(directory)
    except OSError:
        pass  # notes for the next server, or none was made


def _is_own_directory(path: str) -> bool:
    try:
        state = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o022


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
