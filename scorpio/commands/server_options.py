"""What `serve` and `http` take that configuration says too: `--toolsets`, `--config`, `--sandbox` and companions."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError

from scorpio.settings import SANDBOXES
from scorpio.settings_lines import Unreadable, lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scorpio.settings_lines import Line

HERE = "command line"


def add(command: ArgumentParser) -> None:
    command.add_argument("--toolsets", default="", metavar="A,B", help="toolsets to serve, NAME or NAME:PREFIX")
    command.add_argument(
        "--config",
        type=_lines,
        default=[],
        metavar="FILE",
        help="lines KEY=VALUE that win over all other configuration, but not over options",
    )
    command.add_argument(
        "--sandbox",
        choices=tuple(reversed(SANDBOXES)),
        help="what commands may write: off: all that you may (default), workspace: the working directory, "
        "read-only: nothing. Keys and tokens are hidden from them, and there is no network",
    )
    command.add_argument("--sandbox-required", action="store_true", help="where no sandbox works, refuse every command")
    command.add_argument("--sandbox-network", action="store_true", help="let commands in the sandbox use the network")


def toolsets(chosen: Namespace) -> list[str]:
    """The names in the list with commas that `--toolsets` takes, here and in other commands."""
    return [name for name in chosen.toolsets.split(",") if name]


def keys(chosen: Namespace) -> list[Line]:
    """What was said of keys, as lines of configuration; the later wins."""
    found: list[Line] = [*chosen.config]
    if chosen.sandbox:
        found.append((HERE, "SANDBOX", chosen.sandbox))
    given = [name for name in ("sandbox_required", "sandbox_network") if getattr(chosen, name)]
    return found + [(HERE, name.upper(), "true") for name in given]


def _lines(path: str) -> list[Line]:
    """Unlike a file that is merely looked for, one that is named must be there."""
    try:
        found = lines(os.path.expanduser(path))
        if any("\0" in name or "\0" in (value or "") for _, name, value in found):
            raise Unreadable("is no text")
    except Unreadable as fault:
        named = path if path and path.isprintable() else repr(path)
        raise ArgumentTypeError(f"{named} {fault}. Name a text file with lines KEY=VALUE.") from None
    return found
