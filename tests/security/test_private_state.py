"""The state directory: private whatever the umask, refused with a cure where others could have a hand in it (G6)."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scorpio.state.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server_process import ServerProcess


def called(server: ServerProcess, name: str, **arguments: Any) -> tuple[str, bool]:
    server.send(
        {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    )
    while (answer := server.answers(1)[0]).get("id") != name:
        pass  # a list has changed
    result = answer["result"]
    return result["content"][0]["text"], result.get("isError", False)


def spoil(root: Path, how: str) -> None:
    if how == "a symbolic link":
        (root.parent / "elsewhere").mkdir()
        root.symlink_to("elsewhere")
    elif how == "a file":
        root.write_text("")
    elif how == "a FIFO":
        os.mkfifo(root)
    else:
        root.mkdir()
        if how == "another's":
            os.chown(root, 12345, 12345)
        else:
            root.chmod(0o777 if how == "everybody's" else 0o770)


CURES = {
    "a symbolic link": "is not a directory. Move it away or set SCORPIO_HOME",
    "a file": "is not a directory. Move it away or set SCORPIO_HOME",
    "a FIFO": "is not a directory. Move it away or set SCORPIO_HOME",
    "everybody's": "Look at what is in it, then chmod 700 it",
    "a group's": "Look at what is in it, then chmod 700 it",
    "another's": "belongs to user 12345. Set SCORPIO_HOME",
}


@pytest.mark.requirement("home:refused")
@pytest.mark.parametrize("how", CURES)
@pytest.mark.parametrize("below", ["", "tasks"])
def test_a_place_that_others_can_change_is_refused_with_its_cure(tmp_path: Path, how: str, below: str) -> None:
    if how == "another's" and os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    root = tmp_path / "state"
    if below:
        root.mkdir(0o700)
    spoil(root / below if below else root, how)
    with pytest.raises(OSError, match=CURES[how]):
        Home(str(root)).directory(*filter(None, [below]))
    assert not (tmp_path / "elsewhere").exists() or list((tmp_path / "elsewhere").iterdir()) == []


def test_a_directory_that_others_could_only_read_becomes_private(tmp_path: Path) -> None:
    root = tmp_path / "state"
    root.mkdir()
    root.chmod(0o755)
    Home(str(root)).directory()
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


@pytest.mark.requirement("home:refused")
@pytest.mark.builds("frozen")
@pytest.mark.parametrize("how", ["a symbolic link", "everybody's"])
def test_a_server_with_such_a_state_serves_what_needs_none(
    start: Callable[..., ServerProcess], environ: dict[str, str], how: str
) -> None:
    root = Path(environ["SCORPIO_HOME"])
    spoil(root, how)
    server = start("core", environ=environ).open()
    said, failed = called(server, "TaskManager", action="create", query="", text="a task")
    assert failed
    assert CURES[how].rsplit(",", maxsplit=1)[-1] in said
    assert called(server, "Bash", command="echo served") == ("served", False)
    assert list(root.iterdir()) == []


@pytest.mark.requirement("home:private")
@pytest.mark.parametrize("umask", ["000", "777"])
def test_all_that_is_written_is_private_whatever_the_umask(
    start: Callable[..., ServerProcess], environ: dict[str, str], umask: str, tmp_path: Path
) -> None:
    environ["SCORPIO_CACHE_DIR"] = str(tmp_path / "cache")
    Path(environ["SCORPIO_CACHE_DIR"]).mkdir(mode=0o700)
    root = Path(environ["SCORPIO_HOME"])
    root.mkdir(mode=0o700)
    server = start("core", wrapped=["sh", "-c", f'umask {umask}; exec "$@"', "sh"], environ=environ).open()
    assert not called(server, "TaskManager", action="create", query="", text="a task")[1]
    assert not called(server, "Bash", command="seq 100000; sleep 50 &")[1]
    assert not called(server, "BackgroundBash", command="sleep 50")[1]
    assert not called(server, "SetCallback", action="set", message="later", delay_seconds=3000)[1]
    assert not called(server, "PlanMode", action="enter", goal="look")[1]
    found = {path: stat.S_IMODE(path.lstat().st_mode) for path in [root, *root.rglob("*")]}
    open_to_others = {str(path.relative_to(root)): oct(mode) for path, mode in found.items() if mode & 0o077}
    assert open_to_others == {}
    assert len(found) > 8
    server.close_stdin()
    server.rest()
    assert server.status() == 0
