"""Commands that may write only where a policy says, and read what it does not hide: which way works here, and how.

Three ways: Landlock with a seccomp filter, in a read-only mount namespace where the kernel lets us make one; bubblewrap
with the filter; and where no kernel helps, only commands that are known to be read-only. Where a policy is `private`
bubblewrap comes first: it alone gives a command processes, network and temporary files of its own. A way is chosen by
trying it: a real command that must not be able to write. Nothing falls back in silence: `Backend` says what is in
force, why nothing stronger is, and what it leaves open.

Not covered by any: programs that already run and do things for others (but see seccomp.py on sockets), and what a
process from before writes itself. Does not know tools, plans or owners.
"""

from __future__ import annotations

import os
import sys

from scorpio.limits import SANDBOX_PROBE_MS
from scorpio.seccomp import MACHINES, filter_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

AUTO, LANDLOCK, BUBBLEWRAP, ALLOWLIST = "auto", "landlock", "bubblewrap", "allowlist"
KINDS = (LANDLOCK, BUBBLEWRAP, ALLOWLIST)

LANDLOCK_ABI_MIN = 3
"""Linux 6.2. Before it `truncate` and `open(O_TRUNC)` pass by Landlock; a filter cannot see open's flags in openat2."""

ABI_TCP, ABI_DEVICES, ABI_SCOPES = 4, 5, 6

# Rights of Landlock, linux/landlock.h. Reading and executing are not handled: they stay free.
WRITE_FILE, TRUNCATE, IOCTL_DEVICE = 1 << 1, 1 << 14, 1 << 15
MAKE_DEVICES = 1 << 6 | 1 << 11
CHANGE_DIRECTORY = sum(1 << bit for bit in (4, 5, 7, 8, 9, 10, 12, 13))  # remove, make, link
TCP = 1 << 0 | 1 << 1
SCOPES = 1 << 0 | 1 << 1  # abstract Unix sockets, signals

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""Stay writable: what is written to them is gone."""

SHARED_MEMORY = "/dev/shm"
"""What is there belongs to others. Where a command has a namespace it gets one of its own: Python's locks need it."""

AS_OTHERS, WRITABLE, EMPTY, READ_ONLY, EMPTY_FILE = "0", "1", "2", "3", "4"  # of a place in the namespace: confine.h

OF_THE_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
"""Belongs to the whole machine. bubblewrap 0.8 means to cover it, but not where access() says that root may not write
to the directory, as in /proc/sys: its files can be written all the same."""

TEMPORARY = "/tmp"
"""Each command's own where it is private."""

FILTER_DESCRIPTOR = "9"  # confine.h

CAPABILITIES = (
    *(0, 1, 2, 3, 4),  # chown, dac_override, dac_read_search, fowner, fsetid
    *(5, 6, 7, 8, 10, 18, 23, 29, 31),  # kill, setgid, setuid, setpcap, net_bind, chroot, nice, audit_write, setfcap
)
"""What root keeps: about Docker's default, and to read everything. No mounts, devices, modules, raw sockets, ptrace."""

KEPT = sum(1 << number for number in CAPABILITIES)

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin"
"""Where the names of the allowlist are looked for: never in a project."""

PROBE = """
cd "$SCORPIO_PROBE" || exit 13
{ echo changed >outside || rm outside || mv outside inside || chmod 700 outside || touch -d @0 outside; } && exit 10
{ echo new >inside/new && mkdir inside/directory && echo more >>file; } || exit 11
chmod 700 inside/new || exit 12
"""
PROBED, WITHOUT_METADATA = 0, 12


