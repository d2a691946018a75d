"""No way to write leaves the tree: every backend, from source and frozen, as root and as an ordinary user."""

from __future__ import annotations

import http.server
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.lacking import lacking
from tests.links import ChildProcess, clean_environment
from tests.ordinary_user import as_user, command_of
from tests.toolsets.core.ways_to_write import (
    BUILDS,
    READING,
    REFUSED_EVERYWHERE,
    SHARED_MEMORY,
    WAYS,
    WAYS_OF_ROOT,
    Accomplice,
    give,
    make_tree,
    snapshot,
)
from tests.web_site import SEEN_EVERY_S
from tests.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is the allowlist only")

BACKENDS = {
    "landlock": {},
    "landlock alone": {"SANDBOX_BACKEND": "landlock", "SANDBOX_NAMESPACES": "false"},
    "bubblewrap": {"SANDBOX_BACKEND": "bubblewrap"},
    "allowlist": {"SANDBOX_BACKEND": "allowlist"},
}
IN_FORCE = {
    "landlock": "Enforced by the kernel: Landlock (ABI ",
    "landlock alone": "Enforced by the kernel: Landlock (ABI ",
    "bubblewrap": "Enforced by the kernel: bubblewrap (",
    "allowlist": "run only with an allowlist of commands that only read.",
}


OF_EACH_KIND = (
    *("redirect", "rename over", "hard link", "chmod", "utime", "chown", "extended attribute", "O_TMPFILE"),
    *("the root of the accomplice", "a stolen descriptor", "memory of the accomplice", "ptrace", "a signal"),
    *("a Unix socket", "an abstract socket", "a user namespace", "mount_setattr"),
)
"""For the supervisor in Python, which gets the same strings as the one in C: a way that each part of them refuses."""


class Place:
    """A tree, a server in it and an accomplice, all of one user."""

    def __init__(self, root: Path, command: list[str], environ: dict[str, str], user: int | None) -> None:
        self.root = root
        self.tree = root / "tree"
        self.pristine = root / "pristine"
        make_tree(self.tree)
        self.user = user
        self.build = "source" if "-m" in command else "frozen"
        if user is not None:
            give(root, user)
        self.accomplice = Accomplice(self.tree, root, user)
        self.ways = WAYS | (WAYS_OF_ROOT if os.geteuid() == 0 and user is None else {})
        environment = environ | self.accomplice.environment
        # What a person has who is asked nothing: the same git for each user.
        environment |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        link = ChildProcess([*as_user(user), *command], environment, root / "stderr", self.tree)
        self.wire = Wire(link, "2025-06-18")
        self.wire.open()

    def renew(self, *, accomplice: bool) -> None:
        """The tree as it was, inside the same directory, and an accomplice for it where one is needed."""
        if not self.pristine.exists():
            make_tree(self.pristine)
            if self.user is not None:
                give(self.pristine, self.user)
        subprocess.run(["find", self.tree, "-mindepth", "1", "-delete"], check=True)
        subprocess.run(["cp", "-a", f"{self.pristine}/.", self.tree], check=True)
        if accomplice:
            self.accomplice.close()
            self.accomplice = Accomplice(self.tree, self.root, self.user)

    def bash(self, command: str) -> tuple[str, bool]:
        result = self.wire.call("Bash", {"command": command})
        return result["content"][0]["text"], result["isError"]

    def each(self, commands: dict[str, str]) -> list[str]:
        """Run each in a shell of its own, all in one call; the names of those that failed."""
        lines = [
            f"bash -c {shlex.quote(command)} </dev/null >/dev/null 2>&1 || echo {shlex.quote(name)}"
            for name, command in commands.items()
        ]
        result = self.wire.call("Bash", {"command": "\n".join([*lines, "echo all"]), "timeout": 55_000})
        failed = str(result["content"][0]["text"]).splitlines()
        assert failed[-1] == "all", failed  # the last ran too
        return failed[:-1]

    def plan_mode(self, action: str, **arguments: str) -> str:
        result = self.wire.call("PlanMode", {"action": action, **arguments})
        assert not result["isError"], result
        return str(result["content"][0]["text"])

    def close(self) -> None:
        if not self.wire.closed:
            self.wire.close()
        self.accomplice.close()


