"""The folder behind the launcher: executables that are not whole, and packing."""

from __future__ import annotations

import os
import shutil
import struct
import sys
import zlib
from pathlib import Path

import pytest

import freeze
from tests.frozen.starting import aged, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the launcher is for Linux")


def refusal(executable: Path, home: Path) -> str:
    result = start(executable, HOME=str(home))
    assert (result.returncode, result.stdout) == (1, "")
    cache = home / ".scorpio" / "cache"
    assert not cache.exists() or [path.name for path in cache.iterdir()] == ["lock"]
    return result.stderr


@pytest.mark.parametrize("lost", [1, 80, 5000])
def test_truncated_executable_says_so(executable: Path, home: Path, tmp_path: Path, lost: int) -> None:
    short = Path(shutil.copy(executable, tmp_path / "short"))
    os.truncate(short, short.stat().st_size - lost)
    assert refusal(short, home) == f"scorpio: {short} is not whole: its end is missing. Download it again.\n"


def test_launcher_without_a_program_says_so(launcher: Path, home: Path) -> None:
    assert refusal(launcher, home) == f"scorpio: {launcher} is not whole: its end is missing. Download it again.\n"


def changed(executable: Path, out: Path, position: int, content: bytes) -> Path:
    data = bytearray(executable.read_bytes())
    data[position : position + len(content)] = content
    out.write_bytes(data)
    out.chmod(0o755)
    return out


def trailer_of(executable: Path) -> tuple[int, int]:
    """Offset and length of the table of contents."""
    _, offset, length = struct.unpack_from("<QQQ", executable.read_bytes()[-80:], 16)
    return offset, length


def test_executable_with_a_changed_byte_is_refused(executable: Path, home: Path, tmp_path: Path) -> None:
    offset, length = trailer_of(executable)
    table = changed(executable, tmp_path / "table", offset + length - 5, b"\x01")
    stream = changed(executable, tmp_path / "stream", offset - 5000, b"\x01\x02\x03\x04")
    assert "its table of contents is damaged. Download it again." in refusal(table, home)
    assert "its bytes are damaged. Download it again." in refusal(stream, home)


def test_name_that_leads_out_of_its_directory_is_refused(executable: Path, home: Path, tmp_path: Path) -> None:
    offset, length = trailer_of(executable)
    table = executable.read_bytes()[offset : offset + length]
    evil = table.replace(b"lib/xx/inside\0", b"lib/../inside\0")
    assert evil != table
    crafted = changed(executable, tmp_path / "crafted", offset, evil)
    crafted = changed(crafted, tmp_path / "crafted", crafted.stat().st_size - 40, struct.pack("<I", zlib.crc32(evil)))
    assert 'the name "lib/../inside" in it leads out of its directory' in refusal(crafted, home)


# Packing


def test_packing_twice_gives_the_same_bytes(folder: Path, launcher: Path, executable: Path, tmp_path: Path) -> None:
    twin = shutil.copytree(folder, tmp_path / "twin")
    for path in twin.rglob("*"):
        aged(path, 100)
    freeze.pack(twin, launcher, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == executable.read_bytes()


def test_packing_refuses_links_and_a_folder_without_a_program(folder: Path, launcher: Path, tmp_path: Path) -> None:
    twin = shutil.copytree(folder, tmp_path / "twin")
    (twin / "link").symlink_to("scorpio")
    with pytest.raises(freeze.FreezeFailure, match="neither a file nor a directory"):
        freeze.pack(twin, launcher, tmp_path / "out")
    (tmp_path / "bare").mkdir()
    with pytest.raises(freeze.FreezeFailure, match="nothing to start"):
        freeze.pack(tmp_path / "bare", launcher, tmp_path / "out")
