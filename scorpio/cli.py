"""The command line: serve, http, --version, --help. The no-argument path (serve on stdio) imports none of it."""

from __future__ import annotations

import argparse
import sys

from scorpio import __version__
from scorpio.commands import http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(
        prog="scorpio", description="Tools for agent clients over the Model Context Protocol (MCP)."
    )
    root.add_argument("--version", action="version", version=f"scorpio {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve MCP on stdin and stdout (what no command does too)")
    serve.add_argument("--toolsets", default="", metavar="A,B", help="toolsets to serve, NAME or NAME:PREFIX")
    http.add_options(commands.add_parser("http", help="serve MCP over HTTP, to many clients at once"))
    answer = commands.add_parser("answer")  # internal, so it has no line in the help
    answer.add_argument("file")
    return root


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0, or 2 for a wrong call."""
    chosen = parser().parse_args(arguments)
    if chosen.command == "serve":
        from scorpio.app import serve_stdio

        return serve_stdio([name for name in chosen.toolsets.split(",") if name])
    if chosen.command == "http":
        return http.run(chosen)
    if chosen.command == "answer":
        from scorpio.commands.answer import run

        return run(chosen.file)
    parser().print_help(sys.stdout)
    return 0
