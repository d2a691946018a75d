"""Toolsets and their features as `build/compile_catalog.py` left them: what a server offers, before any client.

Knows no tool by name. Loads a toolset's generated `_catalog` and nothing of its handlers until one is called.
"""

from __future__ import annotations

import _thread
import sys

from scorpio.limits import TOOLSET_PREFIX_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

    from scorpio.settings import Settings
    from scorpio.state.home import Home
    from scorpio.tool import StateLink


TASK_OPTIONAL = "optional"
TASK_REQUIRED = "required"


class ToolsetError(Exception):
    """The chosen toolsets cannot be served together, or one does not exist. A sentence for the person who chose."""


class JsonSchemaValueException(ValueError):
    """One fault, as the generated validators raise it. Only what `faults` needs is kept."""

    def __init__(self, message: str, value: Any = None, name: str = "data", rule: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.name = name
        self.rule = rule


class JsonSchemaValuesException(ValueError):
    """All faults of one value."""

    def __init__(self, errors: list[JsonSchemaValueException]) -> None:
        super().__init__(f"{len(errors)} faults")
        self.errors = errors


class Entry:
    """A feature: its name (a URI for resources), its lane, its wire object, its handler at first use."""

    __slots__ = ("_complete", "_handle", "_load", "descriptor", "ends_others", "name", "requires", "slow", "toolset")

    def __init__(self, toolset: Toolset, row: dict[str, Any], prefix: str = "") -> None:
        self.toolset = toolset
        self.name: str = prefix + row["name"]
        self.slow: bool = row["slow"]
        self.descriptor: bytes = row["descriptor"]
        """The wire object as JSON, every revision's members in it."""
        self.requires: Sequence[str] = row.get("requires", ())
        """Client capabilities without which the feature is of no use."""
        self.ends_others: bool = row.get("ends_others", False)
        """It makes room, and so is served where there is none."""
        self._load: Callable[[], tuple[Callable[..., Any], Callable[..., Any] | None]] = row["load"]
        self._handle: Callable[..., Any] | None = None
        self._complete: Callable[..., Any] | None = None

    @property
    def handle(self) -> Callable[..., Any]:
        if self._handle is None:
            self._handle, self._complete = self._load()
        return self._handle

    @property
    def complete(self) -> Callable[[str, str, dict[str, str]], list[str]] | None:
        """Completion of this prompt's or template's arguments: (argument, value, other arguments) -> values."""
        if self._handle is None:
            self._handle, self._complete = self._load()
        return self._complete


def made_entry(toolset: Toolset, name: str) -> Entry:
    """What stands for a feature that the toolset's state made: it is handled by the state, never loaded."""
    return Entry(toolset, {"name": name, "slow": True, "descriptor": b"{}", "load": None})


class ToolEntry(Entry):
    """A tool: an entry with a validator and the coercions that are safe for its arguments."""

    __slots__ = ("_accept", "_coercions", "_optional", "_validate", "older_names", "task", "verbatim")

    def __init__(self, toolset: Toolset, row: dict[str, Any], prefix: str = "") -> None:
        super().__init__(toolset, row, prefix)
        self._accept: Callable[[dict[str, Any]], bool] | None = row["accept"]
        self._validate: Callable[[Any], Any] = row["validate"]
        self._coercions: Sequence[tuple[str, str]] = row["coercions"]
        self._optional: Sequence[str] = row["optional"]
        self.task: str = row.get("task", "")
        """`execution.taskSupport`: TASK_OPTIONAL, TASK_REQUIRED, or "" where a call is never a task."""
        self.older_names: Sequence[str] = [prefix + name for name in row.get("older_names", ())]
        """What it was called before: called by these too, never listed."""
        self.verbatim: Sequence[str] = row.get("verbatim", ())
        """Arguments that the handler gets as `scorpio.tool.Verbatim`."""

    def check(self, arguments: Any) -> tuple[dict[str, Any], Sequence[str]]:
        """The arguments a handler may trust, and the faults, a line each with a JSON Pointer; no faults: empty.

        Coerced: numerals in strings, whole floats, "true"/"false", null for an optional argument, an object as
        JSON text, and the other way round where the descriptor says `json_text`.
        """
        if type(arguments) is dict:
            if self._accept is not None and self._accept(arguments):
                return arguments, ()
        else:
            if arguments is None:
                arguments = {}
            elif type(arguments) is not str or type(arguments := _object_of(arguments)) is not dict:
                return {}, ["arguments must be object"]
        if arguments:
            arguments = self._coerced(arguments)
        try:
            self._validate(arguments)
        except JsonSchemaValuesException as invalid:
            return arguments, _fault_lines(invalid.errors)
        except JsonSchemaValueException as invalid:
            return arguments, _fault_lines([invalid])
        return arguments, ()

    def _coerced(self, arguments: dict[str, Any]) -> dict[str, Any]:
        for name in self._optional:
            if name in arguments and arguments[name] is None:
                arguments = {key: value for key, value in arguments.items() if key != name}
        for name, kind in self._coercions:
            value = arguments.get(name)
            if value is not None and type(value) is not _EXACT[kind]:
                coerced = _coerce(value, kind)
                if coerced is not None:
                    arguments = {**arguments, name: coerced}
        return arguments


_EXACT = {"integer": int, "number": float, "boolean": bool, "json text": str}
_NUMERAL_CHARS_MAX = 18  # what fits 64 bits; longer ones are left to the validator


def _coerce(value: Any, kind: str) -> Any:
    """`value` as `kind` where no meaning is lost, else None."""
    if kind == "boolean":
        return {"true": True, "false": False}.get(value) if type(value) is str else None
    if kind == "json text":
        return _text_of(value) if type(value) in (dict, list) else None
    if kind == "integer" and type(value) is float and value.is_integer():
        return int(value)
    if type(value) is str and len(value) <= _NUMERAL_CHARS_MAX and value.isascii():
        digits = value.removeprefix("-")
        if digits.isdigit():
            return int(value) if kind == "integer" else float(value)
        if kind == "number" and digits.replace(".", "", 1).isdigit():
            return float(value)
    return None


def _object_of(value: str) -> Any:
    from scorpio.protocol.strict_json import loads

    try:
        return loads(value.encode())
    except ValueError:
        return None


def _text_of(value: Any) -> str | None:
    import json

    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return None


def _fault_lines(errors: list[JsonSchemaValueException]) -> list[str]:
    import re

    lines = []
    for error in errors:
        pointer = re.sub(r"\[(\d+)\]|\.", lambda m: "/" + (m.group(1) or ""), error.name.removeprefix("data"))
        said = error.message.removeprefix(error.name).strip()
        if error.rule == "required":
            lines += [f"{pointer}/{name} is required" for name in re.findall(r"'((?:[^'\\]|\\.)*)'", said)]
        else:
            lines.append(f"{pointer or 'arguments'} {said}")
    return lines


class Toolset:
    """One toolset: its features and, from first use to the end, its state."""

    def __init__(self, name: str, prefix: str = "") -> None:
        catalog = _catalog(name)
        self.name = name
        self.instructions: str = catalog.INSTRUCTIONS
        self.methods: dict[str, str] = {method: prefix + tool for method, tool in catalog.METHODS.items()}
        """JSON-RPC methods that stand for a tool."""
        self.dynamic = frozenset(catalog.DYNAMIC)
        """What its state does by itself: describe, prompts, resources, skills, after_result, roots, subscribed; start:
        it is opened with the server, not with a call; clients: it is told when one has gone; forget: and when its
        session is over; configured: it is opened before anything is served."""
        self.tools = [ToolEntry(self, row, prefix) for row in catalog.TOOLS]
        self.prompts = [Entry(self, row, prefix) for row in catalog.PROMPTS]
        self.resources = [Entry(self, row) for row in catalog.RESOURCES]
        self.templates = [Entry(self, row) for row in catalog.TEMPLATES]
        self._load_state: Callable[[], Callable[[Home, Settings], Any]] | None = catalog.load_state
        self._state: Any = None
        self._closed = False
        self._opened = False
        self._lock = _thread.allocate_lock()

    def state(self, home: Home, settings: Settings, link: StateLink) -> Any:
        """The toolset's state; None where it has none. Opened once, from whichever lane asks first."""
        if not self._opened:
            with self._lock:
                self._open(home, settings, link)
        return self._state

    @property
    def opened(self) -> bool:
        """True while there is a state."""
        return self._state is not None and not self._closed

    def _open(self, home: Home, settings: Settings, link: StateLink) -> None:
        """With the lock held: the other lane may have been quicker."""
        if not self._opened and self._load_state is not None:
            self._state = self._load_state()(home, settings)
            if hasattr(self._state, "connect"):
                self._state.connect(link)
        self._opened = True

    def forget(self, owner: str) -> None:
        """Tell the state, if there is one by now, that nobody can come as `owner` again."""
        if self._state is not None:
            self._state.forget(owner)

    def close(self) -> None:
        """Close the state if it was opened. Called once, when every command has ended.

        A handler that is still on its way out goes on seeing it, closed, and not nothing.
        """
        with self._lock:
            self._opened = self._closed = True
        if self._state is not None:
            self._state.close()


def _catalog(name: str) -> Any:
    module = f"tools.{name}._catalog"
    try:
        __import__(module)
    except ModuleNotFoundError as missing:
        if missing.name not in (f"tools.{name}", module):
            raise
        raise ToolsetError(f"There is no toolset {name!r}. --toolsets takes names of folders in tools/.") from None
    return sys.modules[module]


class Features:
    """What one server offers: the chosen toolsets merged, without the hidden tools. Immutable."""

    def dynamic(self, part: str) -> list[Toolset]:
        """The toolsets whose state makes `part` while running."""
        return [toolset for toolset in self.toolsets if part in toolset.dynamic]

    def __init__(self, toolsets: Sequence[Toolset], *, hidden: Collection[str] = (), tools: bool = True) -> None:
        self.toolsets = tuple(toolsets)
        self.methods: dict[str, str] = _methods(toolsets)
        shown = [
            entry
            for toolset in toolsets
            for entry in toolset.tools
            if tools and entry.name.upper().replace("_", "") not in hidden
        ]
        self.tools: dict[str, ToolEntry] = _by_name("tool", shown)
        self.older_tools: dict[str, ToolEntry] = {name: entry for entry in shown for name in entry.older_names}
        self.prompts: dict[str, Entry] = _by_name("prompt", [e for t in toolsets for e in t.prompts])
        self.resources: dict[str, Entry] = _by_name("resource", [e for t in toolsets for e in t.resources])
        self.templates: dict[str, Entry] = _by_name("resource template", [e for t in toolsets for e in t.templates])
        self.telling = [toolset for toolset in toolsets if "after_result" in toolset.dynamic]
        """Toolsets whose state may add a block to any tool's result."""
        self.skills = [toolset for toolset in toolsets if "skills" in toolset.dynamic]
        """Toolsets whose state has folders of skills to be read as resources."""
        self.starting = [toolset for toolset in toolsets if "start" in toolset.dynamic]
        """Toolsets whose state is opened when the server starts, not at first use."""
        self.varying = {
            *(["tools/list"] if any(e.requires for e in self.tools.values()) else ()),
            *(["prompts/list"] if any(e.requires for e in self.prompts.values()) else ()),
            *(["resources/list"] if any(e.requires for e in self.resources.values()) else ()),
        }
        """List methods whose answer depends on what a legacy client can do."""
        self.instructions = "\n\n".join(t.instructions for t in toolsets if t.instructions)


def _by_name(kind: str, entries: Sequence[Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for entry in entries:
        other = merged.setdefault(entry.name, entry)
        if other is not entry:
            raise ToolsetError(
                f"The {kind} {entry.name!r} is in both {other.toolset.name!r} and {entry.toolset.name!r}. "
                f"Give one a prefix: --toolsets {other.toolset.name},{entry.toolset.name}:{entry.toolset.name[:5]}_"
            )
    return merged


def _methods(toolsets: Sequence[Toolset]) -> dict[str, str]:
    owners: dict[str, Toolset] = {}
    for toolset in toolsets:
        for method in toolset.methods:
            other = owners.setdefault(method, toolset)
            if other is not toolset:
                raise ToolsetError(
                    f"The method {method!r} is in both {other.name!r} and {toolset.name!r}, and methods have no "
                    "prefix. Serve one of them in a server of its own."
                )
    return {method: tool for toolset in toolsets for method, tool in toolset.methods.items()}


def chosen(names: Sequence[str]) -> list[Toolset]:
    """The toolsets of `NAME` or `NAME:PREFIX` items, in order. Raises ToolsetError."""
    toolsets: list[Toolset] = []
    for item in names:
        name, _, prefix = item.partition(":")
        if not name.isidentifier():
            raise ToolsetError(f"{item!r} is not a toolset. Write NAME or NAME:PREFIX, separated by commas.")
        if (
            len(prefix) > TOOLSET_PREFIX_CHARS_MAX
            or not f"x{prefix}".replace("-", "_").isidentifier()
            or (not prefix.isascii())
        ):
            raise ToolsetError(
                f"{prefix[:80]!r} is no prefix: it has letters, digits, _ and -, at most {TOOLSET_PREFIX_CHARS_MAX}."
            )
        if any(toolset.name == name for toolset in toolsets):
            raise ToolsetError(f"The toolset {name!r} is named twice. Once is enough.")
        toolsets.append(Toolset(name, prefix))
    return toolsets
