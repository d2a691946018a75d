"""The command line: serve, wait, --version, --help. The no-argument path (serve on stdio) imports none of it."""

from __future__ import annotations

import argparse
import math
import sys

from scorpio import __version__

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
    wait = commands.add_parser("wait", help="print the next thing a model is to be told here, as soon as there is one")
    wait.add_argument("--timeout", type=seconds, metavar="S", help="give up after S seconds, with status 1")
    answer = commands.add_parser("answer")  # internal, so it has no line in the help
    answer.add_argument("file")
    return root


def seconds(value: str) -> float:
    read = float(value)
    if not 0 <= read < math.inf:
        raise ValueError
    return read


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0, 2 for a wrong call, else what the command says."""
    chosen = parser().parse_args(arguments)
    if chosen.command == "serve":
        from scorpio.app import serve_stdio

        return serve_stdio([name for name in chosen.toolsets.split(",") if name])
    if chosen.command == "wait":
        from scorpio.commands.wait import run as wait

        return wait(chosen.timeout)
    if chosen.command == "answer":
        from scorpio.commands.answer import run

        return run(chosen.file)
    parser().print_help(sys.stdout)
    return 0
