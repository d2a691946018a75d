"""The program's own place: `~/.scorpio/scorpio`, where clients' configurations point to."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

PROGRAM = "scorpio.exe" if sys.platform == "win32" else "scorpio"


class PlaceFailure(Exception):
    """The program cannot be put there. A sentence."""


def target(home_root: str) -> Path:
    return Path(home_root, PROGRAM)


def put(home_root: str, *, dry_run: bool = False) -> tuple[Path, bool]:
    """Copy this executable to its place: (where, whether it was not that already). Raises PlaceFailure."""
    source = os.environ.get("SCORPIO_EXECUTABLE")
    place = target(home_root)
    if not source:
        if place.is_file() and os.access(place, os.X_OK):
            return place, False  # run from sources, beside an executable that was installed
        raise PlaceFailure(
            "This scorpio runs from its sources, which clients cannot start. `python3 build/dev.py run` builds the "
            f"executable and puts it to {place}; then try again."
        )
    try:
        if place.exists() and (place.samefile(source) or _same(Path(source), place)):
            return place, False
        if not dry_run:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _copy(Path(source), place)
    except OSError as error:
        raise PlaceFailure(f"The program could not be copied to {place}: {error.strerror or error}.") from None
    return place, True


def _same(one: Path, other: Path) -> bool:
    import filecmp

    return filecmp.cmp(one, other, shallow=False)


def _copy(source: Path, place: Path) -> None:
    """A client that starts it meanwhile gets the old program or the new one; a running one is left alone."""
    descriptor, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as copy, source.open("rb") as original:
            shutil.copyfileobj(original, copy, 1024 * 1024)
            copy.flush()
            os.fsync(copy.fileno())
        os.chmod(name, 0o755)
        os.replace(name, place)
    except BaseException:
        os.unlink(name)
        raise