@pytest.fixture
def settle(build: str, user: int | None, common_of: Callable[[int | None], Path]) -> Iterator[Callable[..., Place]]:
    """`settle(**environment)`: a place with a server. pytest's own directories are closed to other users."""
    places: list[Place] = []
    root = Path(tempfile.mkdtemp(prefix="scorpio-place-"))
    root.chmod(0o755)

    def make(wrapped: tuple[str, ...] = (), **variables: str) -> Place:
        own = {"TMPDIR": str(root / "temporary")}
        environ = clean_environment(root, {**own, **variables})
        command = [*wrapped, *command_of(build, common_of(user), user, environ)]
        places.append(Place(root / str(len(places)), command, environ, user))
        return places[-1]

    (root / "temporary").mkdir()
    if user is not None:
        give(root, user)
    yield make
    for place in places:
        place.close()
    shutil.rmtree(root)


def entered(settle: Callable[..., Place], backend: str, **variables: str) -> Place:
    place = settle(**BACKENDS[backend], **variables)
    said = place.plan_mode("enter", goal="look")
    if backend == "bubblewrap" and not shutil.which("bwrap"):
        lacking("bubblewrap is not installed")
    assert IN_FORCE[backend] in said, said
    assert ("in a read-only mount namespace" in said) == (backend == "landlock"), said
    return place


@pytest.mark.builds("source")
def test_each_way_changes_a_tree_that_nothing_protects(settle: Callable[..., Place], user: int | None) -> None:
    place = settle()
    scratch = place.root / "scratch"
    scratch.mkdir()
    scratch.chmod(0o777)
    harmless = []
    for name, command in place.ways.items():
        place.renew(accomplice="ACCOMPLICE" in command)
        before = snapshot(place.tree)
        variables = {"TMPDIR": str(scratch), **place.accomplice.environment}
        said, _ = place.bash(f"export {' '.join(f'{name}={value}' for name, value in variables.items())}; {command}")
        if snapshot(place.tree) == before:
            harmless.append(f"{name}: {said}")
    assert harmless == []


def one_by_one(place: Place, before: dict[str, tuple[Any, ...]]) -> list[str]:
    """Which ways have changed the tree, where something did."""
    changed = []
    if snapshot(place.tree) != before:
        for name, command in place.ways.items():
            before = snapshot(place.tree)
            place.bash(command)
            if snapshot(place.tree) != before:
                changed.append(name)
        changed = changed or ["one that cannot be repeated"]
    return changed


@pytest.mark.requirement("plan:kernel")
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_way_to_write_changes_the_tree(settle: Callable[..., Place], backend: str) -> None:
    place = entered(settle, backend)
    before = snapshot(place.tree)
    if backend == "allowlist":  # it looks at the text of each
        assert [name for name, command in REFUSED_EVERYWHERE.items() if not place.bash(command)[1]] == []
        for command in place.ways.values():
            place.bash(command)
    else:
        assert [*REFUSED_EVERYWHERE] == place.each(REFUSED_EVERYWHERE)
        ways = place.ways if place.build == "frozen" else {name: place.ways[name] for name in OF_EACH_KIND}
        place.each(ways)
    place.wire.call("BackgroundBash", {"command": "echo x > f; sleep 0.2; echo x > f"})
    place.bash(f"echo x > {SHARED_MEMORY}")
    assert one_by_one(place, before) == []
    assert not SHARED_MEMORY.exists()
    assert snapshot(place.tree) == before


