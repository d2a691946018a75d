"""The reading process: pages on standard input, a line of JSON for each on standard output, and one when it is ready.

A page is a line of JSON that says whose it is and how many bytes follow. Ends with its input.
"""

from __future__ import annotations

import json
import os

from scorpio.worker_process import begin
from tools.core.limits import SEARCH_READER_BYTES_MAX, SEARCH_READER_S_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def main() -> None:
    answers = begin(SEARCH_READER_BYTES_MAX, SEARCH_READER_S_MAX)
    with open(0, "rb", closefd=False) as pages, open(answers, "wb") as out:
        serve(pages, out)
    os._exit(0)  # a native library that fails while it is unloaded must not spoil the answers


def serve(pages: IO[bytes], out: IO[bytes]) -> None:
    from tools.core.web_search.engine import Page
    from tools.core.web_search.engines import ENGINES
    from tools.core.web_search.reading import read

    out.write(b"{}\n")
    out.flush()
    while line := pages.readline():
        head = json.loads(line)
        text = pages.read(head["bytes"]).decode(head["charset"], "replace")
        answer = read(ENGINES[head["engine"]], Page(head["status"], text, head["rest_s"]))
        out.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