class Policy:
    """What a command may change, and see. All paths are absolute and resolved."""

    __slots__ = ("hidden", "network", "own_network", "private", "read_only", "writable")

    def __init__(
        self,
        writable: Sequence[str] = (),
        *,
        network: bool = False,
        own_network: bool = False,
        read_only: Sequence[str] = (),
        hidden: Sequence[str] = (),
        private: bool = False,
    ) -> None:
        self.writable = tuple(writable)
        """Directories with all that is below them, and single files."""
        self.network = network
        """Internet sockets."""
        self.own_network = own_network
        """They reach nothing but the command's own loopback; none at all where that cannot be had."""
        self.read_only = tuple(read_only)
        """In what is writable, and stay where they are."""
        self.hidden = tuple(hidden)
        """Look empty."""
        self.private = private
        """It sees no processes but its own, and has a temporary directory of its own."""

    def places(self) -> list[tuple[str, str]]:
        """(kind, path), what is in another after it; of one path the strictest."""
        kinds = dict.fromkeys(self.writable, WRITABLE)
        kinds |= dict.fromkeys(self.read_only, READ_ONLY)
        kinds |= {path: EMPTY if os.path.isdir(path) else EMPTY_FILE for path in self.hidden}
        return [(kinds[path], path) for path in sorted(kinds, key=lambda path: (path.count("/"), path))]


class Confined:
    """How one command is started so that a policy holds: arguments of `process.spawn`."""

    __slots__ = ("confinement", "planned", "prefix", "scratch_path", "variables", "without")

    def __init__(self, prefix: Sequence[str], confinement: Sequence[str], variables: dict[str, str]) -> None:
        self.prefix = prefix
        self.confinement = confinement
        self.variables = variables
        """Of the command's environment."""
        self.without: Callable[[str], bool] | None = None
        """Names of variables that it does not get."""
        self.scratch_path = ""
        """A directory of this command alone, to be deleted with it."""
        self.planned = False
        """It changes nothing but a plan."""

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        without = self.without or (lambda name: False)
        return {name: value for name, value in environ.items() if not without(name)} | self.variables


class SandboxRefusal(Exception):
    """The command may not run under this policy: a sentence that says why. Only where no kernel sandbox works."""


