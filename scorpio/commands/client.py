"""`scorpio client` and `scorpio call`: any MCP server, at a terminal or in a pipe."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from scorpio.client import arguments
from scorpio.client.answers import Nobody, Terminal
from scorpio.client.client import Client, Link
from scorpio.client.dialog import Lines, ProgressLine
from scorpio.client.failures import LinkFailure, RpcFailure
from scorpio.client.http_link import HttpLink
from scorpio.client.render import Renderer
from scorpio.client.repl import Repl
from scorpio.client.shapes import an_object
from scorpio.client.stdio_link import StdioLink
from scorpio.commands.login import login_for
from scorpio.state.home import Home, home_path

WRONG_CALL = 2
PROTOCOL_FAILURE = 3
SIGINT_STATUS = 130
HISTORY = "client-history"


def link_to(words: Sequence[str], *, headers: Sequence[str] = (), toolsets: str = "", quiet: bool = False) -> Link:
    """To a URL, to a command, or, without either, to a server of this program. Raises ValueError."""
    if toolsets and words:
        raise ValueError("--toolsets is for this program's own server; leave it out with a COMMAND or a URL.")
    if len(words) == 1 and "://" in words[0]:
        url = address(words[0])
        named = {}
        for header in headers:
            name, colon, value = header.partition(":")
            if not colon:
                raise ValueError(f"--header {header!r} is not NAME: VALUE.")
            named[name.strip()] = value.strip()
        token = os.environ.get("SCORPIO_HTTP_TOKEN")
        if token and "authorization" not in {name.lower() for name in named}:
            named["Authorization"] = f"Bearer {token}"
        known = "authorization" in {name.lower() for name in named}
        return HttpLink(url, named, None if known else login_for(url, os.environ))
    if headers:
        raise ValueError("--header is for a server at a URL; one that is started as a COMMAND gets no headers.")
    if words and not words[0].strip():
        raise ValueError("The server's COMMAND is empty.")

    def said(line: str) -> None:
        if not quiet:
            sys.stderr.write(("" if line.startswith("[Server]") else "[Server] ") + line + "\n")

    return StdioLink(words or _own_command(toolsets), said)


def address(url: str) -> str:
    """`url`, where it is one of a server. Raises ValueError."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not url.isprintable() or " " in url:
        raise ValueError(f"{url!r} is no URL of a server. One looks like http://127.0.0.1:3000/mcp.")
    return url


def _own_command(toolsets: str) -> list[str]:
    program = (
        [os.environ["SCORPIO_EXECUTABLE"]] if "SCORPIO_EXECUTABLE" in os.environ else [sys.executable, "-m", "scorpio"]
    )
    return [*program, "serve", *(["--toolsets", toolsets] if toolsets else [])]


def client(words: Sequence[str], *, headers: Sequence[str], toolsets: str, era: str, trace: bool) -> int:
    """The interactive client. Exit status 3 when the server could not be reached or went away."""
    try:
        link = link_to(words, headers=headers, toolsets=toolsets)
    except ValueError as fault:
        return _fault(str(fault), WRONG_CALL)
    return _run(_interactive(link, era, trace))


async def _interactive(link: Link, era: str, trace: bool) -> int:
    repl: Repl | None = None
    lines = Lines(_history_path(), lambda text: repl.completions(text) if repl is not None else ())
    answers = Terminal(lines.ask, _say) if lines.interactive else Nobody()
    connection = Client(
        link,
        answers,
        revision=era,
        notified=lambda method, params: repl.notified(method, params) if repl is not None else None,
        traced=_traced if trace else None,
    )
    try:
        await connection.connect()
        info = an_object(connection.server.get("serverInfo"))
        name = info.get("title") or info.get("name") or "a server"
        _say(f"Connected to {name} {info.get('version', '')}, protocol {connection.revision.name}.")
        repl = Repl(connection, lines, Renderer())
        return await repl.run()
    finally:
        await connection.close()


def call(
    tool: str,
    words: Sequence[str],
    *,
    server: str | None,
    url: str | None,
    headers: Sequence[str],
    toolsets: str,
    era: str,
    as_json: bool,
) -> int:
    """One call. Exit status 0, 1 (the tool failed), 2 (wrong call), 3 (protocol or connection)."""
    try:
        reached = [address(url)] if url is not None else _command_in(server)
        link = link_to(reached, headers=headers, toolsets=toolsets, quiet=True)
    except ValueError as fault:
        return _fault(str(fault), WRONG_CALL)
    return _run(_one_call(link, tool, words, era, as_json))


def _command_in(text: str | None) -> list[str]:
    """The words of `--server`. Raises ValueError."""
    if text is None:
        return []
    import shlex

    try:
        words = shlex.split(text)
    except ValueError:
        raise ValueError(f"--server {text!r} has a quote that is not closed.") from None
    if not words or not words[0]:
        raise ValueError("--server needs the COMMAND that starts a server.")
    return words


async def _one_call(link: Link, tool: str, words: Sequence[str], era: str, as_json: bool) -> int:
    lines = Lines("", lambda text: ())
    answers = Terminal(lines.ask, _say) if lines.interactive else Nobody()
    connection = Client(link, answers, revision=era)
    progress = ProgressLine()
    try:
        await connection.connect()
        tools = {str(each.get("name")): each for each in await connection.all("tools/list", "tools")}
        given = arguments.of_words(words, an_object((tools.get(tool) or {}).get("inputSchema")))
        result = await connection.request("tools/call", {"name": tool, "arguments": given}, progress.update)
        progress.clear()
        _show(result, tool, as_json)
        return int(bool(result.get("isError")))
    except arguments.ArgumentFault as fault:
        return _fault(str(fault), WRONG_CALL)
    finally:
        await connection.close()


def _show(result: dict[str, Any], tool: str, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(result, ensure_ascii=False) + "\n")
    else:
        Renderer().tool_result(result, tool)


def _run(work: Any) -> int:
    try:
        return int(asyncio.run(work))
    except LinkFailure as failure:
        return _fault(str(failure), PROTOCOL_FAILURE)
    except RpcFailure as failure:
        said = "" if failure.data is None else f" {json.dumps(failure.data, ensure_ascii=False)}"
        return _fault(f"The server answered with error {failure.code}: {failure}{said}", PROTOCOL_FAILURE)
    except KeyboardInterrupt:
        return SIGINT_STATUS


def _history_path() -> str:
    """Of the lines typed; "" where there is no place for it."""
    try:
        home = Home(home_path(os.environ))
        os.makedirs(home.root, mode=0o700, exist_ok=True)
        os.close(os.open(home.path(HISTORY), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o600))
    except OSError:
        return ""
    return home.path(HISTORY)


def _traced(way: str, message: Any) -> None:
    sys.stderr.write(f"[Client] {way} {json.dumps(message, ensure_ascii=False)}\n")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def _fault(text: str, status: int) -> int:
    _say(f"scorpio: {text}")
    return status
