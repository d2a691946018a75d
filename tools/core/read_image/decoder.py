"""The process that decodes one image: starts it, bounds it, reads its answer.

Decoders are native code fed with files from anywhere, and they are slow: neither belongs into the server's process.
"""

from __future__ import annotations

from scorpio.worker_process import command, environment
from tools.core.limits import (
    IMAGE_BASE64_BYTES_MAX,
    IMAGE_DECODE_S_MAX,
    IMAGE_DECODER_BYTES_MAX,
    IMAGE_DECODERS_RUNNING_MAX,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from io import FileIO
    from typing import Any

WORKER = "tools.core.read_image.worker"

_ANSWER_BYTES_MAX = IMAGE_BASE64_BYTES_MAX + 64 * 1024
_READ_BYTES = 64 * 1024


class DecoderFailure(Exception):
    """The image could not be decoded. The text is a predicate: "NAME is truncated or damaged: …"."""


class Decoded:
    """`width`, `height` and `mime_type` of the file; `data` is a PNG or JPEG; `notes` say what was done to it."""

    __slots__ = ("data", "data_mime_type", "height", "notes", "width")

    def __init__(self, answer: dict[str, Any], data: bytes) -> None:
        self.width: int = answer["width"]
        self.height: int = answer["height"]
        self.data_mime_type: str = answer["mime_type"]
        self.notes: list[str] = answer["notes"]
        self.data = data


class Decoders:
    """The decoder processes of one server: at most IMAGE_DECODERS_RUNNING_MAX at a time, the rest queue."""

    __slots__ = ("_slots",)

    def __init__(self) -> None:
        self._slots: asyncio.Semaphore | None = None

    async def decode(self, file: FileIO) -> Decoded:
        """The picture in `file`, which becomes the worker's standard input. Raises DecoderFailure.

        A cancelled call leaves no process behind.
        """
        import asyncio

        if self._slots is None:
            self._slots = asyncio.Semaphore(IMAGE_DECODERS_RUNNING_MAX)
        async with self._slots:
            return await _decode(file)


async def _decode(file: FileIO) -> Decoded:
    import asyncio

    try:
        worker = await asyncio.create_subprocess_exec(
            *command(WORKER),
            stdin=file,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(),
        )
    except OSError as error:
        raise DecoderFailure(f"could not be decoded: no process could be started for it ({error.strerror}).") from None
    assert worker.stdout is not None
    try:
        async with asyncio.timeout(IMAGE_DECODE_S_MAX):
            answer = await _read(worker.stdout)
            returncode = await worker.wait()
    except TimeoutError:
        raise DecoderFailure(_TOO_SLOW) from None
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    return _parsed(answer, returncode)


_TOO_SLOW = f"takes more than {IMAGE_DECODE_S_MAX} s to decode. Scale it down or convert it to PNG first."


async def _read(stream: asyncio.StreamReader) -> bytes:
    chunks, size = [], 0
    while chunk := await stream.read(_READ_BYTES):
        chunks.append(chunk)
        size += len(chunk)
        if size > _ANSWER_BYTES_MAX:
            raise DecoderFailure("could not be decoded: the decoder's answer is larger than it may be.")
    return b"".join(chunks)


def _parsed(answer: bytes, returncode: int) -> Decoded:
    """One line of JSON, then the image. Source: worker.py."""
    import json

    line, newline, data = answer.partition(b"\n")
    if returncode != 0 or not newline:
        raise DecoderFailure(_death(returncode))
    header = json.loads(line)
    if "failure" in header:
        raise DecoderFailure(header["failure"])
    return Decoded(header, data)


def _death(returncode: int) -> str:
    import signal

    if -returncode in (signal.SIGXCPU, signal.SIGKILL):
        return _TOO_SLOW
    memory = f"{IMAGE_DECODER_BYTES_MAX >> 20} MB"
    try:
        end = f"on {signal.Signals(-returncode).name}" if returncode < 0 else f"with code {returncode}"
    except ValueError:
        end = f"on signal {-returncode}"
    return f"could not be decoded: the decoder ended {end}. The file is damaged, or needs more memory than {memory}."
