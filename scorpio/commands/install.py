"""`scorpio install` and `scorpio uninstall`: this program in its place, and its entry in the clients' files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scorpio.registration import files, place
from scorpio.registration.clients import BY_NAME, CLIENTS, Client, Machine
from scorpio.registration.edit import EditFailure
from scorpio.state.home import home_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scorpio.registration.files import Change


def install(names: Sequence[str], *, dry_run: bool) -> int:
    """Exit status 0; 1 where something could not be done; 2 for a client this program does not know."""
    import os

    chosen = _chosen(names)
    if chosen is None:
        return 2
    try:
        program, is_new = place.put(home_path(os.environ), dry_run=dry_run)
    except place.PlaceFailure as failure:
        return _fault(str(failure))
    _say(
        f"{'Would copy' if dry_run else 'Copied'} this program to {program}."
        if is_new
        else f"{program} is this program."
    )
    machine = this_machine()
    if not names:
        chosen = [client for client in CLIENTS if files.found(client, machine)]
        if not chosen:
            _say("No client found on this machine. --client NAME registers with one all the same; names: " + _names())
            return 0
    return _each(
        chosen,
        dry_run,
        lambda client: files.registered(client, machine, str(program)),
        lambda client, change: f"{client.title}: registered in {change.file}. {client.restart}",
        "is registered already",
    )


def uninstall(names: Sequence[str], *, dry_run: bool) -> int:
    """As `install`. The program and its state stay where they are."""
    import os

    chosen = _chosen(names)
    if chosen is None:
        return 2
    machine = this_machine()
    status = _each(
        chosen or CLIENTS,
        dry_run,
        lambda client: files.unregistered(client, machine),
        lambda client, change: f"{client.title}: removed from {change.file}.",
        "" if not names else "is not registered",
    )
    if status == 0 and not names:
        _say(f"The program and its state are still in {home_path(os.environ)}; delete it to remove them.")
    return status


def this_machine() -> Machine:
    import os

    return Machine(sys.platform, str(Path.home()), os.environ)


def _each(
    clients: Sequence[Client],
    dry_run: bool,
    change_of: Callable[[Client], Change],
    done: Callable[[Client, Change], str],
    nothing: str,
) -> int:
    failed = False
    for client in clients:
        try:
            change = change_of(client)
            if change.is_none:
                if nothing:
                    _say(f"{client.title}: {nothing} ({change.file}).")
                continue
            if dry_run:
                sys.stdout.write(change.difference())
                continue
            files.apply(change)
        except EditFailure as failure:
            failed |= bool(_fault(f"{client.title}: {_where(client)} was left as it is: {failure}."))
        except OSError as error:
            failed |= bool(_fault(f"{client.title}: {_where(client)}: {error.strerror or error}."))
        else:
            _say(done(client, change))
    return int(failed)


def _where(client: Client) -> Path:
    return files.location(client, this_machine())


def _chosen(names: Sequence[str]) -> list[Client] | None:
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        _fault(f"No client is called {', '.join(unknown)}. Names: {_names()}")
        return None
    return [BY_NAME[name] for name in dict.fromkeys(names)]


def _names() -> str:
    return ", ".join(BY_NAME)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def _fault(text: str) -> int:
    _say(f"scorpio: {text}")
    return 1
