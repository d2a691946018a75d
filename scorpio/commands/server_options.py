"""What `serve` and `http` take that configuration says too: `--config`, and `--sandbox` with its two companions."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError

from scorpio.settings import SANDBOXES
from scorpio.settings_lines import lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add(command: ArgumentParser) -> None:
    command.add_argument(
        "--config",
        type=_file,
        default={},
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


def keys(chosen: Namespace) -> dict[str, str]:
    """The keys that were given, as configuration has them."""
    found: dict[str, str] = dict(chosen.config)
    if chosen.sandbox:
        found["SANDBOX"] = chosen.sandbox
    for name in ("sandbox_required", "sandbox_network"):
        if getattr(chosen, name):
            found[name.upper()] = "true"
    return found


def _file(path: str) -> dict[str, str]:
    if not os.path.isfile(path):
        raise ArgumentTypeError(f"{path} is no file that can be read")
    return {name: value for _, name, value in lines(path) if value is not None}
