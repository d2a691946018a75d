"""The launcher's cache directory: which one, which copies must not be run, and what goes again."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import freeze
from tests.frozen.starting import NOBODY, aged, assert_whole, in_namespace, only_root, others, place_of, start, start_as

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the launcher is for Linux")


def test_cache_directory_may_be_chosen(executable: Path, home: Path, tmp_path: Path) -> None:
    chosen, other = tmp_path / "deep" / "chosen", tmp_path / "other"
    first = start(executable, HOME=str(home), SCORPIO_CACHE_DIR=str(chosen), SCORPIO_HOME=str(other))
    second = start(executable, HOME=str(home), SCORPIO_HOME=str(other))
    assert place_of(first).parent == chosen
    assert place_of(second).parent == other / "cache"
    assert list(home.iterdir()) == []


def test_unwritable_home_is_passed_over(open_place: tuple[Path, Path]) -> None:
    place, executable = open_place
    user = NOBODY if os.geteuid() == 0 else None
    (place / "home").mkdir(0o755)
    (place / "home").chmod(0o555)
    (place / "cache").mkdir()
    if user is not None:
        os.chown(place / "cache", user, user)
    result = start_as(user, executable, HOME=str(place / "home"), XDG_CACHE_HOME=str(place / "cache"))
    assert place_of(result).parent == place / "cache" / "scorpio"
    assert result.stderr == ""


def test_home_that_is_no_directory_is_passed_over(executable: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = start(executable, HOME=str(tmp_path / "file"), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert place_of(result).parent == tmp_path / "cache" / "scorpio"


def test_without_home_the_shared_temporary_directory_serves(executable: Path) -> None:
    result = in_namespace("mount -t tmpfs none /var/tmp; exec $X", executable)
    assert place_of(result).parent == Path("/var/tmp/scorpio-0")
    assert result.stderr == ""


def test_root_with_the_home_of_another_user_leaves_it_alone(open_place: tuple[Path, Path]) -> None:
    only_root()
    place, executable = open_place
    (place / "home").mkdir()
    os.chown(place / "home", NOBODY, NOBODY)
    result = start(executable, HOME=str(place / "home"), XDG_CACHE_HOME=str(place / "cache"))
    assert place_of(result).parent == place / "cache" / "scorpio"
    assert list((place / "home").iterdir()) == []


def test_noexec_directory_is_passed_over_and_a_chosen_one_is_reported(executable: Path, tmp_path: Path) -> None:
    result = in_namespace(
        f"mkdir {tmp_path}/noexec; mount -t tmpfs -o noexec,mode=700 none {tmp_path}/noexec; exec $X",
        executable,
        SCORPIO_CACHE_DIR=f"{tmp_path}/noexec",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert place_of(result).parent == tmp_path / "cache" / "scorpio"
    sentence = f"scorpio: SCORPIO_CACHE_DIR is not used: {tmp_path}/noexec: it is on a filesystem mounted noexec.\n"
    assert result.stderr == sentence


@pytest.mark.parametrize("limit", ["size=8m", "nr_inodes=60"])
def test_full_disk_is_passed_over_and_left_clean(executable: Path, tmp_path: Path, limit: str) -> None:
    result = in_namespace(
        f"mkdir {tmp_path}/full; mount -t tmpfs -o {limit} none {tmp_path}/full; $X; ls {tmp_path}/full/cache >&2",
        executable,
        SCORPIO_HOME=f"{tmp_path}/full",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert place_of(result).parent == tmp_path / "cache" / "scorpio"
    assert result.stderr == "lock\n"


def test_nowhere_to_unpack_is_one_sentence_that_names_every_place(executable: Path, tmp_path: Path) -> None:
    result = in_namespace(
        "for d in /tmp /var/tmp; do mount -t tmpfs -o noexec none $d; done; touch /mnt/file; exec $X",
        executable,
        HOME="/mnt/file",
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert re.fullmatch(
        r"scorpio: Nowhere to unpack the program \(/mnt/file/.scorpio/cache: [^;]+; /mnt/file/.cache/scorpio: [^;]+; "
        r"/var/tmp/scorpio-0: [^;]+noexec; /tmp/scorpio-0: [^;]+noexec\)\. Set SCORPIO_CACHE_DIR to [^\n]+\.\n",
        result.stderr,
    )


# Copies that must not be run


def damage_half_written(copy: Path) -> None:
    (copy / ".complete").unlink()
    shutil.rmtree(copy / "lib")


def damage_shorter(copy: Path) -> None:
    os.truncate(copy / "lib" / "large", 100)


def damage_missing(copy: Path) -> None:
    (copy / "lib" / "deep" / "er" / "7.txt").unlink()


def damage_linked(copy: Path) -> None:
    (copy / "lib" / "large").rename(copy / "moved")
    (copy / "lib" / "large").symlink_to(copy / "moved")


def damage_marker(copy: Path) -> None:
    (copy / ".complete").write_text("0" * 64 + "\n")


def damage_directory_mode(copy: Path) -> None:
    copy.chmod(0o770)


def damage_inner_directory_mode(copy: Path) -> None:
    (copy / "lib").chmod(0o702)


def damage_file_mode(copy: Path) -> None:
    (copy / "scorpio").chmod(0o720)


@pytest.mark.parametrize(
    "damage",
    [
        damage_half_written,
        damage_shorter,
        damage_missing,
        damage_linked,
        damage_marker,
        damage_directory_mode,
        damage_inner_directory_mode,
        damage_file_mode,
    ],
)
def test_damaged_copy_is_replaced(executable: Path, folder: Path, home: Path, damage: object) -> None:
    copy = place_of(start(executable, HOME=str(home)))
    assert callable(damage)
    damage(copy)
    again = place_of(start(executable, HOME=str(home)))
    assert again == copy
    assert_whole(copy, folder)
    assert others(copy) == []


def test_start_that_was_killed_while_unpacking_does_not_matter(executable: Path, folder: Path, home: Path) -> None:
    cache = home / ".scorpio" / "cache"
    child = subprocess.Popen([str(executable), "wait"], env={"HOME": str(home)}, stdin=subprocess.PIPE)
    while child.poll() is None and not list(cache.glob("app-*")):
        pass
    child.kill()
    child.communicate(timeout=60)
    assert_whole(place_of(start(executable, HOME=str(home))), folder)


def test_damaged_copy_found_by_many_at_once_is_replaced_under_none_of_them(
    executable: Path, folder: Path, home: Path
) -> None:
    copy = place_of(start(executable, HOME=str(home)))
    damage_missing(copy)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    with contextlib.ExitStack() as stack:
        children = [
            stack.enter_context(
                subprocess.Popen([str(executable), "wait"], env=environment, stdin=-1, stdout=-1, stderr=-1)
            )
            for _ in range(8)
        ]
        outputs = [child.communicate(b"x", timeout=60) for child in children]
    assert [(child.returncode, errors) for child, (_, errors) in zip(children, outputs, strict=True)] == [(1, b"")] * 8
    assert_whole(copy, folder)
    assert others(copy) == []


def test_foreign_copy_is_replaced(executable: Path, folder: Path, home: Path) -> None:
    only_root()
    copy = place_of(start(executable, HOME=str(home)))
    for foreign in (copy, copy / "lib" / "large"):
        os.chown(foreign, 1234, 1234)
        place_of(start(executable, HOME=str(home)))
        assert foreign.stat().st_uid == 0
        assert_whole(copy, folder)
    assert others(copy) == []


def test_linked_copy_is_replaced_and_the_target_of_the_link_kept(executable: Path, home: Path, tmp_path: Path) -> None:
    copy = place_of(start(executable, HOME=str(home)))
    copy.rename(tmp_path / "elsewhere")
    copy.symlink_to(tmp_path / "elsewhere")
    place_of(start(executable, HOME=str(home)))
    assert not copy.is_symlink()
    assert (tmp_path / "elsewhere" / "scorpio").exists()
    assert others(copy) == []


def test_linked_cache_directory_is_refused(executable: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (home / ".scorpio").mkdir()
    (home / ".scorpio" / "cache").symlink_to(tmp_path / "target")
    result = start(executable, HOME=str(home))
    assert place_of(result).parent == home / ".cache" / "scorpio"
    assert list((tmp_path / "target").iterdir()) == []


def test_foreign_cache_directory_is_refused(executable: Path, home: Path) -> None:
    only_root()
    cache = home / ".scorpio" / "cache"
    cache.mkdir(parents=True)
    os.chown(cache, 1234, 1234)
    assert place_of(start(executable, HOME=str(home))).parent == home / ".cache" / "scorpio"
    assert list(cache.iterdir()) == []


def test_squatted_place_in_shared_directory_is_refused(executable: Path) -> None:
    only_root()
    script = "for d in /tmp /var/tmp; do mount -t tmpfs none $d; done; mkdir -m 777 /var/tmp/scorpio-0; "
    result = in_namespace(script + "chown 1234 /var/tmp/scorpio-0; exec $X", executable)
    assert place_of(result).parent == Path("/tmp/scorpio-0")


def test_own_cache_directory_left_open_to_others_is_closed(executable: Path, home: Path) -> None:
    cache = home / ".scorpio" / "cache"
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert place_of(start(executable, HOME=str(home))).parent == cache
    assert stat.S_IMODE(cache.stat().st_mode) == 0o755


def test_directory_of_all_users_is_refused_as_a_cache(executable: Path, home: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    result = start(executable, HOME=str(home), SCORPIO_CACHE_DIR=str(shared))
    assert place_of(result).parent == home / ".scorpio" / "cache"
    assert list(shared.iterdir()) == []


def test_copy_that_root_installed_serves_a_user_who_cannot_write_there(open_place: tuple[Path, Path]) -> None:
    only_root()
    place, executable = open_place
    copy = place_of(start(executable, SCORPIO_CACHE_DIR=str(place / "cache")))
    for path in [place / "cache", copy, *copy.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    result = start_as(NOBODY, executable, SCORPIO_CACHE_DIR=str(place / "cache"))
    assert place_of(result) == copy
    assert result.stderr == ""


# What goes again


def test_versions_unused_for_thirty_days_go_with_the_next_unpacking(executable: Path, home: Path) -> None:
    cache = home / ".scorpio" / "cache"
    for name, days in (("app-old", 31), ("app-used", 29), ("notes", 99)):
        (cache / name / "lib").mkdir(parents=True)
        (cache / name / ".complete").write_text("x")
        aged(cache / name / ".complete", days)
    for name, days in (("app-killed.1.tmp", 1), ("app-working.2.tmp", 0), ("app-replaced.3.old", 0)):
        (cache / name).mkdir()
        aged(cache / name, days)
    copy = place_of(start(executable, HOME=str(home)))
    assert others(copy) == ["app-used", "app-working.2.tmp", "notes"]


@contextlib.contextmanager
def running(executable: Path, home: Path) -> Iterator[None]:
    child = subprocess.Popen(
        [str(executable), "wait"], env={"HOME": str(home)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    yield
    child.communicate(timeout=60)


def test_version_that_still_runs_is_kept(
    executable: Path, folder: Path, launcher: Path, home: Path, tmp_path: Path
) -> None:
    twin = shutil.copytree(folder, tmp_path / "twin")
    (twin / "lib" / "news").write_text("another version")
    freeze.pack(twin, launcher, tmp_path / "newer")
    old = place_of(start(executable, HOME=str(home)))
    with running(executable, home):
        aged(old / ".complete", 40)
        new = place_of(start(tmp_path / "newer", HOME=str(home)))
        assert others(new) == [old.name]
    shutil.rmtree(new)
    aged(old / ".complete", 40)
    place_of(start(tmp_path / "newer", HOME=str(home)))
    assert others(new) == []


def test_use_is_noted_once_a_day(executable: Path, home: Path) -> None:
    marker = place_of(start(executable, HOME=str(home))) / ".complete"
    aged(marker, 0.5)
    noted = marker.stat().st_mtime
    start(executable, HOME=str(home))
    assert marker.stat().st_mtime == noted
    aged(marker, 3)
    start(executable, HOME=str(home))
    assert marker.stat().st_mtime > noted
