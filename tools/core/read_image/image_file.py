"""The file a caller names: its path, its kind, its bytes. One descriptor from the first look to the last byte.

Refuses everything that is not a regular file before it is opened, because opening a device can act on it, and once
more on the open descriptor, because the name may mean another file by then.
"""

from __future__ import annotations

import os
import stat

from scorpio.tool import ToolFailure
from tools.core.limits import IMAGE_BASE64_BYTES_MAX, IMAGE_FILE_BYTES_MAX
from tools.core.read_image.signatures import HEAD_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import FileIO

PASSED_BYTES_MAX = IMAGE_BASE64_BYTES_MAX // 4 * 3
"""Largest file whose base64 stays within IMAGE_BASE64_BYTES_MAX."""

_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_READ_BYTES = 1024 * 1024
_LISTED_MAX = 5000

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe (FIFO)"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
)


class ImageFile:
    """An open regular file. `head` is all of it when it has at most PASSED_BYTES_MAX bytes, else its beginning."""

    __slots__ = ("file", "file_bytes", "head", "path")

    def __init__(self, path: str, file: FileIO, file_bytes: int, head: bytes) -> None:
        self.path = path
        self.file = file
        self.file_bytes = file_bytes
        self.head = head

    @property
    def complete(self) -> bool:
        return self.file_bytes <= PASSED_BYTES_MAX

    def read_text(self, chars_max: int) -> str:
        """The file's first `chars_max` characters."""
        data = os.pread(self.file.fileno(), 4 * chars_max, 0)
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        return data.decode(encoding, "replace")[:chars_max]


