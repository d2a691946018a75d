"""kill -9 at random moments of every state writer: the next server reads it all, and nothing acknowledged is lost.

The database has tests of its own (test_task_manager, test_database, test_delivery), the launcher's cache too
(test_cache). Here are the writers of files: background tasks, plan mode, the key of sealed questions, configuration and
what `install` writes into the settings of clients.
"""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.links import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.server_process import ServerProcess

SOAKING = os.environ.get("SCORPIO_SOAK") == "1"
ROUNDS = 60 if SOAKING else 4
MOMENT_S_MAX = 0.12
"""A little longer than what each writer needs, so that the kill falls before, into and after its write."""

pytestmark = [pytest.mark.faults, pytest.mark.builds("frozen")]


def call(id_: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


WRITERS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "background tasks": [("BackgroundBash", {"command": f"echo {at}; sleep 60"}) for at in range(6)],
    "plan mode": [("PlanMode", {"action": action, "goal": "g" * 500}) for action in ("enter", "reset") * 4],
    "callbacks": [
        ("SetCallback", {"action": "set", "message": f"look {at}", "delay_seconds": 3600, "repeat_count": 2})
        for at in range(6)
    ],
    "tasks": [("TaskManager", {"action": "create", "query": f"Task {at}", "text": "a\nb"}) for at in range(6)],
}
READERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ListBgTasks", {}),
    ("PlanMode", {"action": "json"}),
    ("SetCallback", {"action": "list"}),
    ("TaskManager", {"action": "list", "query": ""}),
)


@pytest.mark.requirement("faults:crash-consistency")
@pytest.mark.parametrize("writer", WRITERS)
def test_a_server_killed_at_any_moment_leaves_a_state_that_the_next_one_reads(
    start: Callable[..., ServerProcess], writer: str, tmp_path: Path
) -> None:
    chance = random.Random(writer)
    for number in range(ROUNDS):
        server = start("core").open()
        server.send(*(call(at, name, arguments) for at, (name, arguments) in enumerate(WRITERS[writer])))
        signal_after(server, chance.uniform(0, MOMENT_S_MAX))
        acknowledged = acknowledged_of(server.rest())
        following = start("core").open()
        said = {name: following.call(name, arguments, id=name)["result"] for name, arguments in READERS}
        assert not [name for name, result in said.items() if result["isError"]], said
        if writer == "background tasks":
            listed = said["ListBgTasks"]["content"][0]["text"]
            assert not [id_ for id_ in acknowledged if f"\n{id_}" not in f"\n{listed}" and id_ not in listed], listed
        assert "Traceback" not in following.stderr(), number
        following.close_stdin()
        following.status()
    assert not list((tmp_path / ".scorpio").rglob("*corrupt*"))


def signal_after(server: ServerProcess, seconds: float) -> None:
    """The kill falls at this moment after the requests were sent."""
    killer = subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -9 {server.pid}"])
    assert server.status() == -signal.SIGKILL
    killer.wait()


def acknowledged_of(output: bytes) -> list[str]:
    """Ids of the background tasks that the client was told of."""
    ids = []
    for line in output.splitlines():
        try:
            words = json.loads(line)["result"]["content"][0]["text"].split()
        except (ValueError, KeyError, IndexError):
            continue  # the last line may be half a line
        ids += [word for word in words if word.rstrip(".:").isdigit()][:1]
    return ids


@pytest.mark.requirement("faults:crash-consistency")
def test_a_key_whose_writer_was_killed_is_whole_or_not_there(
    start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    """The first question that is sealed makes the key of the installation."""
    prefix = "io.modelcontextprotocol/"
    meta = {prefix + "protocolVersion": "2026-07-28", prefix + "clientCapabilities": {"elicitation": {"form": {}}}}
    ask = call(1, "test_input_required_result_elicitation", {})
    ask["params"]["_meta"] = meta
    chance = random.Random(1)
    for _ in range(ROUNDS):
        for name in os.listdir(tmp_path / ".scorpio") if (tmp_path / ".scorpio").exists() else ():
            path = tmp_path / ".scorpio" / name
            if path.is_file():
                path.unlink()
        server = start("conformance")
        server.send(ask)
        signal_after(server, chance.uniform(0, MOMENT_S_MAX))
        following = start("conformance")
        following.send(ask)
        [answer] = following.answers(1)
        state = answer["result"]["requestState"]
        again = {**ask["params"], "requestState": state, "inputResponses": {}}
        answer = following.request("tools/call", again, id=2)
        assert "result" in answer, answer
        for path in (tmp_path / ".scorpio").iterdir():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.requirement("faults:crash-consistency")
def test_settings_whose_writer_was_killed_are_the_old_ones_or_the_new(
    command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path
) -> None:
    executable = command("core")[0]
    chance = random.Random(2)
    settings = tmp_path / ".claude.json"
    kept = {"numStartups": 7, "mcpServers": {"other": {"command": "other"}}}
    configure = [executable, "config", "--set", "LOG_LEVEL"]
    install = [executable, "install", "--client", "claude-code"]
    subprocess.run([*configure, "info"], env=environ, cwd=ROOT, check=True, capture_output=True)
    for number in range(ROUNDS):
        settings.write_text(json.dumps(kept), "utf-8")
        for words in ([*configure, ("debug", "warning")[number % 2]], install):
            quiet: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            writer = subprocess.Popen(words, env=environ, cwd=ROOT, **quiet)
            try:
                writer.wait(chance.uniform(0.05, 0.05 + 3 * MOMENT_S_MAX))
            except subprocess.TimeoutExpired:
                writer.kill()
                writer.wait()
        read = json.loads(settings.read_text("utf-8"))
        assert (read["numStartups"], read["mcpServers"]["other"]) == (7, {"command": "other"})
        get = [executable, "config", "--get", "LOG_LEVEL"]
        shown = subprocess.run(get, env=environ, cwd=ROOT, capture_output=True, text=True, check=False)
        assert any(level in shown.stdout for level in ("info", "debug", "warning")), shown
        assert "warning:" not in shown.stderr.lower(), shown
