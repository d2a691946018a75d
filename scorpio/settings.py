"""Configuration: `KEY=VALUE` files and the environment, lowest to highest, as one frozen `Settings`.

A project's file comes with a repository and is not trusted: it may only tighten. Nothing here is fatal: an unknown
key or a bad value is a warning that names file and line.
"""

from __future__ import annotations

import os

from scorpio.limits import (
    BASH_MAX_OUTPUT_BYTES_DEFAULT,
    BASH_MAX_TIMEOUT_MS_DEFAULT,
    GZIP_FETCH_BYTES_MAX_DEFAULT,
    GZIP_FETCH_MS_MAX_DEFAULT,
)
from scorpio.settings_lines import Missing, Unreadable, lines
from scorpio.settings_rules import FALSE_WORDS, TRUE_WORDS, none_looser, only_to
from scorpio.settings_rules import anything as _anything
from scorpio.settings_rules import boolean as _boolean
from scorpio.settings_rules import level as _level
from scorpio.settings_rules import lower as _lower
from scorpio.settings_rules import subset as _subset
from scorpio.settings_rules import web_address as _web_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any

    from scorpio.settings_lines import Line

FILE_NAME = "scorpio-env.txt"
OLD_FILE_NAME = "scorpiox-env.txt"

WARNINGS_MAX = 20
"""Of one file: one that is something else has thousands of lines, and a client shows or keeps each."""

ADDRESS_POLICIES = ("deny", "direct", "allow")
"""From the tightest; scorpio/address_policy.py says what they mean."""


ENFORCEMENTS = ("strict", "advisory", "off")
"""Of plan mode, the strictest first."""

SANDBOXES = ("read-only", "workspace", "off")
"""Of commands, the strictest first; scorpio/command_sandbox.py says what they mean."""


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


SEARCH_ENGINES = (
    *("duckduckgo", "bing", "brave", "google", "mojeek", "startpage", "yahoo"),
    *("mwmbl", "wikipedia", "stackexchange", "hackernews"),
)
"""What WEBSEARCH_ENGINES may name, and WEBSEARCH_ENDPOINT_<NAME>."""
OWN_SEARCH_ENGINE = "searxng"
"""Asked wherever SEARXNG_URL is set; WEBSEARCH_ENGINES may name it, to ask no other."""


def _search_engines(value: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.lower() for name in _names(value)))
    known = (*SEARCH_ENGINES, OWN_SEARCH_ENGINE)
    if not names or not set(names) <= {*known}:
        raise ValueError(f"must be some of {', '.join(known)}")
    return names


