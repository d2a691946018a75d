"""`scorpio install` and `uninstall`: nine clients' files, edited and given back. Source: cli.md."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.lacking import lacking
from tests.links import executable_under_test

DIRECTORIES = (
    *(".config/Claude", ".cursor", ".config/Code/User", ".codex", ".gemini", ".codeium/windsurf"),
    *(".config/zed", ".config/opencode"),
)
PLACES = {
    ".config/Claude/claude_desktop_config.json": ("mcpServers", "command"),
    ".claude.json": ("mcpServers", "command"),
    ".cursor/mcp.json": ("mcpServers", "command"),
    ".config/Code/User/mcp.json": ("servers", "command"),
    ".gemini/settings.json": ("mcpServers", "command"),
    ".codeium/windsurf/mcp_config.json": ("mcpServers", "command"),
    ".config/zed/settings.json": ("context_servers", "command"),
    ".config/opencode/opencode.json": ("mcp", "command"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for directory in DIRECTORIES:
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / ".claude.json").write_text('{"numStartups": 3}\n')
    return tmp_path


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    try:
        command = [executable_under_test(), *arguments]
    except FileNotFoundError as missing:
        lacking(str(missing))
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def files_of(home: Path) -> dict[str, tuple[bytes, int]]:
    """Every file in the home but the program's own: its bytes and its mode."""
    return {
        str(path.relative_to(home)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in home.rglob("*")
        if path.is_file() and ".scorpio/" not in str(path)
    }


def test_every_client_found_starts_the_installed_program(home: Path) -> None:
    done = run(home, "install")
    assert done.returncode == 0, done.stderr
    program = home / ".scorpio/scorpio"
    for place, (servers, command) in PLACES.items():
        entry = json.loads((home / place).read_text())[servers]["scorpio"]
        assert entry[command] in (str(program), [str(program)]), place
    codex = tomllib.loads((home / ".codex/config.toml").read_text())
    assert codex["mcp_servers"]["scorpio"]["command"] == str(program)
    version = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert version.stdout.startswith("scorpio ")


def test_installing_twice_changes_nothing(home: Path) -> None:
    run(home, "install")
    once = files_of(home)
    assert run(home, "install").returncode == 0
    assert files_of(home) == once


def test_uninstalling_gives_every_byte_back(home: Path) -> None:
    zed = home / ".config/zed/settings.json"
    zed.write_text('// my editor\n{\n  "theme": "One", /* mine */\n  "context_servers": {},\n}\n')
    zed.chmod(0o640)
    codex = home / ".codex/config.toml"
    codex.write_text('model = "o9" # mine\n[mcp_servers.other]\ncommand = "x"')
    before = files_of(home)
    assert run(home, "install").returncode == 0
    assert "/* mine */" in zed.read_text()
    assert stat.S_IMODE(zed.stat().st_mode) == 0o640
    assert run(home, "uninstall").returncode == 0
    after = {name: file for name, file in files_of(home).items() if not name.endswith(".scorpio-backup")}
    assert after == before


def test_what_changed_since_the_installation_stays_when_it_goes(home: Path) -> None:
    run(home, "install", "--client", "cursor")
    file = home / ".cursor/mcp.json"
    file.write_text(file.read_text().replace('"mcpServers": {', '"mcpServers": {\n    "mine": {"command": "m"},'))
    run(home, "uninstall", "--client", "cursor")
    assert json.loads(file.read_text()) == {"mcpServers": {"mine": {"command": "m"}}}


def test_a_dry_run_shows_the_difference_and_changes_nothing(home: Path) -> None:
    before = files_of(home)
    done = run(home, "install", "--dry-run")
    assert done.returncode == 0
    assert '+    "scorpio": {' in done.stdout
    assert files_of(home) == before
    assert not (home / ".scorpio/scorpio").exists()


def test_a_file_that_cannot_be_edited_is_left_alone_and_the_others_are_done(home: Path) -> None:
    (home / ".cursor/mcp.json").write_text("{ broken")
    done = run(home, "install")
    assert done.returncode == 1
    assert "Cursor" in done.stderr
    assert "left as it is: it is not JSON" in done.stderr
    assert (home / ".cursor/mcp.json").read_text() == "{ broken"
    assert "scorpio" in (home / ".gemini/settings.json").read_text()


def test_a_link_to_the_settings_stays_a_link(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}")
    (home / ".gemini/settings.json").symlink_to(real)
    run(home, "install", "--client", "gemini-cli")
    assert (home / ".gemini/settings.json").is_symlink()
    assert "scorpio" in real.read_text()


def test_a_client_that_is_not_here_is_registered_when_it_is_named(tmp_path: Path) -> None:
    assert "No client found" in run(tmp_path, "install").stderr
    assert run(tmp_path, "install", "--client", "codex", "zed").returncode == 0
    assert (tmp_path / ".codex/config.toml").exists()
    assert run(tmp_path, "uninstall").returncode == 0
    assert not (tmp_path / ".codex/config.toml").exists()


def test_an_unknown_client_is_named_with_those_there_are(tmp_path: Path) -> None:
    done = run(tmp_path, "install", "--client", "emacs")
    assert done.returncode == 2
    assert "emacs" in done.stderr
    assert "claude-desktop" in done.stderr


def test_a_pipe_in_the_place_of_the_settings_hangs_nothing(home: Path) -> None:
    os.mkfifo(home / ".cursor/mcp.json")
    done = run(home, "install", "--client", "cursor")
    assert done.returncode == 1
    assert "not a regular file" in done.stderr
