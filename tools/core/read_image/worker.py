"""The decoder process: an image on standard input becomes one line of JSON and a PNG or JPEG on standard output.

Refuses more memory, processor time and pixels than limits.py allows, and every format that signatures.py does not
name. Opens no file but fonts.
"""

from __future__ import annotations

import os

from scorpio.worker_process import begin
from tools.core.limits import IMAGE_DECODE_S_MAX, IMAGE_DECODER_BYTES_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Answer and end. `{"failure": …}` is a predicate about the file; a crash is told by the exit status alone."""
    answer_fd = begin(IMAGE_DECODER_BYTES_MAX, IMAGE_DECODE_S_MAX)
    header, body = _answer()
    import json

    with open(answer_fd, "wb") as answer:
        answer.write(json.dumps(header).encode() + b"\n" + body)
    os._exit(0)  # a native library that fails while it is unloaded must not spoil the answer


def _answer() -> tuple[dict[str, Any], bytes]:
    from tools.core.read_image import raster, signatures, svg

    kind = signatures.identify(os.pread(0, signatures.HEAD_BYTES, 0), os.fstat(0).st_size)
    os.lseek(0, 0, os.SEEK_SET)
    try:
        with open(0, "rb", closefd=False) as file:
            if kind.mime_type == signatures.SVG:
                return svg.drawn(file)
            return raster.converted(file, kind.mime_type, os.fstat(0).st_size)
    except raster.Undecodable as reason:
        return {"failure": str(reason)}, b""
    except MemoryError:
        pass  # answered below, when the traceback no longer holds the image
    return {
        "failure": f"needs more than {IMAGE_DECODER_BYTES_MAX >> 20} MB of memory to decode. Scale it down first."
    }, b""


if __name__ == "__main__":
    main()
