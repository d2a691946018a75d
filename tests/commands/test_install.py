"""`scorpio install` and `uninstall`: nine clients' files, edited and given back. Source: cli.md."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.commands.conftest import Run

pytestmark = pytest.mark.builds("frozen")

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

OF_PEOPLE = {
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        """{
  "globalShortcut": "Alt+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Documents"]
    },
    "sqlite": { "command": "uvx", "args": [ "mcp-server-sqlite", "--db-path", "/home/ada/t.db" ] }
  }
}
""",
    ),
    "claude-code": (
        ".claude.json",
        """{
  "numStartups": 214,
  "tipsHistory": {"shift-enter": 12, "memory-command": 3},
  "mcpServers": {
    "github": {"type": "http", "url": "https://mcp.example/", "headers": {"Authorization": "Bearer \u00e9"}}
  },
  "projects": {
    "/home/ada/work": {"allowedTools": ["Bash(git log:*)"], "mcpServers": {}, "hasTrustDialogAccepted": true}
  },
  "userID": "8a6e0c"
}""",
    ),
    "cursor": (
        ".cursor/mcp.json",
        r'{"mcpServers":{"db":{"command":"docker","args":["run","mcp/postgres"],"env":{"PGPASSWORD":"a\"b"}}}}',
    ),
    "vscode": (
        ".config/Code/User/mcp.json",
        """{
\t// asked for once, kept by VS Code
\t"inputs": [
\t\t{ "type": "promptString", "id": "key", "description": "API key", "password": true },
\t],
\t"servers": {
\t\t"fetch": {
\t\t\t"type": "stdio",
\t\t\t"command": "uvx", /* pinned below */
\t\t\t"args": ["mcp-server-fetch==2025.4.7"],
\t\t},
\t},
}
""",
    ),
    "codex": (
        ".codex/config.toml",
        """# mine, by hand
model = "o9"   # the quick one
approval_policy = 'on-request'
notify = ["notify-send",
          "Codex"]

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-mcp"] # not @latest
env = { TOKEN = "x#y" }

[mcp_servers.docs.tools]

[profiles."o 3"]
model_reasoning_effort = "high"
""",
    ),
    "gemini-cli": (
        ".gemini/settings.json",
        """{
    "theme": "GitHub",
    "selectedAuthType": "oauth-personal",
    "mcpServers": {
        "python": {
            "command": "python3",
            "args": ["-m", "my_server"],
            "timeout": 15000
        }
    },

    "checkpointing": {"enabled": true}
}
""",
    ),
    "windsurf": (
        ".codeium/windsurf/mcp_config.json",
        """{\r
  "mcpServers": {\r
    "linear": {\r
      "serverUrl": "https://mcp.example/sse",\r
      "disabled": false\r
    }\r
  }\r
}\r
""",
    ),
    "zed": (
        ".config/zed/settings.json",
        """// Zed settings
//
// For information on how to configure Zed, see its documentation.
{
  "theme": { "mode": "system", "light": "One Light", "dark": "One Dark" },
  "buffer_font_size": 15.0,
  "lsp": { "rust-analyzer": { "binary": { "path": "/usr/bin/rust-analyzer" } } }, // the distribution's
  "context_servers": {
    "postgres": { "command": "pg-mcp", "args": [], "env": {} },
    // "old": { "command": "gone" },
  },
  "vim_mode": true,
}
""",
    ),
    "opencode": (
        ".config/opencode/opencode.json",
        """{
  "$schema": "https://opencode.ai/config.json",
  "model": "anthropic/claude",
  "mcp": {
    "weather": {
      "type": "remote",
      "url": "https://weather.example/mcp",
      "enabled": false
    }
  }
}
""",
    ),
}
"""A file of each client as people have it: other servers, comments where they may be, formatting of their own."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for directory in DIRECTORIES:
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / ".claude.json").write_text('{"numStartups": 3}\n')
    return tmp_path