def printable(path: str) -> str:
    """`path` with control characters, odd spaces and undecodable bytes escaped, so that it stays one line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path)


def expand(file_path: str) -> str:
    """The path that `file_path` names; still relative if it is. Raises ToolFailure."""
    if not file_path.strip():
        raise ToolFailure("file_path is empty. ReadImage needs the path of an image file.")
    scheme, colon, rest = file_path.partition(":")
    if colon and scheme.lower() == "file":
        path = _from_uri(file_path, rest)
    elif colon and (rest.startswith("//") or scheme.lower() == "data"):
        raise ToolFailure(
            f"{printable(file_path[:200])} is not a file: ReadImage reads files of this machine only. "
            "Save it to a file first, for example with Bash `curl -o FILE URL`."
        )
    else:
        path = os.path.expanduser(file_path) if file_path.startswith("~") else file_path
    if "\0" in path:
        raise ToolFailure("file_path contains a NUL character, which no file name can have. Remove it.")
    return path


def _from_uri(uri: str, rest: str) -> str:
    """Source: RFC 8089. `?` and `#` are taken literally: file names have them, file URIs have no query."""
    from urllib.parse import unquote_to_bytes

    if rest.startswith("//"):
        host, _, path = rest[2:].partition("/")
        path = "/" + path
        if host.lower() not in ("", "localhost"):
            raise ToolFailure(
                f"{printable(uri)} names a file on the host {printable(host)!r}. ReadImage reads files of this "
                "machine only: file:///PATH, with three slashes."
            )
    else:
        path = rest
    if not path.startswith("/"):
        raise ToolFailure(f"{printable(uri)} has no absolute path. A file URI looks like file:///PATH.")
    return unquote_to_bytes(path).decode("utf-8", "surrogateescape")


def open_image(path: str) -> ImageFile:
    """Blocks on the disk: call it in a thread. Raises ToolFailure."""
    raw = path.encode("utf-8", "surrogateescape")
    try:
        _require_regular(path, os.stat(raw).st_mode)
        file = open(os.open(raw, _OPEN_FLAGS), "rb", buffering=0)  # noqa: SIM115  # the caller closes it
    except FileNotFoundError:
        twin = _other_spelling(path)
        if twin is None:
            raise ToolFailure(_missing(path)) from None
        return open_image(twin)
    except OSError as error:
        raise ToolFailure(_unopened(path, error)) from None
    try:
        return _examined(path, file)
    except BaseException:
        file.close()
        raise


def _examined(path: str, file: FileIO) -> ImageFile:
    status = os.fstat(file.fileno())
    _require_regular(path, status.st_mode)
    name, size = printable(path), status.st_size
    if size == 0:
        if os.path.realpath(path).startswith(("/proc/", "/sys/")):
            raise ToolFailure(f"{name} is an interface of the kernel, not an image file.")
        raise ToolFailure(f"{name} is empty (0 bytes). The program that writes it may not have finished.")
    if size > IMAGE_FILE_BYTES_MAX:
        raise ToolFailure(
            f"{name} is {human_bytes(size)} large; ReadImage reads at most {human_bytes(IMAGE_FILE_BYTES_MAX)}. "
            "Scale it down first, for example with `magick FILE -resize 2000x2000 out.jpg`."
        )
    try:
        head = _read(file.fileno(), size if size <= PASSED_BYTES_MAX else HEAD_BYTES)
    except OSError as error:
        raise ToolFailure(f"{name} cannot be read: {error.strerror}.") from None
    return ImageFile(path, file, size, head)


def _read(fd: int, count: int) -> bytes:
    """The first `count` bytes; fewer if the file has become shorter. Leaves the file position alone."""
    chunks, offset = [], 0
    while offset < count and (chunk := os.pread(fd, min(_READ_BYTES, count - offset), offset)):
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)


def _require_regular(path: str, mode: int) -> None:
    for is_kind, noun in _KINDS:
        if is_kind(mode):
            next_step = " Bash `ls` shows what is in it." if is_kind is stat.S_ISDIR else ""
            raise ToolFailure(f"{printable(path)} is {noun}. ReadImage needs a regular file with an image.{next_step}")


def _unopened(path: str, error: OSError) -> str:
    import errno

    name = printable(path)
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return f"No file descriptors are left to open {name}. Try again when other calls have finished."
    sentence = {
        errno.ELOOP: "is a symbolic link that leads to itself, or through too many others.",
        errno.EACCES: "may not be read: permission denied. Bash `ls -l` shows who may.",
        errno.EPERM: "may not be read: operation not permitted.",
        errno.ENOTDIR: "does not exist: a part of the path is a file, not a directory.",
        errno.ENAMETOOLONG: "cannot exist: the name is longer than the file system allows.",
        errno.ENXIO: "is a socket or a device without a driver, not a file with an image.",
    }.get(error.errno or 0)
    return f"{name if len(name) < 300 else name[:300] + '…'} " + (sentence or f"cannot be opened: {error.strerror}.")


def _other_spelling(path: str) -> str | None:
    """The one file in the directory whose name differs in composed characters or kinds of space only.

    macOS puts U+202F into the names of screenshots, and models type an ordinary space.
    """
    directory, name = os.path.split(path)
    twins = [entry for entry in _listed(directory) if _plain(entry) == _plain(name)]
    return os.path.join(directory, twins[0]) if len(twins) == 1 and twins[0] != name else None


def _plain(name: str) -> str:
    import unicodedata

    return unicodedata.normalize("NFKC", name)


def _listed(directory: str) -> list[str]:
    import itertools

    try:
        with os.scandir(directory or ".") as entries:
            return [entry.name for entry in itertools.islice(entries, _LISTED_MAX)]
    except OSError:
        return []


def _missing(path: str) -> str:
    import difflib

    if os.path.islink(path):
        return f"{printable(path)} is a symbolic link to {printable(os.readlink(path))}, which does not exist."
    directory, name = os.path.split(path)
    if not os.path.isdir(directory):
        while directory and not os.path.isdir(directory):
            directory = os.path.dirname(directory)
        return f"No file {printable(path)}: of its directories only {printable(directory)} exists."
    close = difflib.get_close_matches(name, _listed(directory), 3)
    if close:
        return f"No file {printable(path)}. Similar names there: {', '.join(printable(c) for c in close)}."
    return f"No file {printable(path)}. Bash `ls` shows what is in {printable(directory)}."


def human_bytes(count: int) -> str:
    """`812 B`, `4.1 KB`, `41 KB`, `1.4 MB`: steps of 1024, two digits at least."""
    if count < 1024:
        return f"{count} B"
    size, unit = count / 1024, "KB"
    if size >= 1023.5:
        size, unit = size / 1024, "MB"
    return f"{size:.1f} {unit}" if size < 9.95 else f"{size:.0f} {unit}"
