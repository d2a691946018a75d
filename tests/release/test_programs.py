"""The C programs as other machines make them: another architecture, an older C library."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import freeze
import machine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the launcher is for Linux")

C_LIBRARY = b"GLIBC_TUNABLES"
"""A static glibc reads this variable."""


@pytest.mark.parametrize(("architecture", "with_library"), [("x86_64", False), ("aarch64", True), ("riscv64", True)])
def test_supervisor_does_without_a_c_library_on_x86_64_only(
    tmp_path: Path, architecture: str, with_library: bool
) -> None:
    freeze.compile_supervisor(tmp_path / "supervisor", architecture)
    assert (C_LIBRARY in (tmp_path / "supervisor").read_bytes()) == with_library


@pytest.mark.parametrize("flags", [("-DSUPERVISOR_LIBC",), ("-nostdlib", "-ffreestanding", "-fno-stack-protector")])
def test_supervisor_is_made_with_headers_older_than_its_newest_calls(tmp_path: Path, flags: tuple[str, ...]) -> None:
    older = tmp_path / "older.h"
    newer = ("close_range", "mount_setattr", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
    lines = ["#include <sys/syscall.h>", "#define _LINUX_LANDLOCK_H", *(f"#undef SYS_{name}" for name in newer)]
    older.write_text("\n".join(lines) + "\n")
    freeze.compile_c(["supervisor.c"], tmp_path / "supervisor", "-static", "-include", str(older), *flags)


def test_program_that_cannot_be_compiled_is_told_with_the_compilers_words(tmp_path: Path) -> None:
    with pytest.raises(freeze.FreezeFailure, match=r"ended with 1:\n[^\n]*nonsense"):
        freeze.compile_c(["supervisor.c"], tmp_path / "supervisor", "-include", "nonsense.h")


def test_a_python_without_a_shared_library_is_told_from_one_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """uv's Pythons have theirs where the loader does not look."""
    needs = {need.what: need.present for need in machine.BUILD_NEEDS}
    (present,) = [present for what, present in needs.items() if what.startswith("Python's shared library")]
    assert present()
    monkeypatch.setattr(sysconfig, "get_config_var", {"INSTSONAME": "libnone.so", "LIBDIR": "/"}.get)
    assert not present()


def test_nothing_of_ours_asks_for_more_than_the_c_library_it_is_tagged_with(tmp_path: Path) -> None:
    freeze.compile_launcher(tmp_path / "launcher")
    listed = subprocess.run(["ldd", str(tmp_path / "launcher")], capture_output=True, text=True, check=False)
    assert "not a dynamic executable" in listed.stdout + listed.stderr or "statically linked" in listed.stdout
