"""The inner program: what the embedded Python sees of the machine, and what its children inherit."""

from __future__ import annotations

import compileall
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import freeze

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the interpreter is for Linux")

MAIN = """
import json, os, sys
if sys.argv[1:] == ["exit"]:
    sys.exit(7)
if sys.argv[1:] == ["wait"]:
    os.write(1, b"ready")
    os.read(0, 1)
sys.forget_start()
print(json.dumps({
    "after forgetting": bytes([128]).decode("cp1252"),
    "json": [json.__file__, json.__path__, json.decoder.__file__, repr(json.__loader__)],
    "argv": sys.argv, "path": sys.path, "executable": sys.executable, "modules": sorted(sys.modules),
    "environment": dict(os.environ), "frozen": sys.frozen, "bundle": sys._MEIPASS, "utf8": sys.flags.utf8_mode,
    "descriptors": os.listdir("/proc/self/fd"), "inherited": [fd for fd in range(3, 10)
        if os.path.exists(f"/proc/self/fd/{fd}") and os.get_inheritable(fd)],
}))
"""


@pytest.fixture(scope="module")
def inner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As much of a folder as Python needs to start: libpython, scorpio/__main__.pyc, some modules in one file."""
    folder = tmp_path_factory.mktemp("inner")
    library = folder / "lib"
    (library / "scorpio").mkdir(parents=True)
    (library / "scorpio" / "__main__.py").write_text(MAIN)
    for name in ("encodings", "json", "re", "collections"):
        shutil.copytree(Path(os.__file__).parent / name, library / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("enum", "types", "operator", "functools", "keyword", "reprlib", "copyreg"):
        shutil.copy(Path(os.__file__).parent / f"{name}.py", library)
    compileall.compile_dir(library, quiet=1, legacy=True)
    for source in library.rglob("*.py"):
        source.unlink()
    freeze.join_modules(library, folder / freeze.MODULES)
    name = sysconfig.get_config_var("INSTSONAME")
    found = [Path(sysconfig.get_config_var(where), name) for where in ("LIBDIR", "LIBPL")]
    found += [Path("/usr/lib", sysconfig.get_config_var("MULTIARCH") or "", name)]
    (library / name).symlink_to(next(path for path in found if path.is_file()))
    freeze.compile_interpreter(folder / "scorpio")
    return folder / "scorpio"


def facts(inner: Path, *arguments: str, **environment: str) -> dict[str, object]:
    out = subprocess.run([str(inner), *arguments], env=environment, capture_output=True, text=True, check=True).stdout
    answer = json.loads(out)
    assert isinstance(answer, dict)
    return answer


def test_only_the_bundle_is_searched_whatever_the_environment_says(inner: Path, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('foreign json')")
    seen = facts(inner, PYTHONPATH=str(tmp_path), PYTHONHOME="/nonexistent", PYTHONSTARTUP="/nonexistent")
    assert seen["path"] == [str(inner.parent / "lib")]
    assert seen["executable"] == str(inner)
    assert (seen["frozen"], seen["bundle"]) == (True, str(inner.parent / "lib"))


def test_modules_come_out_of_one_file_and_think_they_lie_in_lib(inner: Path) -> None:
    library = inner.parent / "lib"
    assert [path.relative_to(library).as_posix() for path in library.rglob("*.py*")] == ["scorpio/__main__.pyc"]
    package = f"{library}/json"
    assert facts(inner)["json"] == [
        f"{package}/__init__.py",
        [package],
        f"{package}/decoder.py",
        "<class '_frozen_importlib.FrozenImporter'>",
    ]


@pytest.mark.parametrize(
    "kept_bytes", [None, 0, 100, 20_000], ids=["missing", "empty", "rows cut off", "codes cut off"]
)
def test_a_file_of_modules_that_is_not_whole_is_a_sentence(inner: Path, tmp_path: Path, kept_bytes: int | None) -> None:
    copy = shutil.copytree(inner.parent, tmp_path / "copy", symlinks=True)
    if kept_bytes is None:
        (copy / freeze.MODULES).unlink()
    else:
        os.truncate(copy / freeze.MODULES, kept_bytes)
    ended = subprocess.run([str(copy / inner.name)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"scorpio: It cannot start: {copy}/modules is missing or damaged.\n"


def test_what_cannot_be_found_by_its_name_alone_stays_a_file(tmp_path: Path) -> None:
    library = tmp_path / "lib"
    for name in ("scorpio/__init__", "scorpio/__main__", "spaced/part", "whole/__init__", "whole/part", "os"):
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        (library / f"{name}.py").write_text(f"NAME = {name!r}\n")
    compileall.compile_dir(library, quiet=1, legacy=True)
    for source in library.rglob("*.py"):
        source.unlink()
    freeze.join_modules(library, tmp_path / "modules")
    kept = sorted(path.relative_to(library).as_posix() for path in library.rglob("*") if path.is_file())
    assert kept == ["scorpio/__main__.pyc", "spaced/part.pyc"]
    joined = (tmp_path / "modules").read_bytes()
    assert [name in joined for name in (b"scorpio\0", b"whole\0", b"whole.part\0", b"os\0")] == [
        True,
        True,
        True,
        False,
    ]


def test_text_is_utf8_in_every_locale(inner: Path) -> None:
    seen = facts(inner, "grün", LC_ALL="POSIX")
    assert seen["utf8"] == 1
    assert seen["argv"] == [str(inner), "grün"]


@pytest.mark.parametrize(("before", "after"), [("", None), (":", ""), (":/opt:/usr/lib", "/opt:/usr/lib")])
def test_children_inherit_the_library_path_that_the_user_had(inner: Path, before: str, after: str | None) -> None:
    seen = facts(inner, LD_LIBRARY_PATH=f"{inner.parent}/lib{before}")["environment"]
    assert isinstance(seen, dict)
    assert seen.get("LD_LIBRARY_PATH") == after


def test_library_path_of_somebody_else_is_left_alone(inner: Path) -> None:
    seen = facts(inner, LD_LIBRARY_PATH=f"{inner.parent}/lib64:/opt")["environment"]
    assert isinstance(seen, dict)
    assert seen["LD_LIBRARY_PATH"] == f"{inner.parent}/lib64:/opt"


def test_lock_of_the_cache_is_not_inherited_by_children(inner: Path, tmp_path: Path) -> None:
    with (tmp_path / "marker").open("w") as marker:
        result = subprocess.run(
            [str(inner)],
            env={"SCORPIO_CACHE_LOCK": str(marker.fileno())},
            pass_fds=[marker.fileno()],
            stdout=subprocess.PIPE,
            check=True,
        )
        seen = json.loads(result.stdout)
        assert str(marker.fileno()) in seen["descriptors"]
        assert seen["inherited"] == []
        assert "SCORPIO_CACHE_LOCK" not in seen["environment"]


def test_exit_code_is_the_programs(inner: Path) -> None:
    assert subprocess.run([str(inner), "exit"], check=False).returncode == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_it_as_it_ends_python(inner: Path, number: signal.Signals) -> None:
    child = subprocess.Popen(
        [str(inner), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.read(5) == b"ready"
    child.send_signal(number)
    child.communicate(timeout=30)
    assert child.returncode == -number
