"""tests/faults/matrix.toml, what was measured of it, and the document made of both.

`build/dev.py faults` runs the tests of every row on the executable and the corpus of bad input against other servers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "faults"
MATRIX = FOLDER / "matrix.toml"
MEASURED = FOLDER / "measured.json"
DOCUMENT = FOLDER / "README.md"

ROWS = {"A": 16, "B": 10, "C": 18, "D": 14, "E": 20, "F": 9, "G": 13, "H": 14, "I": 16, "J": 12, "K": 5}
"""How many rows each section of the design has: a map that lacks one is refused."""

SECTIONS = {
    "A": "Bytes and framing",
    "B": "JSON values",
    "C": "JSON-RPC and MCP",
    "D": "Pipes, signals, start",
    "E": "Commands",
    "F": "Background tasks",
    "G": "State",
    "H": "HTTP",
    "I": "Pages and searches",
    "J": "Files, images, skills, questions, XMPP",
    "K": "The one file",
}

NOT_THE_EXECUTABLE = ("source", "in-process", "stdio", "http", "twin")
"""Parameters of a test that say it runs something else. Where it has others, those are left out."""


def rows() -> dict[str, Any]:
    return tomllib.loads(MATRIX.read_text("utf-8"))


def expected_rows() -> list[str]:
    return [f"{section}{number}" for section, most in ROWS.items() for number in range(1, most + 1)]


def measured() -> dict[str, Any]:
    return json.loads(MEASURED.read_text("utf-8")) if MEASURED.is_file() else {}


def keep(**parts: Any) -> None:
    """Replaces parts of measured.json and writes the document anew."""
    held = {**measured(), **parts}
    MEASURED.write_text(json.dumps(held, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    DOCUMENT.write_text(document(), "utf-8")


# -- the tests


def run_tests(report: Path) -> dict[str, str]:
    """Every test of the matrix on the executable: outcome by `file::function`."""
    wanted = sorted({test for row in rows().values() for test in row["tests"]})
    chosen = _node_ids(wanted)
    names = report.with_suffix(".names")
    names.write_text("\n".join(chosen), "utf-8")
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", f"--junit-xml={report}", f"@{names}"],
        cwd=ROOT,
        check=False,
    )
    return outcomes(report)


def _node_ids(wanted: list[str]) -> list[str]:
    """With their parameters; those that run the executable where a test has such."""
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", *wanted],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    ids = [line for line in listed.stdout.splitlines() if "::" in line]
    return [id_ for id_ in ids if not _parameters(id_) & {*NOT_THE_EXECUTABLE} and "in-process" not in id_]


def _parameters(id_: str) -> set[str]:
    return set(id_.partition("[")[2].rstrip("]").split("-")) if "[" in id_ else set()


def outcomes(report: Path) -> dict[str, str]:
    """`passed N`, `failed`, or `skipped: reason` of each function in a report of pytest."""
    found: dict[str, list[str]] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        name = f"{file}::{case.get('name', '').partition('[')[0]}"
        kind = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        found.setdefault(name, []).append(kind)
    said = {}
    for name, kinds in sorted(found.items()):
        bad = sum(kind in ("failure", "error") for kind in kinds)
        good = kinds.count("passed")
        said[name] = f"failed {bad} of {len(kinds)}" if bad else f"passed {good}" if good else "skipped"
    return said


def today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


# -- the document


def document() -> str:
    return "\n".join([*_head(), *_soak(), *_fuzz(), *_peers(), *_rows()]) + "\n"


def _head() -> Iterator[str]:
    yield "# What may go wrong, and what holds it"
    yield ""
    yield "Made by `build/dev.py faults` from `matrix.toml` and `measured.json`: change those, not this."
    yield ""
    yield "`dev.py fuzz --minutes 10` repeats the property tests with new seeds and a thousand examples each; the files"
    yield "they begin with are in `corpus/`. `dev.py soak --minutes 10` runs the mixed load (`mixed_load.py`), as an"
    yield "ordinary user too, and then the tests marked `faults`, longer than the suite does. A failure says its seed."
    yield ""


def _soak() -> Iterator[str]:
    soaks = measured().get("soak", [])
    if not soaks:
        return
    yield "## Soak"
    yield ""
    heads = ("user", "minutes", "calls", "servers", "faults injected", "orphans", "lost", "steps kept")
    yield f"| {' | '.join((*heads, 'memory, KiB a minute', 'descriptors'))} |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for one in soaks:
        descriptors = " to ".join(map(str, one["descriptors"]))
        yield (
            f"| {one['user']} | {one['seconds'] / 60:.1f} | {one['calls']} | {one['lives']} | {one['faults injected']} "
            f"| {one['orphans']} | {one['lost']} | {one['steps acknowledged']} "
            f"| {one['memory']['slope KiB a minute']} | {descriptors} |"
        )
    yield ""
    kinds = sorted({kind for one in soaks for kind in one["injected"]})
    yield f"Faults: {', '.join(kinds)}. Memory and descriptors are those of the one server that stays throughout."
    yield ""


def _fuzz() -> Iterator[str]:
    found = measured().get("found", [])
    if not found:
        return
    yield "## What fuzzing and soaking found, all of it mended"
    yield ""
    yield from (f"- {sentence}" for sentence in found)
    yield ""


def _peers() -> Iterator[str]:
    peers = measured().get("peers", [])
    if not peers:
        return
    yield "## The same bad input to the official SDKs"
    yield ""
    yield "`must`: the protocol's MUST, or survival. `want`: what scorpio promises beside it, and the others do not."
    yield ""
    yield "| | " + " | ".join(peer["server"] for peer in peers) + " |"
    yield "|---|" + "---|" * len(peers)
    for level in ("must", "want"):
        yield f"| {level} | " + " | ".join(f"{peer[level][0]} of {peer[level][1]}" for peer in peers) + " |"
    for id_, title in peers[0]["title"].items():
        if any(peer["cases"].get(id_) != "ok" for peer in peers):
            cells = (peer["cases"].get(id_, "").replace("|", "\\|") for peer in peers)
            yield f"| {id_} {title.replace('|', '&#124;')} | " + " | ".join(cells) + " |"
    yield ""


def _rows() -> Iterator[str]:
    said = measured().get("tests", {})
    when = measured().get("tests_run", "")
    yield "## Every row"
    yield ""
    if when:
        yield f"Outcome on the executable, {when}; a number counts the cases of a test. `source`: none starts it."
    for section, title in SECTIONS.items():
        yield ""
        yield f"### {section} {title}"
        yield ""
        yield "| | promise | tests | outcome |"
        yield "|---|---|---|---|"
        for id_, row in rows().items():
            if id_.rstrip("0123456789") == section:
                yield f"| {id_} | {row['says']}{_but(row)} | {_tests(row)} | {_outcome(row, said)} |"


def _but(row: dict[str, Any]) -> str:
    return f" *{row['but']}*" if row.get("but") else ""


def _tests(row: dict[str, Any]) -> str:
    parts = (test.partition("::") for test in row["tests"])
    return "<br>".join(f"{Path(file).stem[5:]}: {name.removeprefix('test_')}" for file, _, name in parts)


def _outcome(row: dict[str, Any], said: dict[str, str]) -> str:
    return "<br>".join(said.get(test, "source") for test in row["tests"]) if said else ""
