"""Files of the web that are compressed: fetched through the address policy, bounded, from allowed hosts only."""

from __future__ import annotations

import base64
import gzip
import http.server
import threading
from collections.abc import Iterator

import pytest

from tests.web_site import SEEN_EVERY_S
from tests.wire import LEGACY, Connect

LATEST = LEGACY[-1]
FILE = b"a file of the web\n" * 100


class Site(http.server.BaseHTTPRequestHandler):
    """/file is a file, /away redirects to a metadata address, /slow never ends, anything else is not there."""

    def do_GET(self) -> None:
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/latest/meta-data/")
            self.end_headers()
        elif self.path == "/slow":
            self.send_response(200)
            self.send_header("Content-Length", "10")
            self.end_headers()
            self.server.held.wait(60)  # type: ignore[attr-defined]
        else:
            self.send_response(200 if self.path == "/file" else 404)
            self.send_header("Content-Length", str(len(FILE)))
            self.end_headers()
            self.wfile.write(FILE)

    def log_message(self, format: str, *args: object) -> None:
        """Not on the terminal of who tests."""


@pytest.fixture
def site() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.held = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(SEEN_EVERY_S,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.held.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


@pytest.mark.requirement("everything:fetching")
@pytest.mark.revisions(LATEST)
def test_file_of_the_web_is_fetched_and_compressed(connect: Connect, site: str) -> None:
    arguments = {"name": "file.gz", "data": f"{site}/file", "outputType": "resource"}
    [block] = connect("everything").call("gzip-file-as-resource", arguments)["content"]
    assert gzip.decompress(base64.b64decode(block["resource"]["blob"])) == FILE


@pytest.mark.requirement("everything:fetching")
@pytest.mark.revisions(LATEST)
@pytest.mark.parametrize(
    ("path", "environment", "said"),
    [
        ("/nothing", {}, "was answered with status 404"),
        ("/away", {}, "169.254.169.254 is a cloud metadata address, which is never fetched."),
        ("/file", {"GZIP_MAX_FETCH_SIZE": "1799"}, "is larger than 1799 bytes"),
        ("/slow", {"GZIP_MAX_FETCH_TIME_MILLIS": "300"}, "did not arrive within 300 ms"),
        ("/file", {"GZIP_ALLOWED_DOMAINS": "example.com"}, "127.0.0.1 is not among the hosts of GZIP_ALLOWED_DOMAINS."),
        ("/away", {"GZIP_ALLOWED_DOMAINS": "127.0.0.1"}, "169.254.169.254 is not among the hosts"),
    ],
)
def test_file_that_may_not_or_cannot_be_fetched_is_told(
    connect: Connect, environ: dict[str, str], site: str, path: str, environment: dict[str, str], said: str
) -> None:
    environ |= environment
    wire = connect("everything")
    result = wire.call("gzip-file-as-resource", {"data": site + path})
    assert result["isError"]
    assert said in result["content"][0]["text"]
    assert "file.gz" not in str(wire.result("resources/list"))
