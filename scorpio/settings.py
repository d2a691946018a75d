"""Configuration: `KEY=VALUE` files and the environment, lowest to highest, as one frozen `Settings`.

A project's file comes with a repository and is not trusted: it may only tighten. Nothing here is fatal: an unknown
key or a bad value is a warning that names file and line.
"""

from __future__ import annotations

import os
import stat

from scorpio.limits import BASH_MAX_OUTPUT_BYTES_DEFAULT, BASH_MAX_TIMEOUT_MS_DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

FILE_NAME = "scorpio-env.txt"
OLD_FILE_NAME = "scorpiox-env.txt"
FILE_BYTES_MAX = 256 * 1024
"""Longest configuration file read; a real one has a few hundred bytes."""

TRUE_WORDS = ("true", "1", "yes", "on")
FALSE_WORDS = ("false", "0", "no", "off")

ADDRESS_POLICIES = ("deny", "direct", "allow")
"""From the tightest; scorpio/address_policy.py says what they mean."""


def _boolean(value: str) -> bool:
    word = value.lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError("must be true or false")


def _positive(value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value) == 0:
        raise ValueError("must be a whole number above 0")
    return int(value)


def _names(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _directories(value: str) -> tuple[str, ...]:
    paths = tuple(os.path.expanduser(part.strip()) for part in value.split(os.pathsep) if part.strip())
    if not all(map(os.path.isabs, paths)):
        raise ValueError(f"must be absolute paths separated by {os.pathsep}")
    return paths


def _level(value: str) -> str:
    from scorpio.protocol.meta import LOG_LEVELS

    word = value.lower()
    if word not in LOG_LEVELS:
        raise ValueError(f"must be one of {', '.join(LOG_LEVELS)}")
    return word


def _terminal_use(value: str) -> str:
    word = value.lower()
    if word not in ("auto", "on", "off"):
        raise ValueError("must be auto, on or off")
    return word


def _address_policy(value: str) -> str:
    word = value.lower()
    if word not in ADDRESS_POLICIES:
        raise ValueError(f"must be one of {', '.join(ADDRESS_POLICIES)}")
    return word


class Key:
    """One key: how it is read, its default, and what a project's file may do with it."""

    __slots__ = ("attribute", "default", "name", "read", "tightens")

    def __init__(
        self, name: str, read: Callable[[str], Any], default: Any, tightens: Callable[[Any, Any], bool] | None = None
    ) -> None:
        self.name = name
        self.attribute = name.lower()
        self.read = read
        self.default = default
        self.tightens = tightens
        """(old, new) -> True when a project's file may change old to new; None: never from there."""


def _lower(old: int, new: int) -> bool:
    return new <= old


def _only_off(old: bool, new: bool) -> bool:
    return not new


def _only_to_off(old: str, new: str) -> bool:
    return new == "off"


def _tighter_policy(old: str, new: str) -> bool:
    return ADDRESS_POLICIES.index(new) <= ADDRESS_POLICIES.index(old)


def _anything(old: object, new: object) -> bool:
    return True


KEYS = (
    Key("TOOLS", _boolean, True, _only_off),
    Key("TOOLSETS", _names, ("core",)),
    Key("STREAMING", _boolean, False, _anything),
    Key("STRUCTURED", _boolean, False, _anything),
    Key("MODEL", str, "", _anything),
    Key("LOG_LEVEL", _level, "info", _anything),
    Key("BASH_MAX_TIMEOUT_MS", _positive, BASH_MAX_TIMEOUT_MS_DEFAULT, _lower),
    Key("BASH_MAX_OUTPUT_BYTES", _positive, BASH_MAX_OUTPUT_BYTES_DEFAULT, _lower),
    Key("BG_SURVIVE", _boolean, False, _only_off),
    Key("ADDITIONAL_SKILLS", _directories, ()),
    Key("SKILL_EXEC", _boolean, False, _only_off),
    Key("ASK_TTY", _terminal_use, "auto", _only_to_off),
    Key("READDOCS_PRIVATE", _address_policy, "direct", _tighter_policy),
    Key("CHROMIUM_PATH", str, ""),
)
_BY_NAME: Mapping[str, Key] = {key.name: key for key in KEYS}


class Settings:
    """Frozen configuration. Attributes are the keys in lower case."""

    tools: bool
    toolsets: tuple[str, ...]
    streaming: bool
    structured: bool
    model: str
    log_level: str
    bash_max_timeout_ms: int
    bash_max_output_bytes: int
    bg_survive: bool
    additional_skills: tuple[str, ...]
    skill_exec: bool
    ask_tty: str
    """Dialogs at this machine's terminal: auto (where nothing else uses it), on, off."""
    readdocs_private: str
    """What private addresses are to a fetch: direct (only where the call's own URL names it), deny, allow."""
    chromium_path: str
    """The browser that renders pages; "" to look for one."""

    def __init__(self, values: dict[str, Any], hidden_tools: frozenset[str], warnings: tuple[str, ...]) -> None:
        for key in KEYS:
            object.__setattr__(self, key.attribute, values.get(key.name, key.default))
        object.__setattr__(self, "hidden_tools", hidden_tools)
        object.__setattr__(self, "warnings", warnings)

    hidden_tools: frozenset[str]
    """Tools switched off by `TOOL_<NAME>=false`, as NAME in upper case without underscores."""
    warnings: tuple[str, ...]
    """What was wrong in the files, a sentence each."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Settings are frozen: {name} is set by configuration")


class _Reading:
    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.shown: dict[str, bool] = {}
        self.warnings: list[str] = []

    def file(self, path: str, *, trusted: bool = True) -> None:
        content = _content(path)
        for number, raw in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            line = raw.strip()
            if not line or line.startswith("#"):
                continue
            name, equals, value = line.partition("=")
            where = f"{path}:{number}"
            if not equals:
                self.warnings.append(f"{where}: {line[:80]!r} is not KEY=VALUE; the line is ignored.")
                continue
            self.set(name.strip(), _unquoted(value), where, trusted=trusted)

    def set(self, name: str, value: str, where: str, *, trusted: bool = True) -> None:
        key = _BY_NAME.get(name)
        try:
            if key is None and name.startswith("TOOL_"):
                shown = _boolean(value)
                if trusted or not shown:
                    self.shown[name[5:].upper().replace("_", "")] = shown
                return
            if key is None:
                self.warnings.append(f"{where}: unknown key {name[:80]!r}; the line is ignored.")
                return
            read = key.read(value)
        except ValueError as fault:
            self.warnings.append(f"{where}: {name[:80]} {fault}, not {value[:80]!r}; the line is ignored.")
            return
        if not trusted and not (key.tightens and key.tightens(self.values.get(name, key.default), read)):
            self.warnings.append(f"{where}: {name} may not be loosened by a project's file; the line is ignored.")
            return
        self.values[name] = read


def _content(path: str) -> bytes:
    """b"" where there is no file. Never waits: a repository may hold a link to a terminal or a pipe in its place."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return b""
    try:
        return os.read(file, FILE_BYTES_MAX) if stat.S_ISREG(os.fstat(file).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(file)


def _unquoted(value: str) -> str:
    """A value without surrounding quotes or a trailing ` # comment`."""
    value = value.strip()
    if len(value) > 1 and value[0] in "\"'":
        end = value.find(value[0], 1)
        if end > 0:
            return value[1:end]
    return value.split(" #", 1)[0].rstrip()


def load(environ: Mapping[str, str], home_root: str, project: str | None = None) -> Settings:
    """The cascade: defaults, beside the executable, home, project, environment. Flags are the caller's."""
    reading = _Reading()
    executable = environ.get("SCORPIO_EXECUTABLE")
    if executable:
        beside = os.path.dirname(executable)
        if beside != home_root:
            reading.file(os.path.join(beside, OLD_FILE_NAME))
            reading.file(os.path.join(beside, FILE_NAME))
    reading.file(os.path.join(os.path.expanduser("~"), ".scorpiox", OLD_FILE_NAME))
    reading.file(os.path.join(home_root, FILE_NAME))
    if project is not None and os.path.join(project, ".scorpio") != home_root:
        reading.file(os.path.join(project, ".scorpiox", OLD_FILE_NAME), trusted=False)
        reading.file(os.path.join(project, ".scorpio", FILE_NAME), trusted=False)
    for key in KEYS:
        for name in ("SCORPIO_" + key.name, key.name):
            value = environ.get(name)
            if value is not None:
                reading.set(key.name, value, f"environment variable {name}")
                break
    for prefix in ("TOOL_", "SCORPIO_TOOL_"):  # the later wins
        for name, value in environ.items():
            if name.startswith(prefix) and value.lower() in (*TRUE_WORDS, *FALSE_WORDS):  # others may mean other things
                reading.set(name.removeprefix("SCORPIO_"), value, f"environment variable {name}")
    hidden = frozenset(name for name, shown in reading.shown.items() if not shown)
    return Settings(reading.values, hidden, tuple(reading.warnings))


def project_of(directory: str) -> str:
    """`directory`, resolved, up to the enclosing `.git` or `.scorpio` if there is one below the home."""
    here = os.path.realpath(directory)
    home = os.path.realpath(os.path.expanduser("~"))
    step = here
    while step not in (home, os.path.dirname(step)):
        if os.path.lexists(os.path.join(step, ".git")) or os.path.isdir(os.path.join(step, ".scorpio")):
            return step
        step = os.path.dirname(step)
    return here
