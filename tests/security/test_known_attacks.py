"""What was found elsewhere has a test here, and SECURITY.md names only requirements and tests that there are."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache

from tests.links import ROOT

ATTACKS = ROOT / "tests" / "security" / "known_attacks.toml"

THROUGH_A_SHELL = {
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "create_subprocess_shell",
}


@cache
def _functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def _missing(named: str) -> bool:
    path, _, function = named.partition("::")
    return not (ROOT / path).is_file() or function not in _functions(path)


def test_every_known_attack_has_a_test_that_is_there() -> None:
    attacks = tomllib.loads(ATTACKS.read_text("utf-8"))
    assert [name for name, entry in attacks.items() if not entry["tests"] or not entry["found_in"]] == []
    assert [test for entry in attacks.values() for test in entry["tests"] if _missing(test)] == []


def test_the_security_model_names_only_what_is_shown() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    requirements = tomllib.loads((ROOT / "tests" / "requirements.toml").read_text("utf-8"))
    named = re.findall(r"`([a-z][a-z-]*(?::[a-z-]+)+)`", text)
    assert len(named) > 15
    assert [name for name in named if name not in requirements] == []
    assert [test for test in re.findall(r"`(tests/[^`]+::[^`]+)`", text) if _missing(test)] == []


def test_nothing_but_commands_of_the_caller_goes_through_a_shell() -> None:
    """Programs get arguments as a list, so that a URL or a path is never read by a shell."""
    found = []
    for folder in ("scorpio", "tools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if not isinstance(node, ast.Call):
                    continue
                called = ast.unparse(node.func)
                with_shell = any(word.arg == "shell" and ast.unparse(word.value) != "False" for word in node.keywords)
                if with_shell or called in THROUGH_A_SHELL or called.endswith("create_subprocess_shell"):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno} {called}")
    assert found == []
