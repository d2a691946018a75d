"""Make `dist/scorpio`: one file that holds Python, the program and all of its libraries.

    python build/freeze.py [--root DIR] [--out FILE] [--force]

PyInstaller collects a folder, three small C programs join it, and `pack` appends it to the launcher. Same inputs give
the same bytes, and nothing is done while the inputs are those of the executable that is there.

That is the way on Linux. macOS and Windows have no launcher yet: what is made there, and how, is in one_file.py alone.
"""

from __future__ import annotations

import _imp
import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import bill
import bundle
from machine import ROOT, SCRATCH, Stop, compiler

SOURCES = ROOT / "build" / "launcher"
CACHE = SCRATCH / "freeze"

PROGRAM = "scorpio"
SUPERVISOR = "scorpio-supervisor"
MODULES = "modules"
LICENCES = "THIRD-PARTY-LICENSES.txt"
"""In the folder of the executable; beside the executable, in dist/, with its name in front."""
MAGIC = b"scorpio payload\0"
GROUP_BYTES = 1 << 20
"""Small files are packed together up to this size: enough groups for a few threads, few enough to compress well."""

PYC_HEADER_BYTES = 16
MODULES_HEADER = struct.Struct("<II")
MODULES_ROW = struct.Struct("<IIII")

C_FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
SYSTEM_LIBRARIES = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|pthread|rt|util|resolv|nsl))\.so\.\d+")
"""glibc's own: every Linux has them, and they must be the machine's."""


class FreezeFailure(Stop):
    """The executable cannot be made: one sentence saying what is missing and where."""


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """What `command` wrote, stdout and stderr as they came. Raises FreezeFailure with its last words."""
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment
    )
    if result.returncode != 0:
        raise FreezeFailure(f"{command[0]} ended with {result.returncode}:\n{result.stdout[-3000:]}")
    return result.stdout


# What the executable depends on


def inputs_hash(root: Path) -> str:
    """SHA-256 (hex) of all that decides the executable's bytes: sources, pins, Python, PyInstaller."""
    digest = hashlib.sha256(f"{sys.version} {metadata.version('pyinstaller')}".encode())
    ours = ("build/*.py", "build/scorpio.spec", "build/launcher/*", "build/licences/*", "requirements*.txt", "LICENSE")
    for base, pattern in ((root, "scorpio/**/*"), (root, "tools/**/*"), *((ROOT, each) for each in ours)):
        for path in sorted(base.glob(pattern)):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"{path.relative_to(base).as_posix()}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


# The folder


def collect(root: Path, form: str) -> list[bundle.Collected]:
    """PyInstaller's build of `root`, freshly made in CACHE, as a `folder` or a `file`; what is in it. About 10 s."""
    environment = os.environ | {
        "SOURCE_DATE_EPOCH": "0",
        "PYTHONHASHSEED": "0",  # the order of a frozenset in a .pyc
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYINSTALLER_CONFIG_DIR": str(CACHE / "config"),
    }
    places = ["--distpath", str(CACHE), "--workpath", str(CACHE / "work")]
    spec = str(ROOT / "build" / "scorpio.spec")
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean", *places, spec, "--", str(root), form]
    absent = re.findall(r"Hidden import '(.+)' not found", run(command, environment))
    if absent:
        raise FreezeFailure(f"PyInstaller cannot import {', '.join(absent)}. Is the venv that of requirements.txt?")
    return bundle.read_collected(CACHE / "work" / "scorpio" / "collected.json")


def assemble(collected: Path, folder: Path) -> None:
    """`folder`/lib: every module and library, flat, so that Python searches one directory.

    Symbolic links are left out: they repeat libraries of wheels that find their own by RPATH; refuse_missing() checks.
    """
    library = folder / "lib"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(collected, library, ignore=lambda at, names: [n for n in names if (Path(at) / n).is_symlink()])
    for extension in sorted(library.glob("python3*/lib-dynload/*")):
        extension.rename(library / extension.name)
    for empty in library.glob("python3*"):
        shutil.rmtree(empty)
    if not (library / "scorpio" / "__main__.pyc").is_file():
        raise FreezeFailure("PyInstaller did not collect scorpio/__main__.py, with which the program starts.")
    join_modules(library, folder / MODULES)


