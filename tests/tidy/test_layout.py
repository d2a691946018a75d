"""Where things are: top level, tool folders, generated code, and nothing that ties a file to one machine."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path, PurePosixPath

import compile_catalog
import schema_rules
import tools
from tests.tidy import sources
from tests.tidy.sources import ROOT

FOLDERS = {"scorpio", "tools", "build", "tests", "benchmarks"}
TOP_FILES = re.compile(
    r"pyproject\.toml|requirements(-\w+)?\.txt|LICENSE|(README|ARCHITECTURE|CONTRIBUTING|CHANGELOG|SECURITY)(\.\w+)*"
)

NEEDED = {"tool.json": {"handler.py", "cases.json"}, "prompt.json": {"handler.py"}, "resource.json": {"handler.py"}}
"""What stands beside a descriptor, beside `__init__.py`."""

WORDS = ("pypi", "python" + "hosted", "npm" + "js", "crates", "deb", "security", "proxy", "repo1")
REGISTRY_HOST = re.compile(
    rf"\b(?:{'|'.join(WORDS[:4])})\.(?:org|com|io)\b|\b(?:deb|security)\.debian\.org|proxy\.golang\.org|repo1\.maven\.org"
)
MACHINE_PATH = re.compile(r"(?:^|[^A-Za-z0-9_.])/(?:work|root|farm)/", re.MULTILINE)


def test_the_top_level_holds_what_it_is_meant_to_hold() -> None:
    entries = {PurePosixPath(name).parts[0]: len(PurePosixPath(name).parts) > 1 for name in sources.files()}
    found = [
        f"{entry} stands at the top level; it belongs in one of {', '.join(sorted(FOLDERS))}."
        for entry, is_folder in entries.items()
        if not entry.startswith(".") and not (entry in FOLDERS if is_folder else TOP_FILES.fullmatch(entry))
    ]
    assert not found, "\n".join(found)


def test_tools_is_our_package_and_not_one_that_is_installed() -> None:
    assert Path(str(tools.__file__)).parent == ROOT / "tools", "Run from the root: another `tools` is in the way."


def test_build_is_no_package() -> None:
    assert not (ROOT / "build" / "__init__.py").exists(), (
        "Remove build/__init__.py: `python -m build` would run it, and its scripts are modules by their own names."
    )


def test_every_catalogue_is_what_its_descriptors_give() -> None:
    stale = compile_catalog.stale()
    assert not stale, f"Run python3 build/dev.py catalog: stale are {', '.join(stale)}."


def test_every_feature_folder_has_the_files_it_needs() -> None:
    found = []
    for folder in sorted({PurePosixPath(name).parent for name in sources.files() if _is_descriptor(name)}):
        present = {PurePosixPath(name).name for name in sources.files() if PurePosixPath(name).parent == folder}
        descriptors = present & NEEDED.keys()
        if len(descriptors) != 1:
            found.append(f"{folder} has {' and '.join(sorted(descriptors))}; one folder is one feature.")
        needed = {"__init__.py"}.union(*(NEEDED[name] for name in descriptors))
        found += [f"{folder} lacks {name}; build/dev.py new-tool shows its form." for name in sorted(needed - present)]
        odd = {name for name in present - descriptors - needed - {"description.md"} if not name.endswith(".py")}
        found += [f"{folder}/{name} has no place there; data belongs in the toolset's folder." for name in sorted(odd)]
    assert not found, "\n".join(found)


def _is_descriptor(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return len(parts) == 4 and parts[0] == "tools" and parts[3] in NEEDED


def test_every_tool_stands_in_the_folder_of_its_name() -> None:
    found = []
    for name in filter(_is_descriptor, sources.files()):
        path = PurePosixPath(name)
        called = json.loads(sources.text(name)).get("name", "") if path.name == "tool.json" else ""
        if called and schema_rules.folder_name(called) != path.parent.name:
            found.append(f"{path.parent} holds {called}; rename it {schema_rules.folder_name(called)}.")
    assert not found, "\n".join(found)


def test_every_toolset_says_what_it_is() -> None:
    folders = sorted(
        {PurePosixPath(name).parts[1] for name in sources.files() if name.count("/") > 1 and name[:6] == "tools/"}
    )
    found = [
        f"tools/{folder} lacks {name}; build/dev.py new-tool --new-toolset writes it."
        for folder in folders
        for name in ("__init__.py", "toolset.json", "_catalog.py")
        if not (ROOT / "tools" / folder / name).is_file()
    ]
    assert not found, "\n".join(found)


def test_no_file_names_a_registry_or_a_place_of_one_machine() -> None:
    here = [str(path) + "/" for path in (ROOT, Path.home()) if len(path.parts) > 2]
    found = []
    for name in sources.files():
        try:
            content = sources.text(name)
        except UnicodeDecodeError:
            continue
        if host := REGISTRY_HOST.search(content):
            found.append(f"{name} names {host[0]}; pip's and npm's own configuration says where packages are.")
        if (place := MACHINE_PATH.search(content)) or any(path in content for path in here):
            found.append(
                f"{name} holds a path of one machine ({place[0].strip() if place else 'yours'}); make it relative."
            )
    assert not found, "\n".join(found)


def test_the_lock_files_hold_what_pyproject_pins() -> None:
    groups = tomllib.loads(sources.text("pyproject.toml"))["dependency-groups"]
    found = []
    for group, lock in (
        ("program", "requirements.txt"),
        ("build", "requirements.txt"),
        ("dev", "requirements-dev.txt"),
    ):
        locked = set(_locked(lock))
        pins = [pin for pin in groups[group] if isinstance(pin, str)]
        found += [f"{lock} lacks {pin}; CONTRIBUTING.md, Change a dependency." for pin in pins if pin not in locked]
    assert not found, "\n".join(found)


def test_the_lock_for_development_holds_all_of_the_lock_for_building() -> None:
    missing = set(_locked("requirements.txt")) - set(_locked("requirements-dev.txt"))
    assert not missing, f"requirements-dev.txt lacks {sorted(missing)}; CONTRIBUTING.md, Change a dependency."


def _locked(name: str) -> list[str]:
    return re.findall(r"^([\w.-]+==[^\s;]+)", sources.text(name), re.MULTILINE)
