from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lacking import lacking
from tests.sandbox.sandbox_place import Listener, SandboxPlace
from tests.toolsets.core.ways_to_write import give

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def settle(
    build: str, user: int | None, common_of: Callable[[int | None], Path]
) -> Iterator[Callable[..., SandboxPlace]]:
    """`settle("--sandbox", "workspace", **environment)`. pytest's own directories are closed to other users."""
    places: list[SandboxPlace] = []
    root = Path(tempfile.mkdtemp(prefix="scorpio-place-", dir="/var/tmp")).resolve()  # /tmp is each command's own
    root.chmod(0o755)
    if user is not None:
        give(root, user)

    def settle(*options: str, **variables: str) -> SandboxPlace:
        if variables.get("SANDBOX_BACKEND") == "bubblewrap" and not shutil.which("bwrap"):
            lacking("bubblewrap is not installed")
        places.append(SandboxPlace(root, common_of(user), build, user, *options, **variables))
        return places[-1]

    yield settle
    for place in places:
        place.close()
    shutil.rmtree(root)


@pytest.fixture
def other(user: int | None) -> Iterator[str]:
    """The pid of a process of the same user."""
    options = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    with subprocess.Popen(["sleep", "1000"], cwd="/", **options) as process:  # type: ignore[call-overload]
        yield str(process.pid)
        process.kill()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listening = Listener()
    yield listening
    listening.close()
