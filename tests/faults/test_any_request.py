"""Any bytes over HTTP, in any pieces: a request has at most one answer, and the next client is served."""

from __future__ import annotations

import itertools
import json
import re
import socket
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.http_requests import BOUND_S, ask, modern_call, modern_headers, until_closed
from tests.in_process_http import InProcessHttp
from tests.judge import MODERN
from tests.links import clean_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

STATUSES = {100, 200, 202, 204, 400, 401, 403, 404, 405, 406, 408, 413, 415, 421, 431}

MESSAGE = modern_call("sum", {"a": 3, "b": 4})
BODY = json.dumps(MESSAGE).encode()

methods = st.sampled_from(
    [b"POST", b"GET", b"DELETE", b"OPTIONS", b"HEAD", b"PUT", b"CONNECT", b"post", b"M-SEARCH", b""]
)
targets = st.sampled_from(
    [b"/mcp", b"/sse", b"/messages?sessionId=x", b"/healthz", b"/", b"*", b"http://x/mcp"]
) | st.binary(max_size=20)
names = st.sampled_from(
    [
        *(b"Host", b"Origin", b"Accept", b"Content-Type", b"Content-Length", b"Transfer-Encoding", b"Connection"),
        *(b"Expect", b"Upgrade", b"Mcp-Session-Id", b"Mcp-Method", b"Mcp-Name", b"MCP-Protocol-Version"),
        *(b"Last-Event-ID", b"Authorization", b"Content-Encoding", b"X-Other"),
    ]
)
values = st.sampled_from(
    [
        *(
            b"127.0.0.1:%d",
            b"http://127.0.0.1:%d",
            b"application/json",
            b"text/event-stream",
            b"*/*",
            b"chunked",
            b"close",
        ),
        *(b"0", b"2", b"5", b"99999999999999999999", b"100-continue", b"h2c", b"tools/call", b"sum", MODERN.encode()),
        *(b"0-0", b"Bearer x", b"=?base64?c3Vt?=", b"2025-11-25", b"gzip"),
    ]
) | st.binary(max_size=30)
bodies = st.sampled_from(
    [b"", b"{}", BODY, BODY[:-5], b"[]", b"5\r\n{}   \r\n0\r\n\r\n", b"\xff\xfe", b'{"jsonrpc":"2.0","method":"x"}']
) | st.binary(max_size=50)
extra = st.lists(st.tuples(names, values), max_size=8)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessHttp]:
    folder = tmp_path_factory.mktemp("any-request")
    environ = {**clean_environment(folder), "LOG_LEVEL": "warning"}
    served = InProcessHttp(["conformance", "sum"], environ, folder / "stderr")
    yield served
    served.stop()
    served.wait(BOUND_S)
    assert "Internal error" not in served.stderr(), served.stderr()


def request(
    port: int, method: bytes, target: bytes, headers: list[tuple[bytes, bytes]], body: bytes, sound: bool
) -> bytes:
    """`sound`: with what a request that is served needs, before what was drawn."""
    lines = [method + b" " + target + b" HTTP/1.1"]
    if sound:
        lines += [b"Host: 127.0.0.1:%d" % port, b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
        lines += [f"{name}: {value}".encode() for name, value in modern_headers(MESSAGE).items()]
    lines += [name + b": " + value.replace(b"%d", b"%d" % port) for name, value in headers]
    return b"\r\n".join([*lines, b"", b""]) + body


@pytest.mark.requirement("http:framing")
@given(
    drawn=st.lists(st.tuples(methods, targets, extra, bodies, st.booleans()), min_size=1, max_size=4),
    cuts=st.lists(st.integers(min_value=0, max_value=2000), max_size=5),
)
def test_any_requests_are_answered_or_refused_and_the_server_goes_on(
    server: InProcessHttp,
    drawn: list[tuple[bytes, bytes, list[tuple[bytes, bytes]], bytes, bool]],
    cuts: list[int],
) -> None:
    data = b"".join(request(server.port, *each) for each in drawn)
    edges = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    with socket.create_connection(("127.0.0.1", server.port), BOUND_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for start, end in itertools.pairwise(edges):
                connection.sendall(data[start:end])
            connection.shutdown(socket.SHUT_WR)
        except OSError:  # it was refused before it was whole
            pass
        received = until_closed(connection)
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", received)]
    assert set(statuses) <= STATUSES
    assert len([status for status in statuses if status != 100]) <= data.count(b"HTTP/1.1") + 1
    answer = ask(server.port, MESSAGE)
    assert answer.json()["result"]["content"][0]["text"] == "3 + 4 = 7"


@pytest.mark.requirement("http:framing")
@given(data=st.binary(max_size=3000))
def test_any_bytes_are_refused_and_the_server_goes_on(server: InProcessHttp, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), BOUND_S) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        received = until_closed(connection)
    assert received == b"" or received.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))
    assert ask(server.port, MESSAGE).status == 200
