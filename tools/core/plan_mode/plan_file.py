"""The plan file: where it may be, how it is read, and what of its surroundings stays writable.

Only a Markdown file below the working directory, the state directory or the temporary directory, reached through no
symbolic link that leads elsewhere. Never waits on a pipe or a device.
"""

from __future__ import annotations

import os
import stat
import tempfile

from scorpio.limits import PLAN_FILE_BYTES_MAX
from scorpio.tool import ToolFailure
from tools.core.output_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SUFFIXES = (".md", ".markdown")
PLANS = "plans"
"""In the state directory: the only part of it that may be writable as a whole."""

PATH_CHARS_MAX = 4000
PATH_CHARS_SHOWN = 200

KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class Places:
    """Where plan files may be, for one call."""

    def __init__(self, cwd: str, state_root: str, declared: str | None = None) -> None:
        self.declared = declared
        """The plan file of the mode that is active: it stays one, wherever the call comes from."""
        self.cwd = os.path.realpath(cwd)
        self.state = os.path.realpath(state_root)
        self.temporary = os.path.realpath(tempfile.gettempdir())

    def all(self) -> tuple[str, str, str]:
        return self.cwd, self.state, self.temporary

    def hold(self, path: str) -> bool:
        return path == self.declared or any(is_within(path, place) for place in self.all())


def located(named: str, places: Places) -> str:
    """The absolute path that was named, which need not exist. Raises ToolFailure."""
    shown = _shown(named)
    path = named.strip()
    if not path or "\0" in path or len(path) > PATH_CHARS_MAX or not _encodes(path):
        raise ToolFailure(f"plan_file {shown} is no path. Give the path of a Markdown file, such as plans/plan.md.")
    if path.startswith("file://"):
        from urllib.parse import unquote

        path = unquote(path.removeprefix("file://").removeprefix("localhost"))
    path = os.path.join(places.cwd, os.path.expanduser(path))
    directory, name = os.path.split(path)
    if not name.lower().endswith(SUFFIXES) or name.lower() in SUFFIXES:
        raise ToolFailure(f"plan_file {shown} is not a Markdown file: its name must end in .md.")
    path = os.path.join(os.path.realpath(directory), name)
    if not places.hold(path):
        raise ToolFailure(
            f"plan_file {shown} is outside of where plans may be: the working directory {places.cwd}, "
            f"the state directory {places.state} and the temporary directory {places.temporary}. Name one in there."
        )
    _require_plain(path, shown)
    return path


def read_plan(path: str, places: Places) -> str:
    """The text of a plan. Raises ToolFailure."""
    shown = _shown(path)
    _require_plain(path, shown)
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ToolFailure(f"The plan file {shown} does not exist yet. Write the plan to it, then exit.") from None
    except OSError as error:
        raise ToolFailure(f"The plan file {shown} cannot be read: {error.strerror}. Name another one.") from None
    try:
        state = os.fstat(file)
        real = _real_path(file, path)
        if not stat.S_ISREG(state.st_mode) or not places.hold(real):  # exchanged since it was looked at
            raise ToolFailure(f"The plan file {shown} is not a regular file where plans may be. Name another one.")
        if state.st_size > PLAN_FILE_BYTES_MAX:
            raise ToolFailure(
                f"The plan file {shown} has {state.st_size} bytes; at most {PLAN_FILE_BYTES_MAX} are taken. Shorten it."
            )
        text = os.read(file, PLAN_FILE_BYTES_MAX).decode("utf-8", "replace")
    except OSError as error:
        raise ToolFailure(f"The plan file {shown} cannot be read: {error.strerror}. Name another one.") from None
    finally:
        os.close(file)
    if not text.strip("\ufeff \t\r\n\0"):
        raise ToolFailure(f"The plan file {shown} is empty. Write the plan to it, then exit.")
    return text


def writable_with(path: str, places: Places, project: str) -> str:
    """The directory of a plan, or the file alone where that directory holds more than plans.

    Alone: when the directory is or contains the project, the home, the state or the temporary directory; when anything
    but Markdown is in it; when it is hidden or inside something hidden (.git, .claude, .vscode: what is written there
    runs later); and anywhere in the state directory but in its plans/.
    """
    directory = os.path.dirname(path)
    wide = (*places.all(), project, os.path.realpath(os.path.expanduser("~")))
    if any(is_within(place, directory) for place in wide) or not _holds_plans_only(directory):
        return path
    if is_within(directory, places.state):
        return directory if is_within(directory, os.path.join(places.state, PLANS)) else path
    base = next(place for place in (places.cwd, places.temporary) if is_within(directory, place))
    hidden = any(part.startswith(".") for part in os.path.relpath(directory, base).split(os.sep))
    return path if hidden else directory


def _holds_plans_only(directory: str) -> bool:
    """True for one that is not there yet, too."""
    try:
        with os.scandir(directory) as entries:
            return all(
                entry.name.lower().endswith(SUFFIXES) and entry.is_file(follow_symlinks=False) for entry in entries
            )
    except FileNotFoundError:
        return True
    except OSError:
        return False


def prepare(path: str, writable: str) -> list[str]:
    """Create what commands could not: the directory, and the file where it alone is writable; what was created.

    Raises ToolFailure.
    """
    made: list[str] = []
    try:
        missing = []
        directory = os.path.dirname(path)
        while not os.path.lexists(directory):
            missing.append(directory)
            directory = os.path.dirname(directory)
        for each in reversed(missing):
            os.mkdir(each)
            made.append(each)
        if writable == path and not os.path.lexists(path):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
            made.append(path)
    except OSError as error:
        unmake(made)
        raise ToolFailure(
            f"The plan file {_shown(path)} cannot be created: {error.strerror}. Name another plan_file."
        ) from None
    return made


def unmake(made: Sequence[str]) -> None:
    """Remove what `prepare` created, where it is still empty."""
    for path in reversed(made):
        try:
            state = os.lstat(path)
            if stat.S_ISDIR(state.st_mode):
                os.rmdir(path)
            elif stat.S_ISREG(state.st_mode) and state.st_size == 0:
                os.unlink(path)
        except OSError:
            pass  # not empty, or not ours any more


def is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _require_plain(path: str, shown: str) -> None:
    try:
        state = os.lstat(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ToolFailure(f"plan_file {shown} cannot be reached: {error.strerror}. Name another one.") from None
    for is_kind, kind in KINDS:
        if is_kind(state.st_mode):
            raise ToolFailure(f"plan_file {shown} is {kind}. A plan is a regular Markdown file; name another path.")


def _real_path(file: int, path: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{file}")
    except OSError:  # no /proc
        return os.path.realpath(path)


def _encodes(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    return one_line(path, PATH_CHARS_SHOWN) or '""'