def join_modules(library: Path, out: Path) -> None:
    """Move the modules of `library` into the one file that launcher/modules.h describes.

    Not those that Python has frozen itself, which it finds first and needs no file for. What cannot be found by its
    name alone stays a file: the main module, and packages without an `__init__`.
    """
    main = library / "scorpio" / "__main__.pyc"
    codes: dict[str, tuple[bool, bytes]] = {}
    for path in sorted(library.rglob("*.pyc"), key=lambda path: (-len(path.parts), path.name == "__init__.pyc")):
        parts = path.relative_to(library).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        inside = path.parents[: len(parts) - 1]  # the packages it is in; itself, where it is one
        if path != main and all((parent / "__init__.pyc").is_file() for parent in inside):
            codes[name] = (is_package, path.read_bytes()[PYC_HEADER_BYTES:])
            path.unlink()
    for folder in sorted(library.rglob("*"), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    out.write_bytes(module_table({name: code for name, code in codes.items() if not _imp.is_frozen(name)}))


def module_table(codes: dict[str, tuple[bool, bytes]]) -> bytes:
    """`codes`: name to (is it a package, its code as in a .pyc). Python searches from the top: a start's are there."""
    first = ("encodings", "scorpio", "tools")
    names = sorted(codes, key=lambda name: (name.split(".")[0] not in first, name))
    rows, blob, offset = b"", b"", MODULES_HEADER.size + len(names) * MODULES_ROW.size
    offset += sum(len(name.encode()) + 1 for name in names)
    for name in names:
        is_package, code = codes[name]
        rows += MODULES_ROW.pack(len(blob), is_package, offset, len(code))
        blob += name.encode() + b"\0"
        offset += len(code)
    return MODULES_HEADER.pack(len(names), len(blob)) + rows + blob + b"".join(codes[name][1] for name in names)


def refuse_missing(folder: Path) -> None:
    """Raises FreezeFailure for a library that is neither in the folder nor glibc's."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder / "lib")}
    programs = [path for path in sorted(folder.rglob("*")) if path.is_file() and ".so" in path.name]
    with ThreadPoolExecutor() as pool:
        outputs = list(pool.map(lambda path: run(["ldd", str(path)], environment), programs))
    for program, output in zip(programs, outputs, strict=True):
        for line in output.splitlines():
            name, _, found = line.strip().partition(" => ")
            if not found or SYSTEM_LIBRARIES.fullmatch(Path(name).name) or str(folder) in found:
                continue
            raise FreezeFailure(f"{program.relative_to(folder)} needs {name}, which is not in the folder ({found}).")


def platform_tag(folder: Path) -> str:
    """The wheel's platform: the oldest glibc on which every program of the folder starts."""
    versions = {2}
    for path in folder.rglob("*"):
        content = path.read_bytes() if path.is_file() and path.suffix != ".pyc" else b""
        if content.startswith(b"\x7fELF"):
            versions.update(int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", content))
    return f"manylinux_2_{max(versions)}_{platform.machine()}"


# The C programs


def compile_c(sources: list[str], out: Path, *flags: str) -> None:
    """Raises FreezeFailure with the compiler's message."""
    paths = [SOURCES / name for name in sources]
    for path in paths:
        if not path.is_file():
            raise FreezeFailure(f"{path.relative_to(ROOT)} is missing.")
    out.parent.mkdir(parents=True, exist_ok=True)
    run([compiler(), *C_FLAGS, "-s", "-o", str(out), *map(str, paths), *flags])


def compile_launcher(out: Path) -> None:
    compile_c(["launcher.c", "cache.c", "payload.c"], out, "-static", "-pthread", "-lz")


def compile_supervisor(out: Path, machine: str = platform.machine()) -> None:
    """Only on x86-64 it makes its system calls without a C library, 0.3 ms quicker; launcher/linux_calls.h."""
    alone = ("-nostdlib", "-ffreestanding", "-fno-stack-protector")
    compile_c(["supervisor.c"], out, "-static", *(alone if machine == "x86_64" else ("-DSUPERVISOR_LIBC",)))


def compile_interpreter(out: Path) -> None:
    """Links with the libpython that was collected into `out`'s lib/."""
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").is_file():
        raise FreezeFailure(f"{include}/Python.h is missing. On Debian and its relatives: apt-get install python3-dev")
    library = [f"-L{out.parent / 'lib'}", f"-l:{sysconfig.get_config_var('INSTSONAME')}"]
    rpath = ["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/lib"]  # an RPATH also serves what a library loads
    compile_c(["interpreter.c"], out, f"-I{include}", *library, *rpath)


# The payload (its format is in launcher/payload.h)


def grouped(files: list[tuple[str, Path]]) -> list[list[tuple[str, Path]]]:
    """Large files alone, small ones together; the slowest group first, so that no thread ends long after the others."""
    groups: list[list[tuple[str, Path]]] = []
    room = 0
    for name, path in files:
        size = path.stat().st_size
        if size > room or not groups:
            groups.append([])
            room = GROUP_BYTES
        groups[-1].append((name, path))
        room = max(0, room - size)
    return sorted(groups, key=lambda group: -sum(path.stat().st_size for _, path in group))


def content_hash(files: list[tuple[str, Path]]) -> bytes:
    """SHA-256 of names, modes and contents, in the order of the names."""
    digest = hashlib.sha256(MAGIC)
    for name, path in files:
        executable = os.access(path, os.X_OK)
        digest.update(struct.pack("<I?Q", len(name.encode()), executable, path.stat().st_size) + name.encode())
        digest.update(path.read_bytes())
    return digest.digest()


def table_of_contents(
    groups: list[list[tuple[str, Path]]], packed: list[bytes], offset: int, names: list[str]
) -> bytes:
    """`offset`: of the first group in the executable. `names`: the directories, parents first."""
    group_rows, file_rows, directory_rows, blob = b"", b"", b"", bytearray()
    first = total = 0
    for group, stream in zip(groups, packed, strict=True):
        sizes = [path.stat().st_size for _, path in group]
        group_rows += struct.pack("<QQQII", offset, len(stream), sum(sizes), first, len(group))
        for (name, path), size in zip(group, sizes, strict=True):
            file_rows += struct.pack("<QII", size, len(blob), os.access(path, os.X_OK))
            blob += name.encode() + b"\0"
        offset, first, total = offset + len(stream), first + len(group), total + sum(sizes)
    for name in names:
        directory_rows += struct.pack("<I", len(blob))
        blob += name.encode() + b"\0"
    header = struct.pack("<IIIIQ", len(groups), first, len(names), len(blob), total)
    return header + group_rows + file_rows + directory_rows + bytes(blob)


def pack(folder: Path, launcher: Path, out: Path) -> str:
    """Write `out`: `launcher` with `folder` appended; returns the content hash (hex), which names the unpacked copy.

    `folder`/scorpio is what the launcher will start. Raises FreezeFailure for anything but plain files and directories.
    """
    entries = sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix())
    for path in entries:
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise FreezeFailure(f"{path} is neither a file nor a directory. The launcher unpacks nothing else.")
    if not os.access(folder / PROGRAM, os.X_OK):
        raise FreezeFailure(
            f"{folder / PROGRAM} is missing or not executable. The launcher would have nothing to start."
        )
    files = [(path.relative_to(folder).as_posix(), path) for path in entries if path.is_file()]
    directories = [path.relative_to(folder).as_posix() for path in entries if path.is_dir()]
    groups = grouped(files)
    with ThreadPoolExecutor() as pool:
        packed = list(pool.map(lambda group: zlib.compress(b"".join(p.read_bytes() for _, p in group), 9), groups))
    head = launcher.read_bytes()
    head += bytes(-len(head) % 16)
    toc = table_of_contents(groups, packed, len(head), directories)
    toc_offset = len(head) + sum(map(len, packed))
    toc_offset += (padding := -toc_offset % 16)
    trailer = struct.Struct("<16sQQQII32s")
    digest = content_hash(files)
    size = toc_offset + len(toc) + trailer.size
    end = trailer.pack(MAGIC, size, toc_offset, len(toc), zlib.crc32(toc), 0, digest)
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(out.name + ".new")
    unfinished.write_bytes(b"".join([head, *packed, bytes(padding), toc, end]))
    unfinished.chmod(0o755)
    unfinished.replace(out)
    return digest.hex()


# The whole


def executable_path() -> Path:
    return ROOT / "dist" / (f"{PROGRAM}.exe" if sys.platform == "win32" else PROGRAM)


def version(root: Path) -> str:
    """Of the program in `root`. Read, not imported: this may be another checkout."""
    found = re.search(r'^__version__ = "(.+)"$', (root / "scorpio" / "__init__.py").read_text("utf-8"), re.MULTILINE)
    return found[1] if found else "unknown"


def build(root: Path, out: Path) -> tuple[dict[str, str], list[bundle.Component]]:
    """Make `out` from the sources in `root`; what was made, as it is written beside it, and what is in it."""
    folder = CACHE / "folder"
    collected = collect(root, "folder")
    assemble(CACHE / "collected" / "_internal", folder)
    compile_interpreter(folder / PROGRAM)
    compile_supervisor(folder / SUPERVISOR)
    compile_launcher(CACHE / "launcher")
    refuse_missing(folder)
    found = bundle.components(collected, root, launcher=True)
    (folder / LICENCES).write_text(licence_texts(found, root), "utf-8")
    content = pack(folder, CACHE / "launcher", out)
    return {"content": content, "platform": platform_tag(folder)}, found


def licence_texts(found: list[bundle.Component], root: Path) -> str:
    return bundle.licence_texts(found, version(root), (ROOT / "LICENSE").read_text("utf-8"))


def freeze(root: Path = ROOT, out: Path | None = None, force: bool = False) -> Path:
    """`out`, made now unless its inputs are what they were. Beside it, with more at the end of its name:
    `.json` says what it was made of, `.cdx.json` is its bill of materials, `-THIRD-PARTY-LICENSES.txt` the terms.

    Raises Stop.
    """
    out = out or executable_path()
    note = out.with_name(out.name + ".json")
    inputs = inputs_hash(root)
    CACHE.mkdir(parents=True, exist_ok=True)
    with _alone():
        if not force and out.is_file() and note.is_file() and json.loads(note.read_bytes()).get("inputs") == inputs:
            return out
        note.unlink(missing_ok=True)
        if sys.platform == "linux":
            made, found = build(root, out)
        else:
            import one_file

            made, found = one_file.build(root, out)
        made |= {"inputs": inputs, "sha256": hashlib.sha256(out.read_bytes()).hexdigest()}
        out.with_name(f"{out.name}-{LICENCES}").write_text(licence_texts(found, root), "utf-8")
        materials = bill.materials(found, version(root), made["sha256"])
        out.with_name(f"{out.name}.cdx.json").write_text(json.dumps(materials, indent=1) + "\n", "utf-8")
        note.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", "utf-8")
    return out


@contextmanager
def _alone() -> Iterator[None]:
    """A second build waits, and then finds the work done. Not on Windows, which has no flock."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make dist/scorpio, the one executable file.")
    parser.add_argument("--root", type=Path, default=ROOT, help="where scorpio/ and tools/ are")
    parser.add_argument("--out", type=Path, default=executable_path())
    parser.add_argument("--force", action="store_true", help="even when the inputs have not changed")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        out = freeze(options.root.resolve(), options.out.resolve(), options.force)
    except Stop as stop:
        print(f"freeze.py: {stop}", file=sys.stderr)
        return 1
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB, {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
