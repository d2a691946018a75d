"""Commands that may read everything and write only where a policy says: which way works here, and what it takes.

Three ways, the strongest first: Landlock with a seccomp filter, in a read-only mount namespace where the kernel lets us
make one; bubblewrap with the filter; and where no kernel helps, only commands that are known to be read-only. A way is
chosen by trying it: a real command that must not be able to write. Nothing falls back in silence: `Backend` says what
is in force, why nothing stronger is, and what it leaves open.

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
    from collections.abc import Iterator, Sequence

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

AS_OTHERS, WRITABLE, EMPTY = "0", "1", "2"  # of a place in the namespace: confine.h

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
    """What a command may change."""

    __slots__ = ("network", "writable")

    def __init__(self, writable: Sequence[str] = (), *, network: bool = False) -> None:
        self.writable = tuple(writable)
        """Directories with all that is below them, and single files; absolute and resolved."""
        self.network = network


class Confined:
    """How one command is started so that a policy holds: arguments of `process.spawn`."""

    __slots__ = ("confinement", "prefix", "variables")

    def __init__(self, prefix: Sequence[str], confinement: Sequence[str], variables: dict[str, str]) -> None:
        self.prefix = prefix
        self.confinement = confinement
        self.variables = variables
        """Of the command's environment."""


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

    def confined(self, policy: Policy, command: str, *, cwd: str, log_path: str) -> Confined:
        """For one command; cheap. Raises SandboxRefusal."""
        if self.kind == LANDLOCK:
            return Confined((), self._landlock(policy, cwd, log_path), {})
        if self.kind == BUBBLEWRAP:
            return Confined(self._bubblewrap(policy, cwd), self._filter_alone(policy), {})
        from scorpio.readonly_commands import refusal

        why = refusal(command)
        if why:
            raise SandboxRefusal(why)
        return Confined((), (), {"PATH": SYSTEM_PATH})

    def _landlock(self, policy: Policy, cwd: str, log_path: str) -> Sequence[str]:
        devices = IOCTL_DEVICE if self.abi >= ABI_DEVICES else 0
        handled = WRITE_FILE | TRUNCATE | CHANGE_DIRECTORY | MAKE_DEVICES | devices
        network = TCP if self.abi >= ABI_TCP and not policy.network else 0
        scopes = SCOPES if self.abi >= ABI_SCOPES else 0
        program = filter_program(
            os.uname().machine, network=policy.network, metadata=not self.namespace, mounts=True
        ).hex()
        write = WRITE_FILE | TRUNCATE
        places = [(write | devices, AS_OTHERS, path) for path in DEVICES]
        places.append((write, AS_OTHERS, log_path))  # `>/dev/stderr` opens it anew
        if self.namespace and not any(path.startswith(SHARED_MEMORY) for path in (cwd, *policy.writable)):
            places.append((write | CHANGE_DIRECTORY, EMPTY, SHARED_MEMORY))
        for path in policy.writable:
            directory = CHANGE_DIRECTORY if os.path.isdir(path) else 0
            places.append((write | directory, WRITABLE, path))
        numbers = (str(handled), str(network), str(scopes), self.namespace, str(KEPT), program)
        return (*numbers, *(str(field) for place in places for field in place))

    def _bubblewrap(self, policy: Policy, cwd: str) -> Sequence[str]:
        arguments = [self.program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for path in policy.writable:
            arguments += ["--bind-try", path, path]
        arguments += ["--unshare-pid", "--unshare-ipc", "--chdir", cwd]
        if not policy.network and os.uname().machine not in MACHINES:
            arguments.append("--unshare-net")  # elsewhere the filter refuses the sockets, of which this needs one
        if os.geteuid() == 0:
            arguments += ["--cap-drop", "ALL"]  # root keeps all of them else, and could mount
            for name in ("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "SETGID", "SETUID", "KILL"):
                arguments += ["--cap-add", f"CAP_{name}"]
        return (*arguments, "--")

    @staticmethod
    def _filter_alone(policy: Policy) -> Sequence[str]:
        program = filter_program(os.uname().machine, network=policy.network, metadata=False, mounts=False)
        return ("0", "0", "0", "", "", program.hex())


async def find(wanted: str = AUTO, *, namespaces: bool = True) -> Backend:
    """The strongest way that works here, or `wanted` where it does; the allowlist always does. Some 20 ms.

    Also what a person is told who asks what this machine can do: `describe`, `reasons`, `gaps`.
    """
    reasons: list[str] = []
    for candidate in _candidates(wanted, namespaces, reasons):
        why = await _fault(candidate)
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


def _candidates(wanted: str, namespaces: bool, reasons: list[str]) -> Iterator[Backend]:
    if sys.platform != "linux":
        reasons.append(f"{sys.platform} has neither Landlock nor bubblewrap")
        return
    if wanted in (AUTO, LANDLOCK):
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
    if wanted in (AUTO, BUBBLEWRAP):
        import shutil

        program = shutil.which("bwrap", path=os.environ.get("PATH", "") + os.pathsep + SYSTEM_PATH)
        if program:
            yield Backend(BUBBLEWRAP, program=os.path.realpath(program))
        else:
            reasons.append("bubblewrap (bwrap) is not installed")


async def _fault(backend: Backend) -> str:
    """Why a command is not confined by it as it must be; empty when it is."""
    import shutil
    import tempfile

    try:
        place = os.path.realpath(tempfile.mkdtemp(prefix="scorpio-probe-"))
    except OSError as error:
        return f"no temporary directory to try it in ({error.strerror})"
    try:
        return await _probed(backend, place)
    except OSError as error:
        return error.strerror or str(error)
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def _probed(backend: Backend, place: str) -> str:
    import asyncio

    from scorpio import process

    inside, file = os.path.join(place, "inside"), os.path.join(place, "file")
    os.mkdir(inside)
    for path in (file, os.path.join(place, "outside")):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    confined = backend.confined(Policy((inside, file)), PROBE, cwd=place, log_path="/dev/null")
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
