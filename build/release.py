"""A release, one thing a step. The workflow `.github/workflows/release.yml` runs the same steps on each platform.

    python3 build/dev.py release                       all of it, here and for this platform; publishes nothing
    python3 build/release.py check [--tag v1.2.3]      version, changelog and tag say the same
    python3 build/dev.py release -- assets             executable, wheel, bill of materials, terms: into dist/release
    python3 build/release.py sums FOLDER               every needed asset is there; writes SHA256SUMS
    python3 build/release.py notes                     the changelog's words on this version

Uploads, signs and tags nothing. Only `assets` needs more than Python's standard library, so that the jobs which may
write anywhere run nothing else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

from machine import ROOT, Stop

VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
"""What package indexes and the tag both take."""

HEADING = re.compile(r"^## (?P<version>\S+)( - (?P<date>\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)
UNRELEASED = "Unreleased"
SUMS = "SHA256SUMS"
OUT = ROOT / "dist" / "release"


class Platform(NamedTuple):
    name: str
    """In the names of the assets."""
    system: str
    """As sys.platform."""
    machines: tuple[str, ...]
    """As platform.machine()."""
    wheel: str
    """How the platform tag of its wheel begins and ends, with * between."""
    needed: bool
    """A release without it is none. The others are published where they could be built and answered."""
    glibc: int = 0
    """2.N: the newest C library that what is published may ask for; 0 where there is none."""

    @property
    def suffix(self) -> str:
        return ".exe" if self.system == "win32" else ""


PLATFORMS = (
    Platform("linux-x86_64", "linux", ("x86_64",), "manylinux_*_x86_64", needed=True, glibc=28),
    # wreq's wheels for arm64 begin at 2.34
    Platform("linux-arm64", "linux", ("aarch64",), "manylinux_*_aarch64", needed=False, glibc=34),
    Platform("macos-arm64", "darwin", ("arm64",), "macosx_*_arm64", needed=False),
    Platform("macos-x86_64", "darwin", ("x86_64",), "macosx_*_x86_64", needed=False),
    Platform("windows-x86_64", "win32", ("AMD64",), "win_amd64", needed=False),
)


# What the sources say


def version_of(root: Path) -> str:
    """Raises Stop."""
    found = re.search(r'^__version__ = "(.*)"$', (root / "scorpio" / "__init__.py").read_text("utf-8"), re.MULTILINE)
    if not found or not VERSION.fullmatch(found[1]):
        said = repr(found[1]) if found else "nothing"
        raise Stop(f"scorpio/__init__.py says {said} as its version. A release needs three numbers, such as 1.2.3.")
    return found[1]


def changes(root: Path) -> list[tuple[str, str, str]]:
    """The sections of CHANGELOG.md, newest first: version, date (empty without one), text."""
    path = root / "CHANGELOG.md"
    if not path.is_file():
        raise Stop("CHANGELOG.md is missing. Write what this version changes under `## VERSION - DATE`.")
    text = path.read_text("utf-8")
    headings = list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)] * bool(headings)
    return [
        (heading["version"], heading["date"] or "", text[heading.end() : end].strip())
        for heading, end in zip(headings, ends, strict=True)
    ]


def check(root: Path, tag: str | None = None) -> str:
    """The version, when changelog and (where one is given) tag agree with it. Raises Stop with what to do."""
    version = version_of(root)
    sections = changes(root)
    if tag is None and sections and sections[0][0] == UNRELEASED:
        return version  # work goes on; nothing is released yet
    if tag is not None and tag != f"v{version}":
        raise Stop(f"The tag is {tag}, and scorpio/__init__.py says {version}. The tag must be v{version}.")
    if not sections or sections[0][0] != version:
        first = f"begins with {sections[0][0]}" if sections else "has no section"
        raise Stop(f"CHANGELOG.md {first}, and the version is {version}. Write `## {version} - DATE` on top.")
    if not sections[0][1]:
        raise Stop(f"CHANGELOG.md has no date for {version}. Write `## {version} - DATE`.")
    if not sections[0][2]:
        raise Stop(f"CHANGELOG.md says nothing of {version}. Write what a user will notice.")
    return version


def notes(root: Path) -> str:
    """What the changelog says of this version, or of the next one. Raises Stop."""
    version = version_of(root)
    for wanted in (version, UNRELEASED):
        for name, _, text in changes(root):
            if name == wanted:
                return text
    raise Stop(f"CHANGELOG.md says nothing of {version}.")


# The assets of one platform


def this_platform() -> Platform:
    """Raises Stop."""
    for each in PLATFORMS:
        if each.system == sys.platform and platform.machine() in each.machines:
            return each
    raise Stop(f"There are no releases for {sys.platform} on {platform.machine()}.")


def asset_names(target: Platform, version: str) -> dict[str, str]:
    """Names of what is published for a platform, beside its wheel, by what stands in dist/ for it."""
    name = f"scorpio-{version}-{target.name}"
    built = f"scorpio{target.suffix}"
    return {
        built: f"{name}{target.suffix}",
        f"{built}.cdx.json": f"{name}.cdx.json",
        f"{built}-THIRD-PARTY-LICENSES.txt": f"{name}-THIRD-PARTY-LICENSES.txt",
    }


def wheel_pattern(target: Platform, version: str) -> str:
    return f"scorpio_mcp-{version}-py3-none-{target.wheel}.whl"


def assets(root: Path, out: Path, *, strict: bool = False) -> list[Path]:
    """Build, try and name what this platform publishes; `out` then holds that and nothing else.

    `strict` refuses what asks for a newer C library than a release may. Raises Stop.
    """
    import freeze
    import smoke

    target, version = this_platform(), version_of(root)
    executable = freeze.freeze(root)
    if strict:
        refuse_newer(json.loads(executable.with_name(f"{executable.name}.json").read_bytes())["platform"], target)
    if smoke.main([str(executable)]) != 0:
        raise Stop(f"{executable.name} was built, and does not answer as a server should. Its own words are above.")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for built, name in asset_names(target, version).items():
        shutil.copy2(executable.with_name(built), out / name)
    bill = out / asset_names(target, version)[f"{executable.name}.cdx.json"]
    bill.write_text(json.dumps(dated(json.loads(bill.read_text("utf-8")), commit_time(root)), indent=1) + "\n", "utf-8")
    wheel = build_wheel(root, out)
    if not wheel.match(wheel_pattern(target, version)):
        raise Stop(f"The wheel is called {wheel.name}, and {wheel_pattern(target, version)} was expected.")
    try_wheel(wheel, version)
    return sorted(out.iterdir())


def refuse_newer(tag: str, target: Platform) -> None:
    """`tag`: the platform of the wheel. Raises Stop."""
    asked = re.match(r"manylinux_2_(\d+)_", tag)
    if asked and int(asked[1]) > target.glibc:
        raise Stop(
            f"What was built asks for glibc 2.{asked[1]}, and {target.name} is released for 2.{target.glibc}. "
            "Build it in the container of .github/workflows/release.yml."
        )


def dated(bill: dict[str, object], time: str) -> dict[str, object]:
    """A bill of materials with the time of its commit; readers ask for one."""
    metadata = bill["metadata"]
    assert isinstance(metadata, dict)
    return bill | {"metadata": {"timestamp": time} | metadata}


def commit_time(root: Path) -> str:
    """Of HEAD, so that the same commit gives the same files."""
    return _run(["git", "-C", str(root), "log", "-1", "--format=%cI"]).strip()


def build_wheel(root: Path, out: Path) -> Path:
    """Raises Stop."""
    with tempfile.TemporaryDirectory(prefix="scorpio-wheel-") as made:
        _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", made], cwd=root)
        (wheel,) = Path(made).iterdir()
        return Path(shutil.move(wheel, out))


def try_wheel(wheel: Path, version: str) -> None:
    """Install it into an environment that holds nothing, and start it under both names. Raises Stop."""
    with tempfile.TemporaryDirectory(prefix="scorpio-try-") as place:
        venv.create(place)
        scripts = Path(place, "Scripts" if os.name == "nt" else "bin")
        python = str(scripts / "python")
        install = ["-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
        _run([sys.executable, *install, "--disable-pip-version-check"])
        for name in ("scorpio", "scorpio-mcp"):
            own = dict(os.environ) | {"SCORPIO_HOME": str(Path(place, "home")), "PATH": str(scripts)}
            said = _run([shutil.which(name, path=str(scripts)) or name, "--version"], environment=own)
            if version not in said:
                raise Stop(f"{name} --version, installed from {wheel.name}, says {said.strip()!r}, not {version}.")


def _run(command: list[str], cwd: Path = ROOT, environment: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Stop(f"{command[0]} cannot be started: {error.strerror}.") from None
    if done.returncode != 0:
        raise Stop(f"{Path(command[0]).name} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


# The assets of all platforms


def missing(folder: Path, version: str, targets: tuple[Platform, ...]) -> list[str]:
    """What `targets` lack in `folder`."""
    names = {path.name for path in folder.iterdir()}
    lacking = []
    for target in targets:
        lacking += [name for name in asset_names(target, version).values() if name not in names]
        if not list(folder.glob(wheel_pattern(target, version))):
            lacking.append(wheel_pattern(target, version))
    return lacking


def present(folder: Path, version: str) -> tuple[Platform, ...]:
    """The platforms of which anything is in `folder`."""
    return tuple(
        target
        for target in PLATFORMS
        if len(missing(folder, version, (target,))) < len(asset_names(target, version)) + 1
    )


def sums(folder: Path, version: str, needed: tuple[Platform, ...]) -> Path:
    """SHA256SUMS, as sha256sum writes and checks it. Raises Stop when the folder is not a whole release."""
    if not folder.is_dir():
        raise Stop(f"{folder} is no folder. `dev.py release -- assets` makes dist/release.")
    wanted = tuple(target for target in PLATFORMS if target in needed or target in present(folder, version))
    lacking = missing(folder, version, wanted)
    if lacking:
        raise Stop(f"{folder} lacks {', '.join(lacking)}. Let the platform's job run again.")
    expected = {name for target in wanted for name in asset_names(target, version).values()}
    wheels = {path.name for target in wanted for path in folder.glob(wheel_pattern(target, version))}
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in expected | wheels | {SUMS})
    if foreign or len(wheels) != len(wanted):
        raise Stop(f"{folder} holds what is no asset of {version}: {', '.join(foreign or sorted(wheels))}. Remove it.")
    lines = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in sorted(expected | wheels)
    ]
    path = folder / SUMS
    path.write_text("".join(lines), "utf-8", newline="\n")
    return path


# The steps


def main(arguments: list[str]) -> int:
    options = _parsed(arguments)
    if options.step == "check":
        print(f"Version {check(ROOT, options.tag)}: changelog and {'tag' if options.tag else 'sources'} agree.")
    elif options.step == "assets":
        _show(assets(ROOT, options.out.resolve(), strict=options.strict))
    elif options.step == "sums":
        print(
            sums(options.folder, version_of(ROOT), tuple(each for each in PLATFORMS if each.needed)).read_text(), end=""
        )
    elif options.step == "notes":
        print(notes(ROOT))
    else:
        rehearse(options.out.resolve())
    return 0


def rehearse(out: Path) -> None:
    """All that a release does before it publishes, for this platform. Raises Stop."""
    version = check(ROOT)
    print(f"-- {version}: version and changelog agree", flush=True)
    _show(assets(ROOT, out))
    print(f"-- {SUMS}", flush=True)
    print(sums(out, version, (this_platform(),)).read_text(), end="")
    print(f"-- notes\n{notes(ROOT)}\n-- A rehearsal: nothing was tagged, uploaded or signed.")


def _show(made: list[Path]) -> None:
    for path in made:
        print(f"{path.stat().st_size:>10,} bytes  {path.name}", flush=True)


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="release.py", description="The steps of a release; publishes nothing itself.")
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True)
    checked = steps.add_parser("check", help="version, changelog and tag say the same")
    checked.add_argument("--tag", help="the tag that is being released, such as v1.2.3")
    made = steps.add_parser(
        "assets", help="build, try and name what this platform publishes; through dev.py release --"
    )
    made.add_argument("--out", type=Path, default=OUT)
    made.add_argument("--strict", action="store_true", help="refuse what only machines as new as this one can run")
    summed = steps.add_parser("sums", help="see that nothing is missing, write SHA256SUMS")
    summed.add_argument("folder", type=Path)
    steps.add_parser("notes", help="print what the changelog says of this version")
    rehearsed = steps.add_parser("rehearse", help="all of it, for this platform; through dev.py release")
    rehearsed.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as stop:
        sys.exit(f"release.py: {stop}")
