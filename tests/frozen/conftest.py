"""A launcher with a tiny program behind it, made once for all tests of a worker."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import freeze

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
    char path[64], target[4096];
    if (argc > 2 && strcmp(argv[1], "exit") == 0) return atoi(argv[2]);
    if (argc > 1 && strcmp(argv[1], "die") == 0) return raise(SIGTERM);
    if (argc > 1 && strcmp(argv[1], "wait") == 0) { puts("ready"); fflush(stdout); return getchar() == 'x'; }
    FILE *out = argc > 2 && strcmp(argv[1], "to") == 0 ? fopen(argv[2], "w") : stdout;
    for (int fd = 0; fd < 3; fd++) {
        sprintf(path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, target, sizeof target - 1);
        fprintf(out, "fd%d=%.*s\n", fd, length < 0 ? 0 : (int)length, target);
    }
    fprintf(out, "pid=%d\n", getpid());
    for (int i = 0; i < argc; i++) fprintf(out, "argv%d=%s\n", i, argv[i]);
    for (char **each = environ; *each; each++) fprintf(out, "%s\n", *each);
    return 0;
}
"""


@pytest.fixture(scope="session")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("launcher") / "launcher"
    freeze.compile_launcher(out)
    return out


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program, an empty file, many small files and one of several groups' size."""
    folder = tmp_path_factory.mktemp("folder")
    (folder / "lib" / "deep" / "er").mkdir(parents=True)
    source = folder.with_suffix(".c")
    source.write_text(PROGRAM)
    subprocess.run(["cc", "-o", str(folder / "scorpio"), str(source)], check=True)
    (folder / "lib" / "empty").touch()
    (folder / "lib" / "xx").mkdir()
    (folder / "lib" / "xx" / "inside").write_text("stays inside")
    for i in range(200):
        (folder / "lib" / "deep" / "er" / f"{i}.txt").write_text(f"{i}\n" * i)
    (folder / "lib" / "large").write_bytes(b"".join(i.to_bytes(4, "big") for i in range(700_000)))
    return folder


@pytest.fixture(scope="session")
def executable(folder: Path, launcher: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist") / "scorpio"
    freeze.pack(folder, launcher, out)
    return out


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def open_place(executable: Path) -> Iterator[tuple[Path, Path]]:
    """A directory that every user may enter, with the executable in it; pytest's own are closed to others."""
    place = Path(tempfile.mkdtemp(prefix="scorpio-launcher-"))
    place.chmod(0o755)
    yield place, Path(shutil.copy(executable, place))
    shutil.rmtree(place)