def _one_of(*words: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        word = value.lower()
        if word not in words:
            raise ValueError(f"must be {', '.join(words[:-1])} or {words[-1]}")
        return word

    return read


class Key:
    """One key: how it is read, its default, and what a project's file may do with it."""

    __slots__ = ("attribute", "default", "name", "read", "secret", "tightens")

    def __init__(
        self,
        name: str,
        read: Callable[[str], Any],
        default: Any,
        tightens: Callable[[Any, Any], bool] | None = None,
        *,
        secret: bool = False,
    ) -> None:
        self.name = name
        self.attribute = name.lower()
        self.read = read
        self.default = default
        self.tightens = tightens
        """(old, new) -> True when a project's file may change old to new; None: never from there."""
        self.secret = secret
        """Its value is never shown: not in a warning, not in a dump."""


_only_off, _only_on, _only_to_off = only_to(False), only_to(True), only_to("off")
_stricter, _tighter_policy = none_looser(ENFORCEMENTS), none_looser(ADDRESS_POLICIES)

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
    Key("ASK_TTY", _one_of("auto", "on", "off"), "auto", _only_to_off),
    Key("CALLBACK_CHANNEL", _boolean, False, _only_off),
    Key("PIGGYBACK", _boolean, True, _anything),
    Key("TIA_ENV_PATH", str, ""),
    Key("XMPP_SERVICE", str, ""),
    Key("XMPP_DOMAIN", str, ""),
    Key("XMPP_USERNAME", str, ""),
    Key("XMPP_PASSWORD", str, "", secret=True),
    Key("XMPP_TLS_VERIFY", _boolean, True),
    Key("MUC_ROOM", str, ""),
    Key("MCP_BOT_NICKNAME", str, ""),
    Key("BUILTIN_SCHEMAS_CONFIG", os.path.expanduser, ""),
    Key("GZIP_MAX_FETCH_SIZE", _positive, GZIP_FETCH_BYTES_MAX_DEFAULT, _lower),
    Key("GZIP_MAX_FETCH_TIME_MILLIS", _positive, GZIP_FETCH_MS_MAX_DEFAULT, _lower),
    Key("GZIP_ALLOWED_DOMAINS", _names, ()),
    Key("PLAN_MODE_ENFORCE", _one_of(*ENFORCEMENTS), "strict", _stricter),
    Key("PLAN_MODE_NETWORK", _boolean, False, _only_off),
    Key("SANDBOX_BACKEND", _one_of("auto", "landlock", "bubblewrap", "allowlist"), "auto"),
    Key("SANDBOX_NAMESPACES", _boolean, True),
    Key("SANDBOX", _one_of(*SANDBOXES), "off", none_looser(SANDBOXES)),
    Key("SANDBOX_REQUIRED", _boolean, False, _only_on),
    Key("SANDBOX_NETWORK", _boolean, False, _only_off),
    Key("WEBSEARCH_ENGINES", _search_engines, SEARCH_ENGINES, _subset),
    Key("SEARXNG_URL", _web_address, ""),
    *(Key(f"WEBSEARCH_ENDPOINT_{name.upper()}", _web_address, "") for name in SEARCH_ENGINES),
    Key("READDOCS_PRIVATE", _one_of(*ADDRESS_POLICIES), "direct", _tighter_policy),
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
    callback_channel: bool
    """Events may be pushed into the model's conversation (`notifications/claude/channel`)."""
    piggyback: bool
    """What waits to be told is added to the next tool's result."""
    tia_env_path: str
    xmpp_service: str
    xmpp_domain: str
    xmpp_username: str
    xmpp_password: str
    xmpp_tls_verify: bool
    muc_room: str
    mcp_bot_nickname: str
    builtin_schemas_config: str
    """A file of schemas that join those that come with the program."""
    gzip_max_fetch_size: int
    """Bytes of a file that is fetched to be compressed."""
    gzip_max_fetch_time_millis: int
    gzip_allowed_domains: tuple[str, ...]
    """Hosts such a file may come from, with those below them; empty: any."""
    plan_mode_enforce: str
    """strict (the kernel refuses), advisory (only said), off."""
    plan_mode_network: bool
    """Internet sockets in plan mode."""
    sandbox_backend: str
    """The sandbox of commands: auto (the strongest that works), landlock, bubblewrap, allowlist."""
    sandbox_namespaces: bool
    """False: no mount and user namespaces of ours, where an administrator does not want them."""
    sandbox: str
    """What commands may do at any time: off (all that the user may), workspace, read-only."""
    sandbox_required: bool
    """Where no sandbox works, no command runs."""
    sandbox_network: bool
    websearch_engines: tuple[str, ...]
    searxng_url: str
    """Address of the user's own SearXNG; "" for none."""
    readdocs_private: str
    """What private addresses are to a fetch: direct (only where the call's own URL names it), deny, allow."""
    chromium_path: str
    """The browser that renders pages; "" to look for one."""

    def __init__(
        self,
        values: dict[str, Any],
        hidden_tools: frozenset[str],
        warnings: tuple[str, ...],
        sources: dict[str, str] | None = None,
    ) -> None:
        for key in KEYS:
            object.__setattr__(self, key.attribute, values.get(key.name, key.default))
        object.__setattr__(self, "hidden_tools", hidden_tools)
        object.__setattr__(self, "warnings", warnings)
        object.__setattr__(self, "sources", sources or {})

    def search_endpoint(self, engine: str) -> str:
        """The address that stands for this engine's own; "" for none."""
        return str(getattr(self, f"websearch_endpoint_{engine}", ""))

    hidden_tools: frozenset[str]
    """Tools switched off by `TOOL_<NAME>=false`, as NAME in upper case without underscores."""
    warnings: tuple[str, ...]
    """What was wrong in the files, a sentence each."""
    sources: dict[str, str]
    """Key -> file and line, or the variable, that its value is from. Keys with their default are not in it."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Settings are frozen: {name} is set by configuration")


class _Reading:
    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.shown: dict[str, bool] = {}
        self.warnings: list[str] = []

    def file(self, path: str, *, trusted: bool = True) -> None:
        self.take(self.lines(path), trusted=trusted)

    def lines(self, path: str) -> list[Line]:
        """None of a file that is not there, nor, with a warning, of one that cannot be used."""
        try:
            return lines(path)
        except Missing:
            pass
        except Unreadable as fault:
            self.warnings.append(f"{path} {fault}; it is ignored.")
        return []

    def take(self, given: Iterable[Line], *, trusted: bool = True) -> None:
        before = len(self.warnings)
        for where, name, value in given:
            if value is not None:
                self.set(name, value, where, trusted=trusted)
                continue
            shown = "a line with a secret" if _names_a_secret(name) else repr(name[:80])
            self.warnings.append(f"{where}: {shown} is not KEY=VALUE; the line is ignored.")
        last = before + WARNINGS_MAX - 1
        if others := self.warnings[last + 1 :]:
            self.warnings[last:] = [f"{self.warnings[last]} So are {len(others)} more."]

    def set(self, name: str, value: str, where: str, *, trusted: bool = True) -> None:
        key = _BY_NAME.get(name)
        try:
            if key is None and name.startswith("TOOL_"):
                shown = _boolean(value)
                if trusted or not shown:
                    self.shown[name[5:].upper().replace("_", "")] = shown
                    self.sources[name] = where
                return
            if key is None:
                self.warnings.append(f"{where}: unknown key {name[:80]!r}; the line is ignored.")
                return
            read = key.read(value)
        except ValueError as fault:
            named = name[:80] if name.isprintable() else repr(name[:80])
            self.warnings.append(f"{where}: {named} {fault}, not {_shown(value)!r}; the line is ignored.")
            return
        if not trusted and not (key.tightens and key.tightens(self.values.get(name, key.default), read)):
            self.warnings.append(f"{where}: {name} may not be loosened by a project's file; the line is ignored.")
            return
        self.values[name] = read
        self.sources[name] = where


def _names_a_secret(line: str) -> bool:
    return any(key.secret and key.name in line for key in KEYS)


def read_keys(path: str, names: Collection[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a file of somebody else's says of our keys `names`, and what is wrong with that; nothing else in it counts.

    The lines are those of a shell or of dotenv: `export ` may stand before a key.
    """
    reading = _Reading()
    for where, name, value in reading.lines(path):
        name = name.removeprefix("export ").strip()
        if value is not None and name in names:
            reading.set(name, value, where)
    return reading.values, tuple(reading.warnings)


def _shown(value: str) -> str:
    """A value for a warning, without the name and password that an address may carry."""
    before, at, after = value.rpartition("@")
    scheme, separator, _ = before.partition("://")
    return (f"{scheme}{separator}…@{after}" if separator else f"…@{after}")[:80] if at else value[:80]


def load(
    environ: Mapping[str, str], home_root: str, project: str | None = None, flags: Iterable[Line] = ()
) -> Settings:
    """The cascade: defaults, beside the executable, home, project, environment, flags (of the command line)."""
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
            if value or (value is not None and key.default == ""):  # `NAME=` is how a shell unsets for one program
                reading.set(key.name, value, f"environment variable {name}")
                break
    for prefix in ("TOOL_", "SCORPIO_TOOL_"):  # the later wins
        for name, value in environ.items():
            if name.startswith(prefix) and value.lower() in (*TRUE_WORDS, *FALSE_WORDS):  # others may mean other things
                reading.set(name.removeprefix("SCORPIO_"), value, f"environment variable {name}")
    reading.take(flags)
    hidden = frozenset(name for name, shown in reading.shown.items() if not shown)
    return Settings(reading.values, hidden, tuple(reading.warnings), reading.sources)


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
