"""`scorpio config`: what is configured, from where, and one value written to a file."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from scorpio.app import settings_and_home
from scorpio.settings import FILE_NAME, KEYS, Key, project_of
from scorpio.settings_lines import Missing, Unreadable, content, unquoted
from scorpio.settings_rules import boolean, only_to
from scorpio.toolset import ToolsetError, chosen

UNSET = "(not set)"
SECRET = "(set, not shown)"
_TOOL = re.compile(r"TOOL_[A-Za-z0-9_]+")


def dump(*, show_source: bool) -> int:
    """Every key, `KEY=VALUE` a line, as a configuration file would say it; warnings on stderr."""
    settings, _ = settings_and_home()
    for warning in settings.warnings:
        _say(warning)
    lines = [(key.name, _shown(key, getattr(settings, key.attribute))) for key in KEYS]
    lines += [(name, "false") for name in sorted(settings.sources) if _TOOL.fullmatch(name)]
    for name, value in lines:
        source = f"  # {settings.sources.get(name, 'default')}" if show_source else ""
        sys.stdout.write(f"{name}={value}{source}\n")
    return 0


def get(name: str) -> int:
    """Exit status 1 for a key that does not exist."""
    key = _key(name)
    settings, _ = settings_and_home()
    if key is None and _TOOL.fullmatch(name.upper()):
        hidden = name.upper().removeprefix("TOOL_").replace("_", "") in settings.hidden_tools
        sys.stdout.write("false\n" if hidden else "true\n")
        return 0
    if key is None:
        return _unknown(name)
    sys.stdout.write(f"{_shown(key, getattr(settings, key.attribute))}\n")
    return 0


def set_value(name: str, value: str, *, level: str) -> int:
    """Write `name` to the user's or the project's file, in its place where it stands there already. 1: refused."""
    name = name.upper()
    key = _key(name)
    if key is None and not _TOOL.fullmatch(name):
        return _unknown(name)
    if "\n" in value or "\r" in value or "\0" in value:
        return _fault(f"{name} cannot hold a line break or a NUL")
    if unquoted(_quoted(value)) != value:
        return _fault(f"{name} cannot hold both kinds of quotes where blanks or a comment sign need some around them")
    try:
        read: Any = boolean(value) if key is None else key.read(value)
        if name == "TOOLSETS":
            chosen(read)  # a server that is told to serve one that there is not does not start
    except ValueError as fault:
        return _fault(f"{name} {fault}, not {value[:80]!r}")
    except ToolsetError as fault:
        return _fault(str(fault))
    _, home = settings_and_home()
    file = Path(os.path.realpath(home.path(FILE_NAME)))  # people keep it elsewhere, and a link to it here
    if level == "project":
        try:
            here = os.environ.get("SCORPIO_CWD") or os.getcwd()
        except OSError:
            return _fault("the current directory is gone, and with it its project; change to another one")
        file = Path(project_of(here), ".scorpio", FILE_NAME)
        tightens = only_to(False) if key is None else key.tightens
        if not (tightens and tightens(key.default if key else True, read)):
            return _fault(f"{name}={value} would be ignored in a project's file, which may only tighten")
    try:
        _write(file, name, value)
    except Unreadable as why:
        return _fault(f"{file} {why}, so nothing was written. Move it away, or mend it")
    except OSError as error:
        return _fault(f"{file} could not be written: {error.strerror or error}")
    _say(f"{name} is set in {file}. Servers read it when they start.")
    return 0


def _write(file: Path, name: str, value: str) -> None:
    """The last line that sets `name` is replaced; everything else stays as it is."""
    written = f"{name}={_quoted(value)}\n".encode("utf-8", "surrogateescape")
    try:
        lines = content(str(file)).splitlines(keepends=True)
    except Missing:
        lines = []
    places = [number for number, line in enumerate(lines) if line.partition(b"=")[0].strip() == name.encode()]
    if places:
        lines[places[-1]] = written
    else:
        if lines and not lines[-1].endswith(b"\n"):
            lines[-1] += b"\n"
        lines.append(written)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as whole:
            whole.write(b"".join(lines))
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise


def _quoted(value: str) -> str:
    """So that it is read as it was given: quotes where spaces or a comment sign would be lost."""
    if value != value.strip() or " #" in value or value[:1] in ("'", '"'):
        return f"'{value}'" if "'" not in value else f'"{value}"'
    return value


def _key(name: str) -> Key | None:
    return next((key for key in KEYS if key.name == name.upper()), None)


def _shown(key: Key, value: Any) -> str:
    if getattr(key, "secret", False):
        return SECRET if value else UNSET
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return (os.pathsep if key.name == "ADDITIONAL_SKILLS" else ",").join(map(str, value))
    return str(value)


def _unknown(name: str) -> int:
    import difflib

    near = difflib.get_close_matches(name.upper(), [key.name for key in KEYS], 1)
    return _fault(f"there is no key {name!r}. " + (f"Did you mean {near[0]}?" if near else "--dump shows all"))


def _fault(text: str) -> int:
    _say(text if text.endswith("?") else f"{text.rstrip('.')}.")
    return 1


def _say(text: str) -> None:
    sys.stderr.write(f"scorpio: {text}\n")
