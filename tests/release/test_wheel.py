"""What `assets` does with a wheel before it is published: install it where nothing is, and start it."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

import release
from machine import ROOT, Stop

ANSWERS = "#!/bin/sh\necho scorpio 1.2.3\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """As much of this project as a wheel is made of, with a script in place of the executable."""
    for name in ("pyproject.toml", "build/wheel_hook.py", "README.md", "LICENSE"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name, text in {
        "scorpio/__init__.py": '__version__ = "1.2.3"\n',
        "dist/scorpio": ANSWERS,
        "dist/scorpio.json": json.dumps({"platform": "linux_x86_64"}),
        "dist/scorpio.cdx.json": '{"bomFormat": "CycloneDX"}',
        "dist/scorpio-THIRD-PARTY-LICENSES.txt": "Their terms.",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "dist" / "scorpio").chmod(0o755)
    return tmp_path


@pytest.mark.requirement("release:wheel")
def test_wheel_is_installed_into_an_empty_environment_and_answers_to_both_names(project: Path) -> None:
    release.try_wheel(release.build_wheel(project, project), "1.2.3")


@pytest.mark.requirement("release:wheel")
def test_wheel_that_answers_with_another_version_is_refused(project: Path) -> None:
    wheel = release.build_wheel(project, project)
    with pytest.raises(Stop, match=r"scorpio --version, installed from scorpio_mcp-1\.2\.3.+, says 'scorpio 1\.2\.3'"):
        release.try_wheel(wheel, "1.2.4")


def test_wheel_that_does_not_start_is_refused(project: Path) -> None:
    (project / "dist" / "scorpio").write_text("#!/bin/sh\necho cannot >&2\nexit 3\n")
    with pytest.raises(Stop, match="scorpio ended with 3:\ncannot"):
        release.try_wheel(release.build_wheel(project, project), "1.2.3")


@pytest.mark.requirement("release:terms")
def test_wheel_brings_the_terms_and_the_bill_of_materials(project: Path) -> None:
    with zipfile.ZipFile(release.build_wheel(project, project)) as archive:
        inside = {name.partition(".dist-info/")[2]: archive.read(name) for name in archive.namelist()}
    assert inside["sboms/scorpio.cdx.json"] == b'{"bomFormat": "CycloneDX"}'
    assert inside["extra_metadata/THIRD-PARTY-LICENSES.txt"] == b"Their terms."