def files_of(home: Path) -> dict[str, tuple[bytes, int]]:
    """Every file in the home but the program's own: its bytes and its mode."""
    return {
        str(path.relative_to(home)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in home.rglob("*")
        if path.is_file() and ".scorpio/" not in str(path)
    }


def test_every_client_found_starts_the_installed_program(run: Run, home: Path) -> None:
    done = run("install")
    assert done.returncode == 0, done.stderr
    program = home / ".scorpio/scorpio"
    for place, (servers, command) in PLACES.items():
        entry = json.loads((home / place).read_text())[servers]["scorpio"]
        assert entry[command] in (str(program), [str(program)]), place
    codex = tomllib.loads((home / ".codex/config.toml").read_text())
    assert codex["mcp_servers"]["scorpio"]["command"] == str(program)
    version = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert version.stdout.startswith("scorpio ")


def test_installing_twice_changes_nothing(run: Run, home: Path) -> None:
    run("install")
    once = files_of(home)
    assert run("install").returncode == 0
    assert files_of(home) == once


def test_uninstalling_gives_every_byte_back(run: Run, home: Path) -> None:
    zed = home / ".config/zed/settings.json"
    zed.write_text('// my editor\n{\n  "theme": "One", /* mine */\n  "context_servers": {},\n}\n')
    zed.chmod(0o640)
    codex = home / ".codex/config.toml"
    codex.write_text('model = "o9" # mine\n[mcp_servers.other]\ncommand = "x"')
    before = files_of(home)
    assert run("install").returncode == 0
    assert "/* mine */" in zed.read_text()
    assert stat.S_IMODE(zed.stat().st_mode) == 0o640
    assert run("uninstall").returncode == 0
    after = {name: file for name, file in files_of(home).items() if not name.endswith(".scorpio-backup")}
    assert after == before


@pytest.mark.requirement("cli:install-nothing-else")
@pytest.mark.parametrize("client", OF_PEOPLE)
def test_a_file_that_people_keep_is_given_back_after_two_installations(run: Run, tmp_path: Path, client: str) -> None:
    name, text = OF_PEOPLE[client]
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    file.chmod(0o640)
    assert run("install", "--client", client).returncode == 0
    once = file.read_bytes()
    again = run("install", "--client", client)
    assert (again.returncode, file.read_bytes()) == (0, once)
    assert "is registered already" in again.stderr
    letters = iter(once.decode())
    assert all(letter in letters for letter in text), "only insertions: what was there is there, in its order"
    assert json.dumps(str(tmp_path / ".scorpio/scorpio")) in once.decode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    backup = file.with_name(file.name + ".scorpio-backup")
    assert backup.read_bytes() == text.encode()
    assert run("uninstall", "--client", client).returncode == 0
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (text.encode(), 0o640)


@pytest.mark.requirement("cli:install-nothing-else")
@pytest.mark.parametrize("client", OF_PEOPLE)
def test_without_its_backup_an_uninstallation_takes_the_entry_and_nothing_else(
    run: Run, tmp_path: Path, client: str
) -> None:
    name, text = OF_PEOPLE[client]
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    assert run("install", "--client", client).returncode == 0
    file.with_name(file.name + ".scorpio-backup").unlink()
    assert run("uninstall", "--client", client).returncode == 0
    kept = [line.rstrip().rstrip(",") for line in file.read_bytes().decode().splitlines() if line.strip()]
    assert kept == [line.rstrip().rstrip(",") for line in text.splitlines() if line.strip()]


def test_what_changed_since_the_installation_stays_when_it_goes(run: Run, home: Path) -> None:
    run("install", "--client", "cursor")
    file = home / ".cursor/mcp.json"
    file.write_text(file.read_text().replace('"mcpServers": {', '"mcpServers": {\n    "mine": {"command": "m"},'))
    run("uninstall", "--client", "cursor")
    assert json.loads(file.read_text()) == {"mcpServers": {"mine": {"command": "m"}}}


def test_a_dry_run_shows_the_difference_and_changes_nothing(run: Run, home: Path) -> None:
    before = files_of(home)
    done = run("install", "--dry-run")
    assert done.returncode == 0
    assert '+    "scorpio": {' in done.stdout
    assert files_of(home) == before
    assert not (home / ".scorpio/scorpio").exists()


def test_a_file_that_cannot_be_edited_is_left_alone_and_the_others_are_done(run: Run, home: Path) -> None:
    (home / ".cursor/mcp.json").write_text("{ broken")
    done = run("install")
    assert done.returncode == 1
    assert "Cursor" in done.stderr
    assert "left as it is: it is not JSON" in done.stderr
    assert (home / ".cursor/mcp.json").read_text() == "{ broken"
    assert "scorpio" in (home / ".gemini/settings.json").read_text()


def test_a_link_to_the_settings_stays_a_link(run: Run, home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}")
    (home / ".gemini/settings.json").symlink_to(real)
    run("install", "--client", "gemini-cli")
    assert (home / ".gemini/settings.json").is_symlink()
    assert "scorpio" in real.read_text()


def test_a_client_that_is_not_here_is_registered_when_it_is_named(run: Run, tmp_path: Path) -> None:
    assert "No client found" in run("install").stderr
    assert run("install", "--client", "codex", "zed").returncode == 0
    assert (tmp_path / ".codex/config.toml").exists()
    assert run("uninstall").returncode == 0
    assert not (tmp_path / ".codex/config.toml").exists()


def test_an_unknown_client_is_named_with_those_there_are(run: Run, tmp_path: Path) -> None:
    done = run("install", "--client", "emacs")
    assert done.returncode == 2
    assert "emacs" in done.stderr
    assert "claude-desktop" in done.stderr


def test_a_pipe_in_the_place_of_the_settings_hangs_nothing(run: Run, home: Path) -> None:
    os.mkfifo(home / ".cursor/mcp.json")
    done = run("install", "--client", "cursor")
    assert done.returncode == 1
    assert "not a regular file" in done.stderr
