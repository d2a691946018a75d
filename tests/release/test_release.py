"""build/release.py: what it refuses to release, and what it writes for those who download."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import release
from machine import ROOT, Stop

LINUX = release.PLATFORMS[0]
RELEASED = "# Changelog\n\n## 1.2.3 - 2026-11-22\n\n- Something new.\n\n## 1.2.2 - 2026-11-01\n\n- Before.\n"


def sources(root: Path, version: str = "1.2.3", changelog: str = RELEASED) -> Path:
    (root / "scorpio").mkdir()
    (root / "scorpio" / "__init__.py").write_text(f'"""A program."""\n\n__version__ = "{version}"\n')
    (root / "CHANGELOG.md").write_text(changelog)
    return root


def fill(folder: Path, *targets: release.Platform) -> Path:
    folder.mkdir(exist_ok=True)
    for target in targets:
        for name in release.asset_names(target, "1.2.3").values():
            (folder / name).write_text(f"stands for {name}")
        wheel = release.wheel_pattern(target, "1.2.3").replace("*", "2_28" if target.system == "linux" else "15_0")
        (folder / wheel).write_text("stands for a wheel")
    return folder


@pytest.mark.requirement("release:agree")
def test_version_changelog_and_tag_that_agree_are_released(tmp_path: Path) -> None:
    assert release.check(sources(tmp_path), "v1.2.3") == "1.2.3"


@pytest.mark.requirement("release:agree")
@pytest.mark.parametrize(
    ("version", "changelog", "tag", "sentence"),
    [
        ("1.2.3", RELEASED, "v1.2.4", "The tag must be v1.2.3."),
        ("1.2.3", RELEASED, "1.2.3", "The tag must be v1.2.3."),
        ("1.2.4", RELEASED, "v1.2.4", "CHANGELOG.md begins with 1.2.3, and the version is 1.2.4."),
        ("1.2.3", f"## Unreleased\n\n- More.\n\n{RELEASED}", "v1.2.3", "CHANGELOG.md begins with Unreleased"),
        ("1.2.3", "## 1.2.3\n\n- Something.\n", "v1.2.3", "CHANGELOG.md has no date for 1.2.3."),
        ("1.2.3", "## 1.2.3 - 2026-11-22\n\n## 1.2.2 - 2026-11-01\n- Before.\n", "v1.2.3", "says nothing of 1.2.3."),
        ("1.2.3", "# Changelog\n", "v1.2.3", "CHANGELOG.md has no section"),
        ("1.2", RELEASED, "v1.2", "A release needs three numbers"),
        ("1.2.3-beta", RELEASED, None, "A release needs three numbers"),
    ],
)
def test_what_does_not_agree_is_refused_with_what_to_write(
    tmp_path: Path, version: str, changelog: str, tag: str | None, sentence: str
) -> None:
    with pytest.raises(Stop) as stop:
        release.check(sources(tmp_path, version, changelog), tag)
    assert sentence in str(stop.value)


def test_without_a_tag_unreleased_changes_may_stand_on_top(tmp_path: Path) -> None:
    assert release.check(sources(tmp_path, changelog=f"## Unreleased\n\n- More.\n\n{RELEASED}")) == "1.2.3"


def test_our_own_sources_agree() -> None:
    release.check(ROOT)


def test_notes_are_the_section_of_this_version_alone(tmp_path: Path) -> None:
    assert release.notes(sources(tmp_path)) == "- Something new."


@pytest.mark.requirement("release:sums")
def test_sums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    folder = fill(tmp_path / "assets", *release.PLATFORMS)
    made = release.sums(folder, "1.2.3", (LINUX,))
    assert len(made.read_text().splitlines()) == 4 * len(release.PLATFORMS)
    command = ["sha256sum", "--check", "--strict", "--quiet", made.name]
    assert subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
    (folder / release.asset_names(LINUX, "1.2.3")["scorpio"]).write_text("something else")
    assert subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 1


@pytest.mark.requirement("release:whole")
def test_a_needed_platform_that_is_missing_stops_the_release(tmp_path: Path) -> None:
    folder = fill(tmp_path / "assets", *release.PLATFORMS[1:])
    with pytest.raises(Stop, match=r"lacks scorpio-1\.2\.3-linux-x86_64, .+\.whl"):
        release.sums(folder, "1.2.3", (LINUX,))
    assert not (folder / release.SUMS).exists()


@pytest.mark.requirement("release:whole")
@pytest.mark.parametrize("target", release.PLATFORMS, ids=lambda target: target.name)
def test_a_platform_that_is_there_is_there_as_a_whole(tmp_path: Path, target: release.Platform) -> None:
    folder = fill(tmp_path / "assets", LINUX, target)
    (lost,) = [name for name in release.asset_names(target, "1.2.3").values() if name.endswith(".cdx.json")]
    (folder / lost).unlink()
    with pytest.raises(Stop, match=f"lacks {lost}"):
        release.sums(folder, "1.2.3", (LINUX,))


def test_a_platform_that_could_not_be_built_is_left_out(tmp_path: Path) -> None:
    folder = fill(tmp_path / "assets", LINUX)
    assert "windows" not in release.sums(folder, "1.2.3", (LINUX,)).read_text()


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    folder = fill(tmp_path / "assets", LINUX)
    (folder / "scorpio-1.2.2-linux-x86_64").touch()
    with pytest.raises(Stop, match=r"no asset of 1\.2\.3: scorpio-1\.2\.2-linux-x86_64\. Remove it\."):
        release.sums(folder, "1.2.3", (LINUX,))


def test_sums_may_be_made_twice(tmp_path: Path) -> None:
    folder = fill(tmp_path / "assets", LINUX)
    first = release.sums(folder, "1.2.3", (LINUX,)).read_text()
    assert release.sums(folder, "1.2.3", (LINUX,)).read_text() == first


@pytest.mark.requirement("release:old-glibc")
@pytest.mark.parametrize(("glibc", "tag"), [(28, "manylinux_2_28_x86_64"), (28, "manylinux_2_17_x86_64")])
def test_what_runs_on_an_old_c_library_is_published(glibc: int, tag: str) -> None:
    release.refuse_newer(tag, LINUX._replace(glibc=glibc))


@pytest.mark.requirement("release:old-glibc")
def test_what_needs_a_newer_c_library_is_not_published() -> None:
    with pytest.raises(Stop, match=r"asks for glibc 2\.36, and linux-x86_64 is released for 2\.28\. Build it in the"):
        release.refuse_newer("manylinux_2_36_x86_64", LINUX)


def test_a_wheel_without_a_c_library_in_its_name_is_no_matter_of_glibc() -> None:
    release.refuse_newer("macosx_15_0_arm64", release.PLATFORMS[2])


def test_no_two_platforms_share_a_name() -> None:
    names = [name for target in release.PLATFORMS for name in release.asset_names(target, "1.2.3").values()]
    assert len(names) == len(set(names))


def test_this_platform_is_one_of_the_table() -> None:
    assert release.this_platform().system == sys.platform


def test_bill_gets_the_time_of_its_commit_and_keeps_the_rest() -> None:
    bill: dict[str, object] = {"metadata": {"component": {"name": "scorpio"}}, "version": 1}
    dated = release.dated(bill, "2026-11-22T01:02:03+00:00")
    assert dated == {
        "metadata": {"timestamp": "2026-11-22T01:02:03+00:00", "component": {"name": "scorpio"}},
        "version": 1,
    }


# From the command line, with nothing but Python: the jobs that may write install nothing


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-S", "build/release.py", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "checkout").mkdir()
    root = sources(tmp_path / "checkout")
    (root / "build").mkdir()
    for name in ("release.py", "machine.py"):
        shutil.copy(ROOT / "build" / name, root / "build")
    return root


def test_checking_summing_and_notes_need_the_standard_library_only(checkout: Path) -> None:
    assert run("check", "--tag", "v1.2.3", cwd=checkout).stdout == "Version 1.2.3: changelog and tag agree.\n"
    fill(checkout / "assets", LINUX)
    assert run("sums", "assets", cwd=checkout).returncode == 0
    assert run("notes", cwd=checkout).stdout == "- Something new.\n"


def test_a_refusal_is_one_sentence_and_status_1(checkout: Path) -> None:
    refused = run("check", "--tag", "v9.9.9", cwd=checkout)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        "release.py: The tag is v9.9.9, and scorpio/__init__.py says 1.2.3. The tag must be v1.2.3.\n"
    )
    assert run("sums", "nowhere", cwd=checkout).stderr.startswith("release.py: nowhere is no folder.")
