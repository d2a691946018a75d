"""The wheel: the executable under its two names, for one platform, and no source."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.frozen.starting import said, start

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(executable: Path, tmp_path: Path) -> Path:
    """As much of this project as the wheel is made of, with a small executable."""
    for name in ("pyproject.toml", "build/wheel_hook.py", "scorpio/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("README.md", "LICENSE"):
        (tmp_path / name).write_text("stands for the real one")
    (tmp_path / "dist").mkdir()
    shutil.copy(executable, tmp_path / "dist" / "scorpio")
    (tmp_path / "dist" / "scorpio.json").write_text(json.dumps({"platform": "manylinux_2_31_x86_64"}))
    return tmp_path


def build(project: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "out"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


def test_wheel_holds_the_executable_under_two_names_and_no_module(project: Path, home: Path) -> None:
    assert build(project).returncode == 0
    (wheel,) = (project / "out").iterdir()
    assert wheel.name.endswith("-py3-none-manylinux_2_31_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        archive.extractall(project / "installed")
    assert sorted(Path(name).name for name in names) == ["scorpio", "scorpio-mcp"]
    scripts = (project / "installed" / names[0]).parent
    for script in scripts.iterdir():
        script.chmod(0o755)  # as installers do
    (home / "scorpio-mcp").symlink_to(scripts / "scorpio-mcp")
    facts = said(start(home / "scorpio-mcp", "a b", HOME=str(home)))
    assert facts["SCORPIO_EXECUTABLE"] == str(scripts / "scorpio")
    assert facts["argv1"] == "a b"


def test_wheel_is_refused_without_an_executable(project: Path) -> None:
    (project / "dist" / "scorpio").unlink()
    result = build(project)
    assert result.returncode != 0
    assert "dist/scorpio is missing. Make it first: python build/dev.py freeze" in result.stderr + result.stdout
