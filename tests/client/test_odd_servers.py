"""A server that answers oddly is a server's fault: the client says what it can, and ends as it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client import odd_server
from tests.links import executable_under_test

LINES = (
    "tools", "tools x", "call x a=1", "call y a=1", "call z", "prompts", "prompt p a=1", "resources", "read a://b",
    "raw tools/list", "info", "subscribe a://b", "log debug",
)  # fmt: skip
CALLED = {"content": 1, "error": 3, "deep": 3, "task": 3, "rounds": 3}
"""Exit status of one call, where it is not 0."""


@pytest.mark.requirement("cli:no-traceback")
@pytest.mark.parametrize("kind", odd_server.KINDS)
def test_an_odd_server_never_breaks_the_client(tmp_path: Path, unpacked: str, kind: str) -> None:
    executable = executable_under_test()
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "SCORPIO_CACHE_DIR": unpacked}
    server = [sys.executable, odd_server.__file__, kind]
    for words, lines, status in (
        (["client", *server], "\n".join(LINES), 3 if kind == "deep" else 1),
        (["call", "x", "a=1", "--server", " ".join(server)], "", CALLED.get(kind, 0)),
    ):
        done = subprocess.run(
            [executable, *words], input=lines, env=environment, cwd=tmp_path, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert (words[0], done.returncode) == (words[0], status), said
        assert not [mark for mark in ("Traceback", "fault of scorpio", "never retrieved") if mark in said], said
