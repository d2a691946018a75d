"""The MCP clients this program can register with, a row each: their file on each platform, its form, their entry.

Sources: each client's own documentation of November 2026. What a platform lacks has no row there.
"""

from __future__ import annotations

from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, NamedTuple

from scorpio.registration import jsonc, toml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scorpio.registration.edit import Editor

NAME = "scorpio"
"""Of the entry, in every client."""


class Machine(NamedTuple):
    """What decides where files are; a value of its own so that every platform's paths can be asked for anywhere."""

    platform: str
    """As sys.platform: linux, darwin, win32."""
    home: str
    environ: Mapping[str, str]

    def path(self, *parts: str) -> PurePath:
        return (PureWindowsPath if self.platform == "win32" else PurePosixPath)(*parts)

    def below_home(self, *parts: str) -> PurePath:
        return self.path(self.home, *parts)

    def applications(self, *parts: str) -> PurePath:
        """Where graphical programs keep their settings."""
        if self.platform == "win32":
            return self.path(self.environ.get("APPDATA") or str(self.below_home("AppData", "Roaming")), *parts)
        if self.platform == "darwin":
            return self.below_home("Library", "Application Support", *parts)
        return self.dot_config(*parts)

    def dot_config(self, *parts: str) -> PurePath:
        configured = self.environ.get("XDG_CONFIG_HOME", "")
        root = configured if self.path(configured).is_absolute() else str(self.below_home(".config"))
        return self.path(root, *parts)

    def variable_or_home(self, variable: str, directory: str, file: str) -> PurePath:
        """The directory that `variable` names, else `directory` in the home."""
        configured = self.environ.get(variable)
        return self.path(configured, file) if configured else self.below_home(directory, file)


class Client(NamedTuple):
    name: str
    title: str
    file: Callable[[Machine], PurePath]
    path: tuple[str, ...]
    """Where in the file the entry stands."""
    entry: Callable[[str], dict[str, Any]]
    """The entry for a command."""
    editor: Editor = jsonc
    programs: tuple[str, ...] = ()
    """The client is on this machine when one of these is on PATH, or the directory of its file exists."""
    shared_directory: bool = False
    """The file's directory exists without the client too; then only the file or a program tells."""
    restart: str = "Restart it to load the server."


def _command(command: str) -> dict[str, Any]:
    return {"command": command, "args": []}


def _typed(command: str) -> dict[str, Any]:
    return {"type": "stdio", **_command(command)}


def _opencode(command: str) -> dict[str, Any]:
    return {"type": "local", "command": [command], "enabled": True}


def _claude_code(machine: Machine) -> PurePath:
    return machine.variable_or_home("CLAUDE_CONFIG_DIR", "", ".claude.json")


def _zed(machine: Machine) -> PurePath:
    if machine.platform == "win32":
        return machine.applications("Zed", "settings.json")
    return (
        machine.below_home(".config") if machine.platform == "darwin" else machine.dot_config()
    ) / "zed/settings.json"


def _opencode_file(machine: Machine) -> PurePath:
    return machine.dot_config("opencode", "opencode.json")


CLIENTS = (
    Client("claude-desktop", "Claude Desktop", lambda at: at.applications("Claude", "claude_desktop_config.json"),
           ("mcpServers", NAME), _command),
    Client("claude-code", "Claude Code", _claude_code, ("mcpServers", NAME), _typed,
           programs=("claude",), shared_directory=True, restart="New sessions have the server."),
    Client("cursor", "Cursor", lambda at: at.below_home(".cursor", "mcp.json"), ("mcpServers", NAME), _command,
           programs=("cursor",)),
    Client("vscode", "VS Code", lambda at: at.applications("Code", "User", "mcp.json"), ("servers", NAME), _typed,
           programs=("code",)),
    Client("codex", "Codex", lambda at: at.variable_or_home("CODEX_HOME", ".codex", "config.toml"),
           ("mcp_servers", NAME), _command, toml, programs=("codex",), restart="New sessions have the server."),
    Client("gemini-cli", "Gemini CLI", lambda at: at.below_home(".gemini", "settings.json"), ("mcpServers", NAME),
           _command, programs=("gemini",), restart="New sessions have the server."),
    Client("windsurf", "Windsurf", lambda at: at.below_home(".codeium", "windsurf", "mcp_config.json"),
           ("mcpServers", NAME), _command, programs=("windsurf",)),
    Client("zed", "Zed", _zed, ("context_servers", NAME), _command, programs=("zed",),
           restart="It loads the server at once."),
    Client("opencode", "opencode", _opencode_file, ("mcp", NAME), _opencode, programs=("opencode",),
           restart="New sessions have the server."),
)  # fmt: skip
BY_NAME = {client.name: client for client in CLIENTS}
