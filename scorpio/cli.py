"""The command line: a row a command. The no-argument path (serve on stdio) imports none of it."""

from __future__ import annotations

import argparse
import math
import sys

from scorpio import __version__
from scorpio.commands.outcome import ended
from scorpio.commands.usage import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _serve(command: argparse.ArgumentParser) -> None:
    from scorpio.commands import server_options

    server_options.add(command)
    command.set_defaults(run=_run_serve)


def _run_serve(chosen: argparse.Namespace) -> int:
    from scorpio.app import serve_stdio
    from scorpio.commands import server_options

    return serve_stdio(server_options.toolsets(chosen), server_options.keys(chosen))


def _http(command: argparse.ArgumentParser) -> None:
    from scorpio.commands import http

    http.add_options(command)
    command.set_defaults(run=http.run)


def _tools(command: argparse.ArgumentParser) -> None:
    command.add_argument("--toolsets", default="", metavar="A,B", help="of these instead of the configured ones")
    command.add_argument("--json", action="store_true", help="as the protocol's own lists")
    command.set_defaults(run=_run_tools)


def _run_tools(chosen: argparse.Namespace) -> int:
    from scorpio.commands.server_options import toolsets
    from scorpio.commands.tools import run

    return run(toolsets(chosen), as_json=chosen.json)


def _client(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "server", nargs=argparse.REMAINDER, metavar="COMMAND… | URL", help="default: this program's own"
    )
    _client_options(command)
    command.set_defaults(run=_run_client)


def _client_options(command: argparse.ArgumentParser) -> None:
    _connecting(command)
    command.add_argument("--trace", action="store_true", help="show every message")


def _run_client(chosen: argparse.Namespace) -> int:
    """What follows a URL are options of ours; what follows a command are its own words."""
    words = chosen.server[1:] if chosen.server[:1] == ["--"] else chosen.server
    if words[:1] == ["conformance"]:
        from scorpio.commands.conformance import run

        return run(words[1:])
    from scorpio.commands.client import client

    if words and "://" in words[0]:
        rest = Parser(prog="scorpio client URL")
        _client_options(rest)
        _, left = rest.parse_known_args(words[1:], chosen)
        if left:
            rest.refuse(left)
        words = words[:1]
    return client(words, headers=chosen.header, toolsets=chosen.toolsets, era=chosen.protocol, trace=chosen.trace)


def _call(command: argparse.ArgumentParser) -> None:
    command.add_argument("tool")
    command.add_argument("arguments", nargs="*", default=[], metavar="name=value", help="or one JSON object")
    command.add_argument("--json", action="store_true", help="the result as the protocol gives it")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--server", metavar="'COMMAND'", help="of a server on stdio")
    where.add_argument("--url", help="of a server on HTTP")
    _connecting(command)
    command.set_defaults(run=_run_call)


def _run_call(chosen: argparse.Namespace) -> int:
    from scorpio.commands.client import call

    return call(
        chosen.tool,
        chosen.arguments,
        server=chosen.server,
        url=chosen.url,
        headers=chosen.header,
        toolsets=chosen.toolsets,
        era=chosen.protocol,
        as_json=chosen.json,
    )


def _connecting(command: argparse.ArgumentParser) -> None:
    command.add_argument("--toolsets", default="", metavar="A,B", help="of this program's own server")
    command.add_argument("--protocol", default="auto", metavar="REVISION", help="auto, modern, legacy or a revision")
    command.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="of every HTTP request")


def _install(command: argparse.ArgumentParser) -> None:
    _registration(command)
    command.set_defaults(run=_run_install)


def _run_install(chosen: argparse.Namespace) -> int:
    from scorpio.commands.install import install

    return install(chosen.client, dry_run=chosen.dry_run)


def _uninstall(command: argparse.ArgumentParser) -> None:
    _registration(command)
    command.set_defaults(run=_run_uninstall)


def _run_uninstall(chosen: argparse.Namespace) -> int:
    from scorpio.commands.install import uninstall

    return uninstall(chosen.client, dry_run=chosen.dry_run)


def _registration(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--client", nargs="+", action="extend", default=[], metavar="NAME", help="these instead of all that are found"
    )
    command.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")


def _doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument("--search", action="store_true", help="ask every search engine, live")
    command.set_defaults(run=_run_doctor)


def _run_doctor(chosen: argparse.Namespace) -> int:
    from scorpio.commands.doctor import run

    return run(["search"] if chosen.search else [])


