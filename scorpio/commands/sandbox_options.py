"""`--sandbox`, `--sandbox-required` and `--sandbox-network`: what a server's commands may do."""

from __future__ import annotations

from scorpio.settings import SANDBOXES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add(command: ArgumentParser) -> None:
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
    found = {"SANDBOX": chosen.sandbox} if chosen.sandbox else {}
    for name in ("sandbox_required", "sandbox_network"):
        if getattr(chosen, name):
            found[name.upper()] = "true"
    return found
