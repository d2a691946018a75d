"""A disk without a byte left: every tool answers in words, and all is as before once there is room."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.links import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INSIDE = """
import json, os, pathlib, sys
sys.path.insert(0, sys.argv[1])
from tests.faults.mixed_load import Load
load = Load(sys.argv[2], pathlib.Path(sys.argv[3]), 0, "")
client = load.client("full")
assert client.start()
def said():
    return {name: (client.wait(client.call(name, arguments)) or {}) for name, arguments in CALLS.items()}
CALLS = {
    "TaskManager": {"action": "create", "query": "Full"},
    "SetCallback": {"action": "set", "message": "look", "delay_seconds": 3600},
    "Bash": {"command": "echo words that find no room"},
    "BackgroundBash": {"command": "echo hi"},
    "PlanMode": {"action": "enter"},
    "ReadImage": {"file_path": str(load.project / "small.png")},
    "ReadDocs": {"url": load.address + "/page"},
    "InvokeSkill": {"skill_name": "writer"},
    "ListBgTasks": {},
    "sum": {"a": 1, "b": 2},
}
load.fill()
full = said()
(load.place / "ballast").unlink()
client.call("PlanMode", {"action": "reset"})
again = said()
client.text("PlanMode", {"action": "reset"})
client.end("end of input")
print(json.dumps({"full": full, "again": again, "faults": client.faults, "stderr": client.last_words()}))
"""


@pytest.mark.faults
@pytest.mark.builds("frozen")
@pytest.mark.requirement("faults:full-disk")
def test_every_tool_answers_where_the_disk_is_full(
    command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path
) -> None:
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--user", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*unshare, "true"], check=False).returncode != 0:
        pytest.skip("needs a mount namespace, for a small disk of its own")
    place = tmp_path / "disk"
    place.mkdir()
    mount = f'mount -t tmpfs -o size=2m,mode=700 none {place} && exec "$@"'
    program = [sys.executable, "-c", INSIDE, str(ROOT), command("core")[0], str(place)]
    inside = [*unshare, "sh", "-c", mount, "sh", *program]
    done = subprocess.run(inside, env=environ, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["faults"] == []
    assert "Traceback" not in report["stderr"]
    full, again = report["full"], report["again"]
    assert not [name for name, answer in full.items() if "result" not in answer], full
    for name in ("TaskManager", "SetCallback"):
        assert full[name]["result"]["isError"], full[name]
        assert "full" in full[name]["result"]["content"][0]["text"]
    said = full["Bash"]["result"]["content"][0]["text"]  # another disk may have had room for the log
    assert "words that find no room" in said or "full" in said, said
    assert full["sum"]["result"]["content"][0]["text"] == "1 + 2 = 3"
    assert not [name for name, answer in again.items() if answer["result"]["isError"]], again