def _config(command: argparse.ArgumentParser) -> None:
    action = command.add_mutually_exclusive_group(required=True)
    action.add_argument("--dump", action="store_true", help="every key and its value")
    action.add_argument("--get", metavar="KEY", help="one value")
    action.add_argument("--set", nargs=2, metavar=("KEY", "VALUE"), help="write a value to a file")
    command.add_argument("--show-source", action="store_true", help="with --dump: where each value comes from")
    command.add_argument(
        "--level", choices=("user", "project"), default="user", help="with --set: whose file (default: user)"
    )
    command.set_defaults(run=_run_config)


def _run_config(chosen: argparse.Namespace) -> int:
    from scorpio.commands import config

    if chosen.set:
        return config.set_value(*chosen.set, level=chosen.level)
    if chosen.get is not None:
        return config.get(chosen.get)
    return config.dump(show_source=chosen.show_source)


def _wait(command: argparse.ArgumentParser) -> None:
    command.add_argument("--timeout", type=seconds, metavar="S", help="give up after S seconds, with status 1")
    command.set_defaults(run=_run_wait)


def _run_wait(chosen: argparse.Namespace) -> int:
    from scorpio.commands.wait import run

    return run(chosen.timeout)


def seconds(value: str) -> float:
    """Of an option. Raises ValueError."""
    read = float(value)
    if not 0 <= read < math.inf:
        raise ValueError
    return read


def _completions(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"))
    command.set_defaults(run=_run_completions)


def _run_completions(chosen: argparse.Namespace) -> int:
    from scorpio.commands.completions import run

    return run(chosen.shell, parser())


def _answer(command: argparse.ArgumentParser) -> None:
    command.add_argument("file")
    command.set_defaults(run=_run_answer)


def _run_answer(chosen: argparse.Namespace) -> int:
    from scorpio.commands.answer import run

    return run(chosen.file)


COMMANDS: tuple[tuple[str, str, Callable[[argparse.ArgumentParser], None]], ...] = (
    ("serve", "serve MCP on stdin and stdout (what no command does too)", _serve),
    ("http", "serve MCP over HTTP, to many clients at once", _http),
    ("tools", "show the tools, prompts and resources", _tools),
    ("call", "call one tool of a server and print its result", _call),
    ("client", "talk to any MCP server interactively", _client),
    ("install", "put this program to ~/.scorpio and register it with the MCP clients found here", _install),
    ("uninstall", "remove it from the clients' configuration", _uninstall),
    ("doctor", "say what works on this machine, and what to do about the rest", _doctor),
    ("config", "show or set the configuration", _config),
    ("wait", "print the next thing a model is to be told here, as soon as there is one", _wait),
    ("completions", "print the completion script of a shell", _completions),
    ("answer", "", _answer),
)
"""Name, what it does, its options. Without a text it is internal, and has no line in the help."""


def parser(only: str = "") -> Parser:
    """`only`: a command whose options are wanted; the others then have none, and import nothing."""
    root = Parser(
        prog="scorpio",
        description="Tools for agent clients over the Model Context Protocol (MCP).",
        epilog="scorpio COMMAND --help shows the options of a command. Without one it serves MCP on stdin and stdout.",
    )
    root.add_argument("--version", action="version", version=f"scorpio {__version__}")
    root.add_argument("--debug", action="store_true", help="show where a fault of this program is")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    for name, does, options in COMMANDS:
        command = commands.add_parser(name, help=does, description=does) if does else commands.add_parser(name)
        if only in ("", name):
            options(command)
            command.set_defaults(parser=command)
    return root


def main(arguments: Sequence[str]) -> int:
    """Exit status: that of the command, or 2 for a wrong call."""
    return ended(lambda: _run(arguments), debug="--debug" in arguments[:1])


def _run(arguments: Sequence[str]) -> int:
    names = [name for name, _, _ in COMMANDS]
    first = next((word for word in arguments if word != "--debug"), "")
    root = parser(first if first in names else "")
    chosen, left = root.parse_known_args(arguments)
    if chosen.command is None:
        if left:
            root.refuse(left)
        parser().print_help(sys.stdout)
        return 0
    if hasattr(chosen, "arguments"):  # those behind an option: argparse takes only the first ones in a row
        chosen.arguments += [word for word in left if not word.startswith("-")]
        left = [word for word in left if word.startswith("-")]
    if left:
        chosen.parser.refuse(left)
    return int(chosen.run(chosen))