class Backend:
    """One way that works here."""

    __slots__ = ("abi", "kind", "namespace", "program", "reasons")

    def __init__(
        self, kind: str, *, abi: int = 0, namespace: str = "", program: str = "", reasons: Sequence[str] = ()
    ) -> None:
        self.kind = kind
        self.abi = abi
        """Landlock's version."""
        self.namespace = namespace
        """"" where there is none, else `mount` (root) or `user`."""
        self.program = program
        """Path of bubblewrap."""
        self.reasons = tuple(reasons)
        """Why what stands before it in the order is not in force, a clause each."""

    @property
    def by_kernel(self) -> bool:
        return self.kind != ALLOWLIST

    def describe(self) -> str:
        """What is in force, as a clause."""
        if self.kind == LANDLOCK:
            where = ", in a read-only mount namespace" if self.namespace else ""
            return f"Landlock (ABI {self.abi}) with a seccomp filter{where}"
        if self.kind == BUBBLEWRAP:
            return f"bubblewrap ({self.program}) with a seccomp filter"
        return "an allowlist of commands that only read"

    @property
    def hides(self) -> bool:
        """Whether `hidden` and `read_only` of a policy hold: Landlock alone can only add rights."""
        return self.kind == BUBBLEWRAP or bool(self.namespace)

    def gaps(self) -> list[str]:
        """What it leaves open or refuses too much, a sentence each."""
        found = []
        if self.kind == LANDLOCK and not self.namespace:
            found.append(
                "chmod, chown, setting times and extended attributes are refused in writable places too, so what is "
                "linked there cannot be run; and /dev/shm cannot be written."
            )
        if self.kind == LANDLOCK and self.abi < ABI_SCOPES:
            found.append("Commands can signal other processes of this user.")
        if self.kind == BUBBLEWRAP and os.uname().machine not in MACHINES:
            found.append("Unix sockets are not refused: a daemon behind one may write.")
        if self.kind == ALLOWLIST:
            found.append("Nothing may be written anywhere, and the shell's own syntax is restricted.")
        return found

    def confined(self, policy: Policy, command: str, *, cwd: str) -> Confined:
        """For one command; cheap. Raises SandboxRefusal."""
        if self.kind == LANDLOCK:
            return Confined((), self._landlock(policy, cwd), {})
        if self.kind == BUBBLEWRAP:
            return Confined(self._bubblewrap(policy, cwd), self._filter_for_later(policy), {})
        from scorpio.readonly_commands import refusal

        why = refusal(command)
        if why:
            raise SandboxRefusal(why)
        return Confined((), (), {"PATH": SYSTEM_PATH})

    def _landlock(self, policy: Policy, cwd: str) -> Sequence[str]:
        devices = IOCTL_DEVICE if self.abi >= ABI_DEVICES else 0
        handled = WRITE_FILE | TRUNCATE | CHANGE_DIRECTORY | MAKE_DEVICES | devices
        sockets = policy.network and not policy.own_network
        network = TCP if self.abi >= ABI_TCP and not sockets else 0
        scopes = SCOPES if self.abi >= ABI_SCOPES else 0
        program = filter_program(os.uname().machine, network=sockets, metadata=not self.namespace, mounts=True).hex()
        write = WRITE_FILE | TRUNCATE
        places = [(write | devices, AS_OTHERS, path) for path in DEVICES]
        places.append((write, AS_OTHERS, ""))  # its output: `>/dev/stderr` opens it anew
        if self.namespace and not any(path.startswith(SHARED_MEMORY) for path in (cwd, *policy.writable)):
            places.append((write | CHANGE_DIRECTORY, EMPTY, SHARED_MEMORY))
        for kind, path in policy.places():
            directory = CHANGE_DIRECTORY if os.path.isdir(path) else 0
            access = write | directory if kind == WRITABLE else 0
            places.append((access, kind if self.namespace else AS_OTHERS, path))
        numbers = (str(handled), str(network), str(scopes), self.namespace, str(KEPT), program)
        return (*numbers, *(str(field) for place in places for field in place))

    def _bubblewrap(self, policy: Policy, cwd: str) -> Sequence[str]:
        arguments = [self.program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for path in OF_THE_KERNEL:
            arguments += ["--ro-bind-try", path, path]
        if policy.private:
            arguments += ["--tmpfs", TEMPORARY, "--unshare-uts"]
        for kind, path in policy.places():
            arguments += BINDS[kind](path)
        for path in policy.hidden:
            arguments += ["--remount-ro", path] if os.path.isdir(path) else []
        # Neither --new-session, as the supervisor made one and there is no terminal, nor --die-with-parent: what the
        # shell leaves behind would die with it and not become a task. The supervisor ends what is left.
        arguments += ["--unshare-pid", "--unshare-ipc", "--chdir", cwd]
        if policy.own_network or (not policy.network and os.uname().machine not in MACHINES):
            arguments.append("--unshare-net")
        if os.uname().machine in MACHINES:
            arguments += ["--seccomp", FILTER_DESCRIPTOR]
        if os.geteuid() == 0:
            arguments += ["--cap-drop", "ALL"]  # root keeps all of them else, and could mount
            for name in ("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "SETGID", "SETUID", "KILL"):
                arguments += ["--cap-add", f"CAP_{name}"]
        return (*arguments, "--")

    @staticmethod
    def _filter_for_later(policy: Policy) -> Sequence[str]:
        """For bubblewrap to install: what it sets up itself would be refused."""
        program = filter_program(os.uname().machine, network=policy.network, metadata=False, mounts=True)
        return ("0", "0", "0", "", "", f">{program.hex()}")


BINDS: dict[str, Callable[[str], tuple[str, ...]]] = {
    WRITABLE: lambda path: ("--bind-try", path, path),
    READ_ONLY: lambda path: ("--ro-bind-try", path, path),
    EMPTY: lambda path: ("--tmpfs", path),
    EMPTY_FILE: lambda path: ("--ro-bind", "/dev/null", path),
}
"""bubblewrap's option for each kind of place."""


async def find(wanted: str = AUTO, *, namespaces: bool = True, private: bool = False) -> Backend:
    """The strongest way that works here, or `wanted` where it does; the allowlist always does. Some 20 ms.

    `private`: for policies that are. Also what a person is told who asks what this machine can do: `describe`,
    `reasons`, `gaps`.
    """
    reasons: list[str] = []
    ways = (_landlock, _bubblewrap)
    for way in reversed(ways) if private else ways:
        for candidate in way(wanted, namespaces, reasons):
            why = await _fault(candidate, private)
            if not why:
                candidate.reasons = tuple(reasons)
                return candidate
            reasons.append(f"{candidate.describe()} does not work here: {why}")
    return Backend(ALLOWLIST, reasons=reasons)


def landlock_abi() -> int:
    """Landlock's version in this kernel; 0 where there is none or it is switched off."""
    if sys.platform != "linux":
        return 0
    import ctypes

    answer = ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1)  # landlock_create_ruleset, its version
    return max(0, int(answer))


def _landlock(wanted: str, namespaces: bool, reasons: list[str]) -> Iterator[Backend]:
    if wanted not in (AUTO, LANDLOCK):
        return
    if sys.platform != "linux":
        reasons.append(f"{sys.platform} has no Landlock")
        return
    abi = landlock_abi()
    if abi < LANDLOCK_ABI_MIN:
        found = f"this kernel has version {abi}" if abi else "this kernel has it not, or switched off"
        reasons.append(f"Landlock is needed in version {LANDLOCK_ABI_MIN} (Linux 6.2): {found}")
    elif os.uname().machine not in MACHINES:
        reasons.append(f"there is no seccomp filter for {os.uname().machine}")
    else:
        if namespaces:
            yield Backend(LANDLOCK, abi=abi, namespace="mount" if os.geteuid() == 0 else "user")
        yield Backend(LANDLOCK, abi=abi)


def _bubblewrap(wanted: str, namespaces: bool, reasons: list[str]) -> Iterator[Backend]:
    if wanted not in (AUTO, BUBBLEWRAP):
        return
    if sys.platform != "linux":
        reasons.append(f"{sys.platform} has no bubblewrap")
        return
    import shutil

    program = shutil.which("bwrap", path=os.environ.get("PATH", "") + os.pathsep + SYSTEM_PATH)
    if program:
        yield Backend(BUBBLEWRAP, program=os.path.realpath(program))
    else:
        reasons.append("bubblewrap (bwrap) is not installed")


async def _fault(backend: Backend, private: bool) -> str:
    """Why a command is not confined by it as it must be; empty when it is."""
    import shutil
    import tempfile

    try:
        place = os.path.realpath(tempfile.mkdtemp(prefix="scorpio-probe-"))
    except OSError as error:
        return f"no temporary directory to try it in ({error.strerror})"
    try:
        return await _probed(backend, place, private)
    except OSError as error:
        return error.strerror or str(error)
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def _probed(backend: Backend, place: str, private: bool) -> str:
    import asyncio

    from scorpio import process

    inside, file = os.path.join(place, "inside"), os.path.join(place, "file")
    os.mkdir(inside)
    for path in (file, os.path.join(place, "outside")):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    policy = Policy((inside, file), network=private, own_network=private, read_only=(place,), private=private)
    confined = backend.confined(policy, PROBE, cwd=place)
    environment = {"PATH": os.environ.get("PATH") or SYSTEM_PATH, "SCORPIO_PROBE": place}
    try:
        probe = await process.spawn(
            PROBE,
            cwd=place,
            env=environment,
            log_path="/dev/null",
            output_bytes_max=0,
            prefix=confined.prefix,
            confinement=confined.confinement,
            scratch_path=place,  # so that it goes with a server that is killed meanwhile, too
        )
    except process.SpawnFailure as failure:
        return str(failure).removesuffix(".").removesuffix(", so the command was not run")
    try:
        ended = await asyncio.wait_for(probe.wait_shell(), SANDBOX_PROBE_MS / 1000)
    except TimeoutError:
        return "a command in it does not end"
    finally:
        await probe.terminate(0)
    if ended.code == PROBED or (ended.code == WITHOUT_METADATA and backend.kind == LANDLOCK and not backend.namespace):
        return ""
    if ended.code == 10:
        return "a command in it could write"
    return f"a command in it failed (exit code {ended.code}, signal {ended.signal})"
