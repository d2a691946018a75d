"""`--sandbox`: what a command can do and what it cannot, on each backend, from source and frozen, as root and not.

The checks are those of Codex (network programs, /dev/tcp, writes to .git, links that are replaced) and of srt (special
files, other processes, what is left behind, an empty list of what is allowed).
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.lacking import lacking
from tests.ordinary_user import NOBODY
from tests.sandbox.sandbox_place import BACKENDS, SECRET, Listener, SandboxPlace
from tests.toolsets.core.ways_to_write import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no sandbox")

ALL, NONE = frozenset(BACKENDS), frozenset[str]()
BUBBLEWRAP, ALONE = frozenset({"bubblewrap"}), frozenset({"landlock alone"})
PYTHON = "python3 -I -S -c"
LOOPBACK = (
    f"{PYTHON} 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); socket.create_connection(s.getsockname())'"
)

FILES = {
    "write in the workspace": ("echo x > src/new && mkdir made && rm src/new", ALL),
    "change what is there": ("echo x >> src/main", ALL),
    "a temporary file": ('echo x > "$TMPDIR/t" && cat "$TMPDIR/t" && mktemp', ALL),
    "a FIFO": ("mkfifo src/fifo", ALL),
    "read the rest of the machine": ("cat /etc/passwd ../beside/file", ALL),
    "write beside the workspace": ("echo x > ../beside/file", NONE),
    "make something beside it": ("mkdir ../beside/made", NONE),
    "move out of it": ("mv src/main ../beside/", NONE),
    "link out of it": ("ln src/main ../beside/linked", NONE),
    "write at home": ("echo x > ~/.bashrc", NONE),
    "write through a link": (
        'ln -s ../beside/file "$TMPDIR/../l" || ln -s "$PWD/../beside/file" l && echo x > l',
        NONE,
    ),
    "git's hooks": ("echo > .git/hooks/pre-commit", ALONE),
    "git's configuration": ("echo >> .git/config", ALONE),
    "move git's directory away": ("mv .git g && mv g .git", ALONE),
    "what an agent obeys": ("echo x > .claude/settings.json", ALONE),
    "take an agent's place": ("rm -r .claude", NONE | {"landlock alone"}),
    "what an editor obeys": ("echo x > .vscode/more.json", ALONE),
    "tools of a client": ("echo x > .mcp.json", ALONE),
    "move its tools away": ("mv -f .mcp.json m && mv m .mcp.json", ALONE),
    "a shell's start": ("echo x >> .bashrc", ALONE),
    "through a link that an agent obeys": ("echo x > .codex/config.toml", ALONE),
    "a commit": ("git add src && git -c user.name=x -c user.email=x@y commit -qm x", ALL),
    "read a key": ("grep -q . ~/.ssh/id", ALONE),
    "read a credential": ("grep -q . ~/.aws/credentials", ALONE),
    "read a password": ("grep -q . ~/.netrc", ALONE),
    "read the state": ('grep -q . "$SCORPIO_HOME/scorpio-env.txt"', ALONE),
    "a secret of the environment": ('test -n "$A_TOKEN$B_KEY$SECRET_C"', NONE),
    "the rest of the environment": ('test "$PLAIN" = plain -a -n "$HOME"', ALL),
    "a device": ('mknod "$TMPDIR/disk" b 7 0', NONE),
    "a setting of the kernel": (
        "v=$(cat /proc/sys/kernel/core_pattern) && echo $v > /proc/sys/kernel/core_pattern",
        NONE,
    ),
    "a mount": ('mkdir -p "$TMPDIR/m" && mount -t tmpfs none "$TMPDIR/m"', NONE),
    "a mount of a user": ('mkdir -p "$TMPDIR/m" && unshare -Urm mount -t tmpfs none "$TMPDIR/m"', NONE),
    "remount": ("mount -o remount,rw / || mount -o remount,bind,rw /", NONE),
    "a Unix socket": (f"{PYTHON} 'import socket; socket.socket(socket.AF_UNIX)'", NONE),
    "a raw socket": (f"{PYTHON} 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'", NONE),
    "a loopback of its own": (LOOPBACK, BUBBLEWRAP),
    "see another process": ('test -d "/proc/$OTHER/fd" && grep -q . "/proc/$OTHER/cmdline"', ALL - BUBBLEWRAP),
    "the environment of another process": ('grep -q . "/proc/$OTHER/environ"', NONE),
    "a signal to another process": ('kill -0 "$OTHER"', NONE),
    "the root of another process": ('echo x > "/proc/$OTHER/root$PWD/../beside/file"', NONE),
    "standard input": ("! read -r", ALL),
    "a terminal": ("echo x > /dev/tty", NONE),
    "only three descriptors": ("test $(ls /proc/self/fd | wc -l) = 4", ALL),
}
"""Command, and the backends on which it succeeds."""

NETWORK = {
    "curl": 'curl -s -m 2 "http://$HOST:$PORT/"',
    "wget": 'wget -q -T 2 -t 1 -O /dev/null "http://$HOST:$PORT/"',
    "ssh": 'ssh -o BatchMode=yes -o ConnectTimeout=2 -o StrictHostKeyChecking=no -p "$PORT" "$HOST" true',
    "nc": 'nc -w 2 "$HOST" "$PORT" </dev/null',
    "bash": 'echo x > "/dev/tcp/$HOST/$PORT"; echo x > "/dev/udp/$HOST/$PORT"',
    "python3": f"{PYTHON} 'import os, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    's.sendto(b"x", (os.environ["HOST"], int(os.environ["PORT"])))\'',
}
"""Program: how it reaches the listener of the test."""

WITHOUT_LISTENER = {"getent": "timeout 2 getent ahosts name.example", "ping": 'ping -c 1 -W 1 "$HOST"'}


@pytest.mark.requirement("sandbox:workspace")
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_workspace_is_what_a_command_can_change(
    settle: Callable[..., SandboxPlace], backend: str, other: str
) -> None:
    place = settle("--sandbox", "workspace", OTHER=other, **BACKENDS[backend])
    before = snapshot(place.beside)
    found = place.outcomes({name: command for name, (command, _) in FILES.items()})
    assert found == {name: backend in works for name, (_, works) in FILES.items()}
    assert snapshot(place.beside) == before
    assert SECRET not in place.bash("env; cat ~/.ssh/id")[0] or backend == "landlock alone"


@pytest.mark.requirement("sandbox:read-only")
@pytest.mark.parametrize("backend", BACKENDS)
def test_read_only_leaves_nothing_but_temporary_files(settle: Callable[..., SandboxPlace], backend: str) -> None:
    """An empty list of what may be written allows nothing."""
    place = settle("--sandbox", "read-only", **BACKENDS[backend])
    before = snapshot(place.work)
    checks = {
        "read": "cat src/main && ls ../beside",
        "temporary": 'echo x > "$TMPDIR/t" && mkdir "$TMPDIR/d" && mv "$TMPDIR/t" "$TMPDIR/d/"',
        "write": "echo x > src/main",
        "make": "mkdir made",
        "remove": "rm .bashrc",
        "metadata": "chmod 777 src/main",
        "commit": "git commit --allow-empty -qm x",
    }
    found = place.outcomes(checks)
    assert found == {name: name in ("read", "temporary") for name in checks}
    assert snapshot(place.work) == before
    said, failed = place.bash("echo x > src/main")
    assert failed
    assert said.splitlines()[-1].startswith("[sandbox: only TMPDIR can be written; no network")


@pytest.mark.parametrize("program", [*NETWORK, *WITHOUT_LISTENER])
def test_the_program_that_tries_the_network_is_here(program: str) -> None:
    """So that a check below that could not be made is told."""
    if not shutil.which(program):
        skipped = f"{program} is not installed, and nothing needs it: the sandbox was not tried with it"
        if program in ("bash", "python3", "curl"):
            lacking(skipped)
        pytest.skip(skipped)


@pytest.mark.requirement("sandbox:network")
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_program_reaches_the_network_unless_it_is_allowed(
    settle: Callable[..., SandboxPlace], backend: str, listener: Listener
) -> None:
    commands = {program: command for program, command in NETWORK.items() if shutil.which(program)}
    variables = {"HOST": "127.0.0.1", "PORT": str(listener.port), **BACKENDS[backend]}
    boxed = settle("--sandbox", "workspace", "--sandbox-required", **variables)
    boxed.outcomes(commands)
    assert listener.came == 0
    others = {name: command for name, command in WITHOUT_LISTENER.items() if shutil.which(name)}
    if backend != "bubblewrap":  # there 127.0.0.1 is its own, and may answer a ping
        assert not any(boxed.outcomes(others).values())
    boxed.close()
    if backend == "bubblewrap":
        open_ = settle("--sandbox", "workspace", "--sandbox-network", **variables)
        open_.outcomes(commands)
        assert listener.came >= len(commands)  # each of them would have come


@pytest.mark.requirement("sandbox:told")
@pytest.mark.parametrize("user", [None], ids=["as it runs"])
def test_what_cannot_be_kept_is_told(settle: Callable[..., SandboxPlace]) -> None:
    place = settle("--sandbox", "workspace", **BACKENDS["bubblewrap"])
    assert place.bash("true") == ("(no output)", False)
    (place.work / ".mcp.json").unlink()
    assert place.bash("true") == ("(no output)", False)  # what a person does is none of its business
    said, _ = place.bash("echo evil > .mcp.json; rm .codex; mkdir .codex; mkdir .zshrc")
    assert ".codex" in said
    assert ".mcp.json" in said
    assert "tell the user to look at it" in said
    assert place.bash("true") == ("(no output)", False)
    assert "[Server] .mcp.json, .codex" in place.wire.stderr()


@pytest.mark.requirement("sandbox:required")
@pytest.mark.parametrize("user", [None], ids=["as it runs"])
def test_without_a_sandbox_nothing_runs_where_one_is_required(settle: Callable[..., SandboxPlace]) -> None:
    place = settle("--sandbox", "workspace", "--sandbox-required", SANDBOX_BACKEND="allowlist")
    for name in ("Bash", "BackgroundBash"):
        result = place.wire.call(name, {"command": "echo ran > ran"})
        assert result["isError"]
        assert result["content"][0]["text"].startswith("No command may run without a sandbox here")
    assert not (place.work / "ran").exists()
    off = settle("--sandbox-required")
    assert off.bash("echo ran > ran") == (
        "No command may run: SANDBOX_REQUIRED is set, and SANDBOX is off. Set it to read-only or workspace.",
        True,
    )
    assert not (place.work / "ran").exists()


@pytest.mark.requirement("sandbox:required")
@pytest.mark.parametrize("user", [None], ids=["as it runs"])
def test_a_sandbox_that_does_not_work_is_told_with_every_answer(settle: Callable[..., SandboxPlace]) -> None:
    place = settle("--sandbox", "workspace", SANDBOX_BACKEND="allowlist")
    said, failed = place.bash("echo ran")
    assert not failed
    assert said.splitlines()[0] == "ran"
    assert said.splitlines()[1].startswith("[no sandbox works here: this ran with all rights of the user.")
    assert "[Server] No sandbox works here: " in place.wire.stderr()


@pytest.mark.requirement("sandbox:plan")
@pytest.mark.parametrize("mode", ["workspace", "read-only"])
@pytest.mark.parametrize("user", [None, NOBODY], ids=["as it runs", "nobody"])
@pytest.mark.builds("frozen")
def test_plan_mode_in_a_sandbox_is_the_stricter_of_both(
    settle: Callable[..., SandboxPlace], mode: str, user: int | None
) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("an ordinary user runs all of these tests already")
    place = settle("--sandbox", mode, **BACKENDS["bubblewrap"])
    entered = place.wire.text("PlanMode", {"action": "enter", "plan_file": "plan.md"})
    checks = {
        "the plan": ("echo x >> plan.md", mode == "workspace"),
        "the workspace": ("echo x >> src/main", False),
        "temporary": ('echo x > "$TMPDIR/t"', True),
        "a key": ("grep -q . ~/.ssh/id", False),
        "a socket": (f"{PYTHON} 'import socket; socket.socket()'", False),
        "another process": (f"test -d /proc/{os.getpid()}/fd", False),
    }
    found = place.outcomes({name: command for name, (command, _) in checks.items()})
    assert found == {name: works for name, (_, works) in checks.items()}
    assert f"The sandbox (--sandbox {mode}) holds as well, by bubblewrap" in place.wire.text(
        "PlanMode", {"action": "status"}
    ), entered
    place.wire.call("PlanMode", {"action": "reset"})
    assert place.outcomes({"a socket": checks["a socket"][0]}) == {"a socket": True}
