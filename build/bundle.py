"""What is in the executable beside our own code, whose it is, and under which terms.

Every collected file is traced to a distribution of the venv, to Python, to a vendored folder of ours or to a package
of the system; every one of these brings its licence's text. Refuses (Stop) a file of unknown origin, a component
without a text, and a library that requirements.txt does not lock.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from machine import ROOT, Stop, compiler

OURS = ("scorpio", "tools")
SUPPLIED = ROOT / "build" / "licences"
"""Texts for what brings none, by the component's name."""

TEXT_NAME = re.compile(r"(?i)(licen[cs]e|copying|copyright|notice|authors)([._-].*)?")
VENDORED_TEXT = re.compile(r"(?i)(licen[cs]e|copying)(\.(md|txt))?")
COMMON_LICENCES = re.compile(r"/usr/share/common-licenses/(\w[\w.-]*\w)")

BUILT_IN = {"_ssl": "openssl", "_sqlite3": "sqlite", "_bz2": "bzip2", "_lzma": "xz", "_ctypes": "libffi",
            "_uuid": "libuuid", "zlib": "zlib"}  # fmt: skip
"""Libraries that a Python may hold instead of linking to the system's, by the module that uses them."""

LINKED_STATICALLY = ("libc.a", "libz.a")
"""What the launcher takes from the compiler's machine."""


class Collected(NamedTuple):
    """A file as it will be in the bundle, relative to its folder of modules, and where it was taken from."""

    name: str
    source: str


class Component(NamedTuple):
    name: str
    version: str
    licence: str
    """An SPDX expression where its packager gives one, else his words; may be empty."""
    purl: str
    source_address: str
    texts: tuple[str, ...]
    inside: tuple[dict[str, Any], ...] = ()
    """Components of CycloneDX that its own bill of materials names: the crates in a Rust extension."""


def read_collected(note: Path) -> list[Collected]:
    """What scorpio.spec wrote down; absolute sources, and names with `/`."""
    return [Collected(name.replace("\\", "/"), source) for name, source in json.loads(note.read_text("utf-8"))]


def components(collected: list[Collected], root: Path, *, launcher: bool) -> list[Component]:
    """Everything that is not ours, by name. `launcher`: ours starts the program, else PyInstaller's bootloader.

    Raises Stop for what is of unknown origin or has no licence text.
    """
    distributions: dict[str, metadata.Distribution] = {}
    systems: set[str] = set()
    vendored: set[str] = set()
    owned = files_of_distributions()
    folders = _vendored_folders(root)
    for name, source in collected:
        if name.split("/")[0] in OURS:
            vendored.update(folder for folder in folders if name.startswith(f"{folder}/"))
        elif owner := owned.get(as_source(name)):
            distributions[owner.name] = owner
        elif not _is_pythons(name, source):
            systems.add(source)
    if launcher:
        systems.update(_static_library(name) for name in LINKED_STATICALLY)
    else:
        distributions["pyinstaller"] = metadata.distribution("pyinstaller")
    _refuse_unlocked(distributions)
    found = [
        _python(),
        *_held_by_python(collected),
        *map(of_distribution, distributions.values()),
        *(_vendored(root / folder) for folder in vendored),
        *_packages_of_the_system(systems),
    ]
    without = [component.name for component in found if not component.texts]
    if without:
        raise Stop(
            f"{', '.join(without)} brings no licence text. Put it into {SUPPLIED.relative_to(ROOT)}/NAME.txt, "
            "or leave the library out of the executable."
        )
    return sorted(by_name(found).values(), key=lambda component: component.name.lower())


def by_name(found: Iterable[Component]) -> dict[str, Component]:
    """One of each name: a library that two files come from is one component."""
    return {component.name: component for component in found}


# Whose a file is


def as_source(name: str) -> str:
    """The name that a distribution's RECORD has for it: of a module, that of its source."""
    return name[:-1] if name.endswith(".pyc") else name


def files_of_distributions() -> dict[str, metadata.Distribution]:
    owned = {}
    for distribution in metadata.distributions():
        for file in distribution.files or ():
            owned[file.as_posix()] = distribution
    return owned


