"""The sandbox of every command of this server (`--sandbox`), with plan mode inside it where one is active.

Belongs to the slow lane. What a mode means stands in scorpio/command_sandbox.py.
"""

from __future__ import annotations

import os

from scorpio.tool import ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.sandbox import Backend, Confined, Policy
    from scorpio.settings import Settings
    from scorpio.state.home import Home
    from scorpio.tool import StateLink

LONG_COMMAND_CHARS = 16 * 1024
"""From here a command may go through a file, which the sandbox has to show it; bytes are at most four times as many."""

WHY_OFF = "No command may run: SANDBOX_REQUIRED is set, and SANDBOX is off. Set it to read-only or workspace."


class Sandboxing:
    def __init__(self, home: Home, settings: Settings, link: StateLink | None) -> None:
        self.mode = settings.sandbox
        self._settings = settings
        self._home = home
        self._link = link
        self._backend: Backend | None = None
        self._before: dict[str, dict[str, tuple[int, ...]]] = {}
        """By workspace: which of what other programs obey was there when the newest command began."""

    @property
    def in_force(self) -> bool:
        """After `prepare`."""
        return self._backend is not None and self._backend.by_kernel

    def rule(self) -> str:
        """The line for plan mode's rules, once a command has run or `prepare` was called."""
        if self._backend is None or not self._backend.by_kernel:
            return ""
        return f"The sandbox (--sandbox {self.mode}) holds as well, by {self._backend.describe()}."

    async def prepare(self) -> None:
        """Finds the sandbox that works here, once. Raises ToolFailure where there is none and there must be one."""
        if self.mode == "off":
            if self._settings.sandbox_required:
                raise ToolFailure(WHY_OFF)
            return
        if self._backend is None:
            from scorpio import sandbox

            found = await sandbox.find(
                self._settings.sandbox_backend, namespaces=self._settings.sandbox_namespaces, private=True
            )
            if not found.by_kernel and self._link is not None:
                self._link.warn(f"No sandbox works here: {_why(found)}. {self._consequence()}")
            self._backend = found
        if self._settings.sandbox_required and not self._backend.by_kernel:
            raise ToolFailure(
                "No command may run without a sandbox here (--sandbox-required), and none works: "
                f"{_why(self._backend)}. "
                "Install bubblewrap, or use a kernel with Landlock; `scorpio doctor` tries them."
            )

    def _consequence(self) -> str:
        if self._settings.sandbox_required:
            return "Commands are refused (--sandbox-required)."
        return "Commands run with all rights of this user; --sandbox-required would refuse them."

    def confined(self, command: str, *, cwd: str, plan: Policy | None, temporary: str) -> Confined:
        """Where it is in force. `plan`: what plan mode allows, with its directory. Raises ToolFailure."""
        from scorpio import command_sandbox, sandbox

        assert self._backend is not None
        cwd = os.path.realpath(cwd)
        try:
            policy = command_sandbox.policy_for(self.mode, cwd, self._home.root, network=self._settings.sandbox_network)
        except command_sandbox.Unconfinable as why:
            raise ToolFailure(str(why)) from None
        if self.mode == command_sandbox.WORKSPACE:
            self._before[cwd] = command_sandbox.signatures(cwd)
        if plan is not None:
            policy = command_sandbox.within_plan(policy, plan, temporary)
        scratch = ""
        if self._backend.kind != sandbox.BUBBLEWRAP or len(command) >= LONG_COMMAND_CHARS:
            scratch = _scratch()
            policy.writable = (*policy.writable, scratch)
        confined = self._backend.confined(policy, command, cwd=cwd)
        confined.scratch_path = scratch
        confined.without = command_sandbox.secret_variable
        place = sandbox.TEMPORARY if self._backend.kind == sandbox.BUBBLEWRAP else scratch
        cache = os.path.join(place, ".cache")  # what builds keep at home cannot be written
        confined.variables |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), place)
        confined.variables |= {"XDG_CACHE_HOME": cache, "npm_config_cache": os.path.join(cache, "npm")}
        return confined

    def note(self, cwd: str, *, failed: bool) -> str:
        """What is to be said of it below a command's output; empty where nothing is."""
        if self._backend is None:
            return ""
        if not self._backend.by_kernel:
            return "[no sandbox works here: this ran with all rights of the user. `scorpio doctor` says why.]"
        lines = [self.changed(cwd)]
        if failed:
            place = f"{cwd} and TMPDIR" if self.mode == "workspace" else "TMPDIR"
            network = "" if self._settings.sandbox_network else "; no network"
            hidden = "; keys and tokens are hidden" if self._backend.hides else ""
            lines.append(f"[sandbox: only {place} can be written{network}{hidden}.]")
        return "\n".join(filter(None, lines))

    def changed(self, cwd: str) -> str:
        """What a mount cannot keep, names that were not there and links; the person hears of it too."""
        cwd = os.path.realpath(cwd)
        before = self._before.get(cwd)
        if before is None:
            return ""
        from scorpio import command_sandbox

        after = command_sandbox.signatures(cwd)
        names = [os.path.relpath(path, cwd) for path, which in after.items() if before.get(path) != which]
        self._before[cwd] = after
        if not names:
            return ""
        said = (
            f"{', '.join(names)} in {cwd} changed while a command ran in the sandbox. Other programs obey what is in it"
        )
        if self._link is not None:
            self._link.warn(f"{said}: look at it.")
        return f"[{said}: tell the user to look at it.]"


def _why(backend: Backend) -> str:
    return "; ".join(backend.reasons) or "SANDBOX_BACKEND names none"


def _scratch() -> str:
    """A directory for one command. Raises ToolFailure."""
    import tempfile

    try:
        return os.path.realpath(tempfile.mkdtemp(prefix="scorpio-command-"))
    except OSError as error:
        raise ToolFailure(f"The sandbox needs a temporary directory: {error.strerror}. Set TMPDIR to one.") from None
