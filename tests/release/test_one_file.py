"""The executable of macOS and Windows, as far as Linux can tell: its names, its wheel, and the one file itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bundle
import freeze
import one_file
import release
import wheel_hook
from tests.links import ROOT

MAIN = """
import json, os, sys
print(json.dumps({
    "argv": sys.argv[1:], "frozen": sys.frozen, "executable": sys.executable, "said": os.environ["SCORPIO_EXECUTABLE"],
    "optimised": not __debug__,
}))
"""

SUPERVISE = """
import sys
def main():
    print("supervising", sys.argv[5:])
"""


@pytest.mark.parametrize(
    ("system", "machine", "macos", "tag"),
    [
        ("win32", "AMD64", "", "win_amd64"),
        ("win32", "ARM64", "", "win_arm64"),
        ("darwin", "arm64", "15.6.1", "macosx_15_0_arm64"),
        ("darwin", "x86_64", "26.0", "macosx_26_0_x86_64"),
    ],
)
def test_wheel_claims_the_system_it_was_built_on(system: str, machine: str, macos: str, tag: str) -> None:
    assert one_file.platform_tag(system, machine, macos) == tag


@pytest.mark.parametrize("target", release.PLATFORMS[2:], ids=lambda target: target.name)
def test_wheel_is_called_what_a_release_expects(target: release.Platform) -> None:
    tag = one_file.platform_tag(target.system, target.machines[0], "15.6.1")
    assert Path(f"scorpio_mcp-1.2.3-py3-none-{tag}.whl").match(release.wheel_pattern(target, "1.2.3"))


@pytest.mark.parametrize(("system", "name"), [("win32", "scorpio.exe"), ("darwin", "scorpio")])
def test_executable_is_called_what_the_system_starts(system: str, name: str) -> None:
    assert one_file.made_name(system) == name


def test_wheel_for_windows_holds_the_executable_twice(tmp_path: Path) -> None:
    (tmp_path / "scorpio.exe").write_bytes(b"MZ")
    scripts = wheel_hook.scripts(tmp_path / "scorpio.exe", tmp_path / "scratch", "win32")
    assert sorted(scripts.values()) == ["scorpio-mcp.exe", "scorpio.exe"]
    assert {Path(source).read_bytes() for source in scripts} == {b"MZ"}


def test_build_chooses_one_file_where_there_is_no_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's name is pretended; what one_file.py would build there is a file that is there."""

    def build(root: Path, out: Path) -> tuple[dict[str, str], list[bundle.Component]]:
        out.write_text("an executable")
        return {"platform": "macosx_15_0_arm64"}, []

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(freeze, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(one_file, "build", build)
    out = tmp_path / "dist" / "scorpio"
    out.parent.mkdir()
    assert freeze.freeze(ROOT, out) == out
    assert json.loads((out.parent / "scorpio.json").read_text())["platform"] == "macosx_15_0_arm64"
    beside = {"scorpio.json", "scorpio.cdx.json", f"scorpio-{freeze.LICENCES}"}
    assert {path.name for path in out.parent.iterdir()} == {"scorpio"} | beside


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PyInstaller's one file of a program of a few lines, made on this system."""
    place = tmp_path_factory.mktemp("one-file")
    for package in ("scorpio", "tools"):
        (place / "root" / package).mkdir(parents=True)
        (place / "root" / package / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (place / "root" / "scorpio" / "__main__.py").write_text(MAIN)
    (place / "root" / "scorpio" / "supervise.py").write_text(SUPERVISE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(freeze, "CACHE", place / "cache")  # `dev.py freeze` may run beside the tests
        freeze.CACHE.mkdir()
        _, found = one_file.build(place / "root", place / "dist" / "scorpio")
    assert {"CPython", "pyinstaller", "pillow"} <= {component.name for component in found}
    return place / "dist" / "scorpio"


def start(executable: Path, *arguments: str) -> str:
    command = [str(executable), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]}).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="tried on Linux and macOS only")
def test_one_file_knows_itself_as_the_executable(small: Path) -> None:
    facts = json.loads(start(small, "a b"))
    place = str(small)
    assert facts == {"argv": ["a b"], "frozen": True, "executable": place, "said": place, "optimised": True}


@pytest.mark.skipif(sys.platform == "win32", reason="tried on Linux and macOS only")
def test_one_file_is_the_supervisor_where_a_python_is_asked_for_it(small: Path) -> None:
    assert start(small, "-I", "-S", "-c", "any code", "/the/place") == "supervising ['/the/place']\n"
