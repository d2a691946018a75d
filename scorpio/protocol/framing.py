"""Newline-delimited JSON framing.

Does not parse JSON and does not read: callers hand it bytes.
"""

from __future__ import annotations

from scorpio.limits import FRAME_BYTES_MAX

OVERSIZE = b"(a line longer than FRAME_BYTES_MAX)"
"""Stands in `feed`'s answer, compared with `is`, where a line passed the bound; the rest of that line is skipped."""

BOM = b"\xef\xbb\xbf"

PART_BYTES_MIN = 4096
"""Shorter parts of a line are joined as they come: 32 MiB in reads of two bytes would cost 800 MB as objects."""


class LineFramer:
    """Cuts a byte stream into lines. Remembers how far it searched: a 10 MiB line costs one pass, not 160."""

    __slots__ = ("_parts", "_parts_bytes", "_skipping", "frame_bytes_max")

    def __init__(self, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self.frame_bytes_max = frame_bytes_max
        self._parts: list[bytes] = []
        self._parts_bytes = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Complete lines in `chunk`, in order, with or without their newline; blank ones left out; may be empty.

        A line that passes the bound appears once, as OVERSIZE, as soon as it does.
        Source: MCP basic/transports, stdio ("Messages are delimited by newlines").
        """
        end = len(chunk) - 1
        newline = chunk.find(b"\n")
        if newline == end and 0 <= end < self.frame_bytes_max and not self._parts and not self._skipping:
            return [chunk] if chunk[0] == 0x7B else self._clean([chunk])
        if newline < 0 and chunk and not self._skipping and self._parts_bytes + end < self.frame_bytes_max:
            self._keep(chunk)
            return []
        lines = chunk.split(b"\n")
        rest = lines.pop()
        frames: list[bytes] = []
        for line in lines:
            if self._skipping:
                self._skipping = False
                continue
            frames.append(self._with_parts(line))
        if rest and not self._skipping:
            self._keep(rest)
            if self._parts_bytes > self.frame_bytes_max:
                self._drop_parts()
                self._skipping = True
                frames.append(OVERSIZE)
        return self._clean(frames)

    def rest(self) -> bytes:
        """What stands after the last newline, b"" for nothing or blanks; to be asked once, at the end of input."""
        frames = self._clean([b"".join(self._parts)])
        self._drop_parts()
        return frames[0] if frames else b""

    def _keep(self, part: bytes) -> None:
        if self._parts and len(self._parts[-1]) < PART_BYTES_MIN:
            self._parts[-1] += part
        else:
            self._parts.append(part)
        self._parts_bytes += len(part)

    def _with_parts(self, line: bytes) -> bytes:
        if self._parts:
            self._parts.append(line)
            line = b"".join(self._parts)
            self._drop_parts()
        return line if len(line) <= self.frame_bytes_max else OVERSIZE

    def _drop_parts(self) -> None:
        self._parts = []
        self._parts_bytes = 0

    @staticmethod
    def _clean(frames: list[bytes]) -> list[bytes]:
        """Without byte order marks and blank lines, which some clients send."""
        bare = [frame.removeprefix(BOM) for frame in frames]
        return [frame for frame in bare if frame and not frame.isspace()]
