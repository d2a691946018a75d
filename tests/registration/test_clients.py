"""Where each client keeps its servers, on every platform: as its documentation says."""

from __future__ import annotations

import pytest

from scorpio.registration.clients import CLIENTS, Machine

LINUX = Machine("linux", "/home/u", {})
MAC = Machine("darwin", "/Users/u", {})
WINDOWS = Machine("win32", "C:\\Users\\u", {"APPDATA": "C:\\Users\\u\\AppData\\Roaming"})
FILES = {
    "claude-desktop": (
        "/home/u/.config/Claude/claude_desktop_config.json",
        "/Users/u/Library/Application Support/Claude/claude_desktop_config.json",
        "C:\\Users\\u\\AppData\\Roaming\\Claude\\claude_desktop_config.json",
    ),
    "claude-code": ("/home/u/.claude.json", "/Users/u/.claude.json", "C:\\Users\\u\\.claude.json"),
    "cursor": ("/home/u/.cursor/mcp.json", "/Users/u/.cursor/mcp.json", "C:\\Users\\u\\.cursor\\mcp.json"),
    "vscode": (
        "/home/u/.config/Code/User/mcp.json",
        "/Users/u/Library/Application Support/Code/User/mcp.json",
        "C:\\Users\\u\\AppData\\Roaming\\Code\\User\\mcp.json",
    ),
    "codex": ("/home/u/.codex/config.toml", "/Users/u/.codex/config.toml", "C:\\Users\\u\\.codex\\config.toml"),
    "gemini-cli": (
        "/home/u/.gemini/settings.json",
        "/Users/u/.gemini/settings.json",
        "C:\\Users\\u\\.gemini\\settings.json",
    ),
    "windsurf": (
        "/home/u/.codeium/windsurf/mcp_config.json",
        "/Users/u/.codeium/windsurf/mcp_config.json",
        "C:\\Users\\u\\.codeium\\windsurf\\mcp_config.json",
    ),
    "zed": (
        "/home/u/.config/zed/settings.json",
        "/Users/u/.config/zed/settings.json",
        "C:\\Users\\u\\AppData\\Roaming\\Zed\\settings.json",
    ),
    "opencode": (
        "/home/u/.config/opencode/opencode.json",
        "/Users/u/.config/opencode/opencode.json",
        "C:\\Users\\u\\.config\\opencode\\opencode.json",
    ),
}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_has_a_file_on_each_platform(client) -> None:  # type: ignore[no-untyped-def]
    assert tuple(str(client.file(machine)) for machine in (LINUX, MAC, WINDOWS)) == FILES[client.name]


@pytest.mark.parametrize(
    ("name", "environ", "file"),
    [
        ("claude-code", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
        ("codex", {"CODEX_HOME": "/x"}, "/x/config.toml"),
        ("zed", {"XDG_CONFIG_HOME": "/cfg"}, "/cfg/zed/settings.json"),
        ("zed", {"XDG_CONFIG_HOME": "relative"}, "/home/u/.config/zed/settings.json"),
    ],
)
def test_a_client_that_was_told_to_keep_it_elsewhere_is_followed(name: str, environ: dict[str, str], file: str) -> None:
    client = next(client for client in CLIENTS if client.name == name)
    assert str(client.file(Machine("linux", "/home/u", environ))) == file
