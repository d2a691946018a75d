"""Composition root: settings, toolsets, server, transport. The only place that knows all of them."""

from __future__ import annotations

import os

from scorpio.log import Log
from scorpio.server.lanes import ThreadLane
from scorpio.server.server import Server
from scorpio.settings import load, project_of
from scorpio.state.home import Home, home_path
from scorpio.tool import ConfigurationError
from scorpio.toolset import Features, ToolsetError, chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scorpio.server.lanes import Lane
    from scorpio.settings import Settings
    from scorpio.settings_lines import Line
    from scorpio.toolset import Toolset
    from scorpio.transports.http.serve import HttpOptions
    from scorpio.transports.http.site import Page

DEFAULT_TOOLSETS = ("core",)


def settings_and_home(flags: Iterable[Line] = ()) -> tuple[Settings, Home]:
    """`flags`: what the command line says of keys."""
    environ = os.environ
    root = home_path(environ)
    return load(environ, root, project(), flags), Home(root)


def project() -> str | None:
    try:
        return project_of(os.environ.get("SCORPIO_CWD") or os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())
    except OSError:  # the directory was removed
        return None


def build_server(toolsets: Sequence[str] = (), lane: Lane | None = None, flags: Iterable[Line] = ()) -> Server:
    """A server of the named toolsets, else of the configured ones. Raises ToolsetError."""
    settings, home = settings_and_home(flags)
    log = Log(settings.log_level)
    for warning in settings.warnings:
        log.warning(warning)
    found = chosen(toolsets) if toolsets else _configured(settings)
    features = Features(found, hidden=settings.hidden_tools, tools=settings.tools)
    server = Server(features, settings, home, lane or ThreadLane(), log)
    try:
        server.open_configured()
    except ConfigurationError as wrong:
        raise ToolsetError(str(wrong)) from None
    return server


def _configured(settings: Settings) -> list[Toolset]:
    """Raises ToolsetError: others than were meant would do what nobody wanted."""
    try:
        return chosen(settings.toolsets or DEFAULT_TOOLSETS)
    except ToolsetError as wrong:
        raise ToolsetError(f"{settings.sources.get('TOOLSETS', 'default')}: {wrong}") from None


def serve_stdio(toolsets: Sequence[str] = (), flags: Iterable[Line] = ()) -> int:
    """Serve on stdin and stdout until the client is gone. Returns only when nothing could be served."""
    from scorpio.transports import stdio
    from scorpio.transports.wire_guard import claim

    wire = claim()  # before a file is opened that could land on a descriptor that was closed
    try:
        server = build_server(toolsets, flags=flags)
    except ToolsetError as error:
        os.write(2, f"scorpio: {error}\n".encode())
        return 2
    stdio.serve(server, wire)
    return 0


def serve_http(options: HttpOptions, toolsets: Sequence[str] = (), flags: Iterable[Line] = ()) -> int:
    """Serve many clients over HTTP until a signal ends it. Returns only when nothing could be served."""
    from scorpio.transports.http.serve import CannotServe, run

    try:
        run(lambda lane: build_server(toolsets, lane, flags), options, _pages())
    except (ToolsetError, CannotServe) as error:
        os.write(2, f"scorpio: {error}\n".encode())
        return 2 if isinstance(error, ToolsetError) else error.status
    return 0


def _pages() -> dict[bytes, Page]:
    from scorpio import inspector
    from scorpio.transports.http.site import Page

    headers = "".join(f"{name}: {value}\r\n" for name, value in inspector.HEADERS.items()).lower().encode()
    return {
        path.encode(): Page(content, media_type.encode(), headers)
        for path, (media_type, content) in inspector.files().items()
    }
