"""`scorpio doctor`: what works on this machine, and what to do about what does not."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorpio.app import build_server, settings_and_home
from scorpio.commands.install import this_machine
from scorpio.commands.sandbox_findings import command_sandboxes
from scorpio.registration import files, place
from scorpio.registration.clients import CLIENTS
from scorpio.registration.edit import EditFailure
from scorpio.state.home import Home
from scorpio.toolset import ToolsetError

if TYPE_CHECKING:
    from scorpio.settings import Settings
    from scorpio.tool import Finding

BASH_WAIT_S = 10
ROOM_BYTES_MIN = 1024 * 1024 * 1024
"""Of the state's disk: one log of a command may become as long."""

NETWORK_FILE_SYSTEMS = {0x6969: "NFS", 0xFF534D42: "SMB", 0xFE534D42: "SMB", 0x517B: "SMB"}
"""By statfs' f_type: several machines there do not see each other's locks. Source: statfs(2)."""


def run(options: list[str]) -> int:
    """Exit status 1 when something does not work. `options`: the live examinations that are wanted."""
    settings, home = settings_and_home()
    failed = False
    for title, findings in _sections(settings, home, options):
        sys.stdout.write(f"{title}\n")
        for name, works, said in findings:
            failed |= not works
            sys.stdout.write(f"  {_mark(works)} {name}: {said}\n")
    return int(failed)


def _mark(works: bool) -> str:
    plain = not sys.stdout.isatty() or bool(os.environ.get("NO_COLOR"))
    word = "ok  " if works else "FAIL"
    return word if plain else f"\x1b[{32 if works else 31}m{word}\x1b[0m"


def _sections(settings: Settings, home: Home, options: list[str]) -> Iterator[tuple[str, list[Finding]]]:
    yield "This machine", [_bash(), asyncio.run(_sandbox(settings))]
    yield "Sandbox of commands", asyncio.run(command_sandboxes(settings))
    yield "State", list(_state(home))
    if settings.warnings:
        yield "Configuration", [(f"line {number}", False, said) for number, said in enumerate(settings.warnings, 1)]
    yield "Toolsets", list(_toolsets(options))
    yield "Clients", list(_clients(home))


def _bash() -> Finding:
    bash = shutil.which("bash")
    if bash is None:
        return "bash", False, "it is not on PATH; commands run in /bin/sh. Install bash."
    started_s = time.monotonic()
    try:
        done = subprocess.run([bash, "-c", "true"], timeout=BASH_WAIT_S, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as fault:
        return "bash", False, f"{bash} does not run ({fault}). Reinstall it."
    took_ms = (time.monotonic() - started_s) * 1000
    return "bash", done.returncode == 0, f"{bash} answers in {took_ms:.0f} ms"


async def _sandbox(settings: Settings) -> Finding:
    """Which of the ways to confine a command works: the weakest is no fault of the machine's, and is said."""
    from scorpio import process, sandbox

    try:
        backend = await sandbox.find(settings.sandbox_backend, namespaces=settings.sandbox_namespaces)
    finally:
        process.end_all(0)
    said = [backend.describe(), *backend.gaps(), *backend.reasons]
    works = backend.by_kernel
    advice = [] if works else ["Install bubblewrap, or use a kernel with Landlock"]
    return "sandbox", works, ". ".join(part.rstrip(".") for part in (*said, *advice)) + "."


def _state(home: Home) -> Iterator[Finding]:
    root = Path(home.root)
    nearest = next(path for path in (root, *root.parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        yield "directory", False, f"{nearest} cannot be written; set SCORPIO_HOME to a directory of yours."
        return
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        yield "directory", False, f"{root} is not a directory. Move it away or set SCORPIO_HOME."
    elif root.exists() and root.stat().st_uid != os.geteuid():
        yield "directory", False, f"{root} belongs to user {root.stat().st_uid}. Set SCORPIO_HOME."
    elif root.exists() and stat.S_IMODE(root.stat().st_mode) & 0o077:
        yield "directory", False, f"others may look into {root}: chmod 700 {root}"
    else:
        yield "directory", True, f"{root}{'' if root.exists() else ' (made with the first use)'}"
    free_bytes = shutil.disk_usage(nearest).free
    enough = free_bytes >= ROOM_BYTES_MIN
    yield "room", enough, f"{free_bytes / 2**30:.1f} GiB free" + ("" if enough else "; logs of commands need more.")
    network = NETWORK_FILE_SYSTEMS.get(_file_system(nearest))
    if network is not None:
        yield "file system", False, f"{nearest} is on {network}; set SCORPIO_HOME to a disk of this machine."


def _file_system(path: Path) -> int:
    """f_type of statfs(2); 0 where it cannot be asked for."""
    done = subprocess.run(["stat", "-f", "-c", "%t", str(path)], capture_output=True, text=True, check=False)
    return int(done.stdout.strip() or "0", 16) if done.returncode == 0 else 0


def _toolsets(options: list[str]) -> Iterator[Finding]:
    """What the states of the toolsets can say of themselves: `checks`, and the examinations that were asked for."""
    try:
        server = build_server()
    except ToolsetError as error:
        yield "toolsets", False, str(error)
        return
    try:
        for toolset in server.features.toolsets:
            count = len(toolset.tools)
            yield toolset.name, True, f"{count} tool{'s' if count != 1 else ''}"
            state = server.state(toolset)
            if hasattr(state, "checks"):
                yield from state.checks()
            examinations: dict[str, Any] = state.examinations() if hasattr(state, "examinations") else {}
            for option in options:
                if option in examinations:
                    yield from asyncio.run(examinations[option]())
    finally:
        server.close()


def _clients(home: Home) -> Iterator[Finding]:
    machine, program = this_machine(), place.target(home.root)
    present = program.is_file() and os.access(program, os.X_OK)
    said = str(program) if present else f"not at {program}: `scorpio install` puts it there."
    yield "program", present, said
    for client in CLIENTS:
        if not files.found(client, machine):
            continue
        try:
            change = files.unregistered(client, machine)
        except EditFailure as failure:
            yield client.title, False, f"{files.location(client, machine)}: {failure}."
            continue
        known = "registered" if not change.is_none else f"not registered; `scorpio install --client {client.name}`"
        yield client.title, not change.is_none, f"{known} ({change.file})"
