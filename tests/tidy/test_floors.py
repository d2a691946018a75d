"""Imports go down only. ARCHITECTURE.md draws the floors; this file is the table."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.tidy import sources

FLOORS = {
    "scorpio": 0,  # the version
    "scorpio.limits": 0,
    "scorpio.deferred": 0,
    "scorpio.inspector": 0,
    "scorpio.protocol": 0,
    "scorpio.log": 1,
    "scorpio.settings_lines": 0,
    "scorpio.settings_rules": 0,
    "scorpio.settings": 1,
    "scorpio.state": 1,
    "scorpio.tool": 1,
    "scorpio.process": 1,
    "scorpio.process_table": 1,
    "scorpio.supervise": 1,
    "scorpio.supervisors": 1,
    "scorpio.descendants": 1,
    "scorpio.command_environment": 1,
    "scorpio.command_job": 1,
    "scorpio.login_shell": 1,
    "scorpio.confine": 1,
    "scorpio.readonly_commands": 1,
    "scorpio.sandbox": 1,
    "scorpio.command_sandbox": 1,
    "scorpio.seccomp": 1,
    "scorpio.address_policy": 1,
    "scorpio.web_address": 1,
    "scorpio.gate": 1,
    "scorpio.fetch": 1,
    "scorpio.policy_proxy": 1,
    "scorpio.worker_process": 1,
    "scorpio.yaml_flow": 0,
    "scorpio.front_matter": 1,
    "scorpio.skill_folder": 1,
    "scorpio.skill_shelf": 2,
    "scorpio.toolset": 2,
    "scorpio.server": 3,
    "scorpio.transports": 4,
    "scorpio.client": 4,
    "scorpio.registration": 4,
    "tools": 5,
    "scorpio.app": 6,
    "scorpio.cli": 6,
    "scorpio.commands": 6,
    "scorpio.__main__": 6,
}

SEEN_BY = {
    "scorpio.client": ("scorpio", "scorpio.protocol", "scorpio.limits"),
    "scorpio.transports": tuple(name for name, floor in FLOORS.items() if floor <= 3),
    "tools": (
        *("scorpio", "scorpio.tool", "scorpio.process", "scorpio.process_table", "scorpio.state"),
        *("scorpio.settings", "scorpio.limits", "scorpio.log", "scorpio.protocol"),
        *("scorpio.sandbox", "scorpio.command_sandbox", "scorpio.readonly_commands"),
        *("scorpio.address_policy", "scorpio.web_address", "scorpio.gate", "scorpio.fetch", "scorpio.policy_proxy"),
        *("scorpio.worker_process", "scorpio.skill_folder"),
    ),
}
"""Narrower than the floor: all that these may import of us, beside themselves."""

PROTOCOL_BANS = {
    *("asyncio", "fcntl", "io", "os", "pathlib", "select", "selectors", "signal", "socket", "subprocess", "tempfile"),
    *("_thread", "threading", "datetime", "time"),
}
"""protocol/ does no I/O, starts no thread and reads no clock: it must run the same in every test and transport."""


def owner(module: str) -> str:
    """The row of FLOORS a module belongs to; empty for foreign modules and for ours without a row."""
    while module:
        if module in FLOORS:
            return module
        module = module.rpartition(".")[0]
    return ""


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, module) of every import, those inside functions too. `from a import b` counts as `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def faults(module: str, tree: ast.Module) -> list[str]:
    """What `module` imports and must not."""
    home = owner(module)
    found = []
    for line, target in imported(tree):
        place = f"{module} line {line} imports {target}"
        theirs = owner(target)
        if home == "scorpio.protocol" and target.split(".")[0] in PROTOCOL_BANS:
            found.append(f"{place}: protocol/ does no I/O and reads no clock; let the caller pass what it needs.")
        if not theirs or (theirs == home and home != "tools"):
            continue
        if home == "tools" == theirs:
            if target.split(".")[1] != module.split(".")[1]:
                found.append(f"{place}: a toolset never imports another; move what both need to scorpio/.")
        elif FLOORS[theirs] > FLOORS[home]:
            found.append(f"{place}: imports go down only; move the shared part down, or pass it in from above.")
        elif home in SEEN_BY and theirs not in SEEN_BY[home]:
            found.append(f"{place}: {home} may see {', '.join(SEEN_BY[home])} only.")
    return found


def module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_every_import_goes_down() -> None:
    found = []
    for path in sources.python_files("scorpio", "tools"):
        found += faults(module_name(path), sources.tree(path))
    assert not found, "\n".join(found)


def test_every_module_of_the_program_has_a_floor() -> None:
    names = {".".join(module_name(path).split(".")[:2]) for path in sources.python_files("scorpio")}
    homeless = sorted(names - FLOORS.keys())
    assert not homeless, f"Give {', '.join(homeless)} a row in FLOORS of tests/tidy/test_floors.py."


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("scorpio.protocol.messages", "from scorpio.server import peer"),
        ("scorpio.protocol.framing", "import time"),
        ("scorpio.server.calls", "from tools.core import state"),
        ("scorpio.toolset", "def late():\n    from scorpio.app import build_server"),
        ("scorpio.client.client", "from scorpio.tool import text"),
        ("tools.sum.sum.handler", "from tools.core.state import CoreState"),
        ("tools.sum.sum.handler", "from scorpio.server.calls import RunningCall"),
    ],
)
def test_an_import_that_goes_up_is_a_fault(module: str, line: str) -> None:
    assert len(faults(module, ast.parse(line))) == 1


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("scorpio.server.calls", "from scorpio import __version__"),
        ("scorpio.server.calls", "from scorpio.server import peer"),
        ("scorpio.app", "from tools.core import state"),
        ("tools.core.bash.handler", "from tools.core.state import CoreState"),
        ("scorpio.protocol.messages", "import orjson"),
    ],
)
def test_an_import_that_goes_down_is_none(module: str, line: str) -> None:
    assert faults(module, ast.parse(line)) == []
