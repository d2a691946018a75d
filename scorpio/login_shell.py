"""What the user's login shell has in PATH, for a server that a desktop program started with a bare one.

Runs the login shell once as a command like any other, so that nothing its start files launch stays behind.
"""

from __future__ import annotations

import asyncio
import os

from scorpio.limits import LOGIN_PATH_MS
from scorpio.process import SpawnFailure, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = "scorpio-login-path="
SAID_BYTES_MAX = 1024 * 1024


async def ask_path(env: Mapping[str, str]) -> str:
    """PATH as `$SHELL -l` has it; empty when there is no such shell or it does not answer within LOGIN_PATH_MS."""
    import tempfile

    if not os.access(env.get("SHELL", ""), os.X_OK):
        return ""
    try:
        file, log_path = tempfile.mkstemp(prefix="scorpio-login-")
    except OSError:
        return ""
    try:
        await _print_path(env, log_path)
        said = os.pread(file, SAID_BYTES_MAX, 0).decode(errors="surrogateescape")
    except (SpawnFailure, TimeoutError):
        return ""
    finally:
        os.close(file)
        os.unlink(log_path)
    return said.rpartition(MARK)[2].partition("\n")[0] if MARK in said else ""


async def _print_path(env: Mapping[str, str], log_path: str) -> None:
    script = f"""exec "$SHELL" -lc 'printf "\\n{MARK}%s\\n" "$PATH"'"""
    asked = await spawn(script, cwd="/", env=env, log_path=log_path, output_bytes_max=SAID_BYTES_MAX)
    try:
        await asyncio.wait_for(asked.wait_shell(), LOGIN_PATH_MS / 1000)
    finally:
        asked.ask_to_terminate(0)