@pytest.mark.requirement("plan:reads")
@pytest.mark.parametrize("backend", ["landlock", "landlock alone", "bubblewrap"])
def test_reading_and_the_temporary_directory_work_as_ever(settle: Callable[..., Place], backend: str) -> None:
    place = entered(settle, backend)
    commands = READING | ({} if backend == "landlock alone" else BUILDS)
    expected = {command: (said, False) for command, said in commands.items()}
    assert {command: place.bash(command) for command in commands} == expected


@pytest.mark.parametrize(
    "wrapped", [("setpriv", "--bounding-set=-sys_admin"), ("setpriv", "--bounding-set=-all"), ("unshare", "-U")]
)
def test_where_no_namespace_can_be_made_the_filter_does_it(
    settle: Callable[..., Place], wrapped: tuple[str, ...]
) -> None:
    """As in a container: root without its capabilities, or a user whom nothing is mapped to."""
    if wrapped[0] == "setpriv" and os.geteuid() != 0:
        pytest.skip("only root has capabilities to lose")
    place = settle(wrapped=wrapped)
    said = place.plan_mode("enter")
    if place.user is None or wrapped[0] != "setpriv":  # who is no root has a user namespace instead
        assert "Enforced by the kernel: Landlock (ABI " in said
        assert "in a read-only mount namespace does not work here: The sandbox could not be set up (" in said
        assert "chmod, chown, setting times and extended attributes are refused in writable places too" in said
    before = snapshot(place.tree)
    for name in ("redirect", "chmod", "rename over", "hard link into the temporary directory", "a Unix socket"):
        place.bash(WAYS[name])
    assert snapshot(place.tree) == before
    assert place.bash('echo new > "$TMPDIR/n"; cat "$TMPDIR/n" f') == ("new\nabc", False)


@pytest.mark.builds("source")
def test_the_allowlist_runs_what_only_reads(settle: Callable[..., Place]) -> None:
    place = entered(settle, "allowlist")
    assert place.bash("cat f d/x | head -1 && git log --format=%s 2>/dev/null") == ("abc\nfirst", False)
    said, failed = place.bash("cat f; rm f")
    assert failed
    assert re.match(r"Plan mode is active\. No kernel sandbox works here.*: 'rm' is not one of them\. Use plain", said)


@pytest.fixture
def port() -> Iterator[int]:
    """Of a web server in this process."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, args=(SEEN_EVERY_S,), daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.requirement("plan:network")
@pytest.mark.parametrize("backend", ["landlock", "bubblewrap"])
def test_the_network_is_refused_unless_it_is_allowed(settle: Callable[..., Place], backend: str, port: int) -> None:
    ask = f"python3 -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:{port}/\").status)'"
    said, failed = entered(settle, backend).bash(ask)
    assert failed
    assert "Permission denied" in said
    assert said.splitlines()[-1].startswith("[plan mode is active: nothing can be written but in ")
    assert ", no network. PlanMode ends it" in said
    assert entered(settle, backend, PLAN_MODE_NETWORK="true").bash(ask) == ("200", False)


@pytest.mark.builds("frozen")
def test_calls_by_the_table_of_another_machine_end_the_program(settle: Callable[..., Place]) -> None:
    """`chmod` by the 32-bit table, which a filter that looks at numbers only would take for another call."""
    place = entered(settle, "landlock alone")
    if os.uname().machine != "x86_64" or not shutil.which("cc"):
        lacking("needs x86-64 and a C compiler")
    source = place.root / "old.c"
    source.write_text(
        'static const char f[] = "f";\n'
        'void _start(void) { long r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(15L), "b"(f), "c"(0777L));\n'
        '__asm__ volatile("syscall" : : "a"(60L), "D"(0L)); }\n'
    )
    program = place.root / "old"
    subprocess.run(["cc", "-static", "-no-pie", "-nostdlib", "-fcf-protection=none", "-o", program, source], check=True)
    before = snapshot(place.tree)
    said, failed = place.bash(str(program))
    assert failed
    assert "[killed by signal 31 (SIGSYS)]" in said
    assert snapshot(place.tree) == before