def _refuse_unlocked(distributions: Iterable[str]) -> None:
    """What is installed for tests only must not get in because a library imports it where it is there."""
    lock = (ROOT / "requirements.txt").read_text("utf-8")
    locked = {_normal(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    unlocked = sorted(name for name in distributions if _normal(name) not in locked)
    if unlocked:
        raise Stop(
            f"{', '.join(unlocked)} would be in the executable, and requirements.txt does not lock it. "
            "Exclude it in build/scorpio.spec, or name it in pyproject.toml's group `program`."
        )


def _normal(name: str) -> str:
    """As package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _vendored_folders(root: Path) -> list[str]:
    """Folders in our sources that hold the licence of somebody else."""
    return [
        path.parent.relative_to(root).as_posix()
        for package in OURS
        for path in sorted((root / package).rglob("*"))
        if path.is_file() and VENDORED_TEXT.fullmatch(path.name)
    ]


def _is_pythons(name: str, source: str) -> bool:
    base = PurePosixPath(name).name
    if base in (
        sysconfig.get_config_var("INSTSONAME"),
        "base_library.zip",
    ):  # PyInstaller packs modules into the second
        return True
    paths = sysconfig.get_paths()
    places = [Path(paths["stdlib"]), Path(paths["platstdlib"])]
    if sys.base_prefix not in ("/usr", "/usr/local"):  # there, much more than Python lies below the prefix
        places.append(Path(sys.base_prefix).resolve())
    if any(Path(source).resolve().is_relative_to(place) or Path(source).is_relative_to(place) for place in places):
        return True
    return any((place / as_source(name)).is_file() for place in places)


def _static_library(name: str) -> str:
    command = [compiler(), f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return os.path.realpath(found) if os.path.isabs(found) else name


# What it says of itself


def of_distribution(distribution: metadata.Distribution) -> Component:
    about = distribution.metadata.json
    licence = str(about.get("license_expression") or about.get("license") or "")
    if not licence or "\n" in licence:  # some put the whole text there, some only a classifier
        classifiers = [each.rpartition(" :: ")[2] for each in about.get("classifier", ()) if "License ::" in each]
        licence = ", ".join(classifiers)
    texts, bills = [], []
    for file in sorted(distribution.files or (), key=str):
        folder = next((part for part in file.parts if part.endswith(".dist-info")), "")
        if not folder:
            continue
        path = Path(str(distribution.locate_file(file)))
        if file.parts[1] == "licenses" or TEXT_NAME.fullmatch(file.name):
            texts.append(_read(path))
        elif file.parts[1] == "sboms" and file.suffix == ".json":
            bills += _components_of_a_bill(path)
    address = str(about.get("home_page") or "")
    for label, _, where in (str(each).partition(", ") for each in about.get("project_url", ())):
        if label.lower() in ("source", "repository", "source code", "github") or not address:
            address = where
    purl = f"pkg:pypi/{_normal(distribution.name)}@{distribution.version}"
    all_texts = tuple(texts) or _supplied(distribution.name)
    return Component(distribution.name, distribution.version, licence, purl, address, all_texts, tuple(bills))


def _components_of_a_bill(path: Path) -> list[dict[str, Any]]:
    """Of a wheel's own CycloneDX file (PEP 770): what names the thing, without addresses of the build machine."""
    kept = []
    for each in json.loads(path.read_text("utf-8")).get("components", ()):
        part = {key: each[key] for key in ("type", "name", "version", "licenses", "purl") if key in each}
        if "purl" in part:
            part["purl"] = part["purl"].partition("?")[0]
        kept.append(part)
    return kept


def _python() -> Component:
    stdlib = Path(sysconfig.get_path("stdlib"))
    texts = tuple(
        _read(path) for path in (stdlib / "LICENSE.txt", Path(sys.base_prefix, "LICENSE.txt")) if path.is_file()
    )[:1]
    if not texts and (packaged := of_package(str(stdlib / "os.py"))):
        texts = packaged.texts
    version = platform.python_version()
    return Component("CPython", version, "Python-2.0", f"pkg:generic/cpython@{version}", "", texts)


def _held_by_python(collected: list[Collected]) -> list[Component]:
    """Libraries inside this Python's own binary, which no file in the bundle shows."""
    modules = {PurePosixPath(name).name.partition(".")[0] for name, _ in collected}
    held = [BUILT_IN[name] for name in sys.builtin_module_names if name in BUILT_IN and name not in modules]
    return [
        Component(name, version := _version_held(name), "", f"pkg:generic/{name}@{version}", "", _supplied(name))
        for name in held
    ]


def _version_held(library: str) -> str:
    if library == "openssl":
        import ssl

        return ssl.OPENSSL_VERSION.split()[1]
    if library == "sqlite":
        import sqlite3

        return sqlite3.sqlite_version
    if library == "zlib":
        import zlib

        return zlib.ZLIB_RUNTIME_VERSION
    return "unknown"


def _vendored(folder: Path) -> Component:
    texts = tuple(_read(path) for path in sorted(folder.iterdir()) if VENDORED_TEXT.fullmatch(path.name))
    return Component(folder.name, "vendored", "", f"pkg:generic/{folder.name}", "", texts)


def _supplied(name: str) -> tuple[str, ...]:
    path = SUPPLIED / f"{name}.txt"
    return (_read(path),) if path.is_file() else ()


# Packages of the system


def _packages_of_the_system(sources: set[str]) -> list[Component]:
    found = []
    for source in sorted(sources):
        component = of_package(source)
        if component is None:
            raise Stop(f"{source} would be in the executable, and no package says whose it is. Exclude or declare it.")
        found.append(component)
    return found


def of_package(source: str) -> Component | None:
    if shutil.which("dpkg-query"):
        return _from_dpkg(source)
    return _from_rpm(source) if shutil.which("rpm") else None


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _from_dpkg(source: str) -> Component | None:
    real = os.path.realpath(source)
    for path in (real, real.removeprefix("/usr"), f"/usr{real}"):  # merged /usr: dpkg knows one of the two names
        package = _said("dpkg-query", "--search", path).split("\n")[0].rpartition(": ")[0].partition(",")[0]
        if package:
            break
    else:
        return None
    asked = "${Package} ${Version} ${Architecture} ${Homepage}"
    name, version, architecture, *address = _said("dpkg-query", "--show", "--showformat", asked, package).split()
    texts = [_read(path) for path in [Path("/usr/share/doc", name, "copyright")] if path.is_file()]
    for common in sorted(set(COMMON_LICENCES.findall("".join(texts)))):  # only Debian has these files
        texts += [_read(path) for path in [Path("/usr/share/common-licenses", common)] if path.is_file()]
    purl = f"pkg:deb/{_system_id()}/{name}@{version}?arch={architecture}"
    return Component(name, version, "", purl, "".join(address[:1]), tuple(texts))


def _from_rpm(source: str) -> Component | None:
    asked = "%{NAME}\n%{VERSION}-%{RELEASE}\n%{ARCH}\n%{LICENSE}\n%{URL}\n%{SOURCERPM}\n"
    lines = _said("rpm", "-qf", "--queryformat", asked, os.path.realpath(source)).split("\n")
    if len(lines) < 6:
        return None
    name, version, architecture, licence, address, origin = lines[:6]
    siblings = _said("rpm", "-qa", "--queryformat", "%{NAME} %{SOURCERPM}\n").split("\n")
    for package in (name, *(line.split()[0] for line in siblings if line.endswith(f" {origin}"))):
        named = _said("rpm", "-q", "--licensefiles", package).split("\n")
        texts = tuple(_read(Path(path)) for path in named if path.startswith("/") and Path(path).is_file())
        if texts:  # libstdc++ has none of its own: libgcc, made of the same sources, has it
            break
    else:
        texts = ()
    purl = f"pkg:rpm/{_system_id()}/{name}@{version}?arch={architecture}"
    return Component(name, version, licence, purl, address, texts)


def _system_id() -> str:
    try:
        return platform.freedesktop_os_release().get("ID", "linux")
    except OSError:
        return "linux"


def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace").replace("\r\n", "\n").strip() + "\n"


# The text that goes with the executable

HEADING = """\
scorpio {version} is free software under the MIT License, whose text comes first. The executable holds, beside its own
code, the {count} components below, each under its own terms. A text that several share is printed once.
The C library is linked statically into the small program that unpacks the others. Its terms (LGPL) let you link anew:
the sources and the command are in build/ of the repository.
"""


def licence_texts(found: list[Component], version: str, own: str) -> str:
    """THIRD-PARTY-LICENSES.txt."""
    lines = [HEADING.format(version=version, count=len(found)), own]
    first_of: dict[str, str] = {}
    for component in found:
        title = f"{component.name} {component.version}"
        lines += ["=" * 100, title]
        lines += [f"Licence: {component.licence}"] * bool(component.licence)
        lines += [f"Source: {component.source_address}"] * bool(component.source_address)
        inside = sorted({_in_short(part) for part in component.inside}, key=str.lower)
        lines += [f"Inside it: {', '.join(inside)}"] * bool(inside)
        for text in component.texts:
            if text in first_of:
                lines.append(f"\n(A text that stands above, at {first_of[text]}.)")
            else:
                first_of[text] = title
                lines += ["", text]
    return "\n".join(lines) + "\n"


def _in_short(part: dict[str, Any]) -> str:
    terms = [
        each.get("expression") or each.get("license", {}).get("id") or each.get("license", {}).get("name") or ""
        for each in part.get("licenses", ())
    ]
    said = f" ({' AND '.join(terms)})" if any(terms) else ""
    return f"{part['name']} {part.get('version', '')}".strip() + said
