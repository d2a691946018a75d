"""The skeleton of a tool: a folder that compiles, passes its one case and answers. Overwrites nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import schema_rules

HANDLER = '''"""{name}: say in one line what the tool does, then what it refuses."""

from __future__ import annotations

from scorpio.tool import ToolFailure, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorpio.tool import Call, ToolResult
    from tools.{toolset}._catalog import {arguments}{state_import}


def handle(arguments: {arguments}, call: Call[{state}]) -> ToolResult:
    value = arguments["text"]
    if not value:
        raise ToolFailure("/text is empty. Give at least one character.")
    return text(value)
'''


class Refused(Exception):
    """The skeleton cannot be written: one sentence."""


def create(root: Path, toolset: str, name: str, *, new_toolset: bool = False) -> list[str]:
    """Write tools/<toolset>/<name in snake case>/; what to tell its author. Raises Refused."""
    if not re.fullmatch("[a-z][a-z0-9_]*", toolset):
        raise Refused(f"{toolset} cannot be a toolset's name. Use lower-case letters, digits and _, letter first.")
    if not schema_rules.TOOL_NAME.fullmatch(name) or not schema_rules.folder_name(name).isidentifier():
        raise Refused(f"{name} cannot be a tool's name. Use letters, digits, _ and -, letter first, 64 at most.")
    home = root / "tools" / toolset
    folder = home / schema_rules.folder_name(name)
    if not (home / "toolset.json").is_file():
        _make_toolset(home, new_toolset)
    if folder.exists():
        raise Refused(f"{folder.relative_to(root)} exists. Choose another name, or edit what is there.")
    folder.mkdir()
    for file_name, content in _files(home, name, folder.name).items():
        (folder / file_name).write_text(content, "utf-8")
    place = folder.relative_to(root).as_posix()
    return [
        f"Written: {place}/ with __init__.py, tool.json, handler.py and cases.json.",
        "Next:",
        f"  1. {place}/tool.json: title, description, inputSchema. It is what a client gets, word for word.",
        "  2. python3 build/dev.py catalog: compiles the schema, makes the argument types.",
        f"  3. {place}/handler.py: `def` when it answers within 1 ms, `async def` when it waits for anything.",
        f"  4. {place}/cases.json: arguments and what they give, failures too.",
        f"  5. python3 build/dev.py test -- tests/toolsets -k {folder.name}",
    ]


def _make_toolset(home: Path, wanted: bool) -> None:
    if not wanted:
        known = ", ".join(sorted(path.parent.name for path in home.parent.glob("*/toolset.json")))
        raise Refused(f"There is no toolset {home.name}. There are: {known}. --new-toolset makes it.")
    home.mkdir(exist_ok=True)
    title = home.name.replace("_", " ").capitalize()
    (home / "toolset.json").write_text(json.dumps({"title": title, "instructions": ""}, indent=2) + "\n", "utf-8")
    (home / "__init__.py").write_text(f'"""The {home.name} toolset."""\n', "utf-8")


def _state_class(home: Path) -> str:
    """The class that the toolset's `open_state` returns; `None` for a toolset without state."""
    path = home / "state.py"
    if not path.is_file():
        return "None"
    found = re.search(r"def open_state\(.*?\) -> (\w+):", path.read_text("utf-8"), re.DOTALL)
    return found[1] if found else "object"


def _files(home: Path, name: str, folder: str) -> dict[str, str]:
    state = _state_class(home)
    state_import = "" if state in ("None", "object") else f"\n    from tools.{home.name}.state import {state}"
    words = folder.replace("_", " ")
    arguments = "".join(word.capitalize() for word in folder.split("_")) + "Arguments"
    descriptor = {
        "name": name,
        "title": words.capitalize(),
        "description": "Answer the text it is given. Say here what the tool does, when to use it and what it needs.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text to answer"}},
            "required": ["text"],
        },
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }
    cases = [
        {"title": "answers the text it is given", "arguments": {"text": "hello"}, "result": {"text": "hello"}},
        {
            "title": "says what to do about an empty text",
            "arguments": {"text": ""},
            "result": {"text_matches": "at least one character", "is_error": True},
        },
    ]
    return {
        "__init__.py": "",
        "tool.json": json.dumps(descriptor, indent=2) + "\n",
        "handler.py": HANDLER.format(
            name=name, toolset=home.name, arguments=arguments, state=state, state_import=state_import
        ),
        "cases.json": json.dumps(cases, indent=2) + "\n",
    }
