"""tests/requirements.toml and what shows it: nothing claimed without a test, no test for what is not claimed."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.links import ROOT
from tests.transcript import SOURCES, read

if TYPE_CHECKING:
    from pathlib import Path

TESTS = ROOT / "tests"


@cache
def requirements() -> dict[str, Any]:
    return tomllib.loads((TESTS / "requirements.toml").read_text("utf-8"))


def _marked(path: Path) -> list[str]:
    """The ids of `requirement(…)` in one file of tests."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "requirement"]
    return [str(arg.value) for call in named for arg in call.args if isinstance(arg, ast.Constant)]


def _shown() -> set[str]:
    marked = {id_ for path in TESTS.rglob("test_*.py") for id_ in _marked(path)}
    written = {id_ for path in (TESTS / "transcripts").glob("*.txt") for id_ in read(path).requirements}
    named = {id_ for id_, entry in requirements().items() if entry.get("tests")}
    return marked | written | named


def test_every_requirement_is_shown_by_a_test() -> None:
    assert requirements().keys() - _shown() == set()


def test_every_test_shows_a_requirement_that_is_there() -> None:
    assert _shown() - requirements().keys() == set()


def test_every_test_that_a_requirement_names_exists() -> None:
    missing = []
    for entry in requirements().values():
        for named in entry.get("tests", ()):
            path, _, function = named.partition("::")
            file = ROOT / path
            if not file.is_file() or f"def {function}(" not in file.read_text("utf-8"):
                missing.append(named)
    assert missing == []


def test_every_requirement_is_a_sentence_with_a_source() -> None:
    wrong = [
        id_
        for id_, entry in requirements().items()
        if not entry["says"].endswith(".")
        or entry["source"].split()[0].rstrip(":;") not in SOURCES
        or entry.keys() - {"says", "source", "tests"}
    ]
    assert wrong == []
