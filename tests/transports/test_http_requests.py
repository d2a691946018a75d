"""Requests that are not as they should be: the promised status, nothing told, and the server goes on."""

from __future__ import annotations

import json
import select
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from tests.http_requests import (
    BOUND_S,
    JSON,
    Events,
    ask,
    get,
    modern,
    modern_call,
    modern_headers,
    open_session,
    post,
    raw,
    request,
    send,
    start,
    status_of,
    until_closed,
)
from tests.judge import MODERN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.in_process_http import InProcessHttp

    Serve = Callable[..., InProcessHttp]

MIB = 1024 * 1024


@pytest.fixture
def port(serve: Serve) -> Iterator[int]:
    """A server that still answers after the test."""
    server = serve("conformance", "sum")
    yield server.port
    assert ask(server.port, modern_call("sum", {"a": 3, "b": 4})).json()["result"]["isError"] is False


def head(port: int, *lines: str, method: str = "POST", target: str = "/mcp") -> bytes:
    """A request of JSON up to the blank line, with further lines."""
    first = (f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: application/json")
    return "\r\n".join([*first, *lines, "", ""]).encode()


# -- what is asked


@pytest.mark.requirement("http:status")
@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", "json"],
)
def test_body_that_is_not_json_by_its_type_is_not_taken(port: int, kind: str) -> None:
    reply = post(port, modern("server/discover"), {**modern_headers(modern("server/discover")), "Content-Type": kind})
    assert reply.status == 415


@pytest.mark.requirement("http:status")
@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"])
def test_json_is_taken_however_its_type_is_written(port: int, kind: str) -> None:
    assert ask(port, modern("server/discover"), {"Content-Type": kind}).status == 200


@pytest.mark.requirement("http:status")
def test_compressed_body_is_not_taken(port: int) -> None:
    assert ask(port, modern("server/discover"), {"Content-Encoding": "gzip"}).status == 415


@pytest.mark.requirement("http:accept")
@pytest.mark.parametrize("accept", ["text/html", "image/*", "application/json;q=0", "text/event-stream; q=0.0", "x"])
def test_client_that_takes_neither_json_nor_events_gets_nothing(port: int, accept: str) -> None:
    assert ask(port, modern("server/discover"), {"Accept": accept}).status == 406


@pytest.mark.requirement("http:accept")
@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*;q=0.1", "application/json"),
        ("text/html, application/json", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("TEXT/*", "text/event-stream"),
    ],
)
def test_client_gets_the_kind_it_takes(port: int, accept: str, kind: str) -> None:
    assert ask(port, modern("server/discover"), {"Accept": accept}).kind == kind


@pytest.mark.requirement("http:accept")
def test_accept_in_two_lines_is_one_list(port: int) -> None:
    body = json.dumps(modern("server/discover")).encode()
    lines = [f"{name}: {value}" for name, value in modern_headers(modern("server/discover")).items()]
    sent = head(port, "Accept: text/html", "Accept: application/json", f"Content-Length: {len(body)}", *lines)
    assert status_of(raw(port, sent + body, shut=True)) == 200


@pytest.mark.requirement("http:status")
@pytest.mark.parametrize(
    "path", ["/", "/mcp/", "/MCP", "/mcp/../mcp", "/%6dcp", "//mcp", "/mcp;x", "/messages/x", "/inspector/x"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_any_other_path_is_not_found(port: int, path: str, method: str) -> None:
    reply = send(port, method, path, JSON, b"{}" if method == "POST" else b"").wait()
    assert reply.status == 404


@pytest.mark.requirement("http:status")
@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/mcp", "POST, GET, DELETE"),
        ("PATCH", "/mcp", "POST, GET, DELETE"),
        ("HEAD", "/mcp", "POST, GET, DELETE"),
        ("OPTIONS", "/mcp", "POST, GET, DELETE"),
        ("POST", "/sse", "GET"),
        ("GET", "/messages", "POST"),
        ("DELETE", "/healthz", "GET, HEAD"),
    ],
)
def test_method_that_a_path_has_not_got_is_not_allowed(port: int, method: str, path: str, allowed: str) -> None:
    reply = send(port, method, path).wait()
    assert (reply.status, reply.headers["allow"]) == (405, allowed)


@pytest.mark.requirement("http:health")
def test_health_is_told_with_and_without_a_body(port: int) -> None:
    assert get(port, "/healthz").body == b"ok\n"
    told = send(port, "HEAD", "/healthz").wait()
    assert (told.status, told.headers["content-length"], told.body) == (200, "3", b"")


@pytest.mark.requirement("http:pages")
def test_page_is_shown_to_everybody_who_may_speak_to_the_server_at_all(serve: Serve) -> None:
    from scorpio.transports.http.site import Page

    policy = b"content-security-policy: default-src 'none'\r\n"
    port = serve(
        pages={b"/inspector": Page(b"<!doctype html>", b"text/html", policy)}, tokens=["a-token-0123456789"]
    ).port
    shown = get(port, "/inspector")
    assert (shown.status, shown.kind, shown.body) == (200, "text/html", b"<!doctype html>")
    assert shown.headers["content-security-policy"] == "default-src 'none'"
    assert send(port, "HEAD", "/inspector").wait().headers["content-length"] == "15"
    assert get(port, "/inspector", {"Host": "evil.example"}).status == 421
    assert send(port, "POST", "/inspector").wait().status == 405


@pytest.mark.requirement("http:metrics")
def test_metrics_are_told_when_they_are_asked_for(serve: Serve) -> None:
    assert get(serve().port, "/metrics").status == 404
    port = serve(metrics=True).port
    session = open_session(port)
    assert post(port, request("tools/list"), {**session, "Mcp-Session-Id": "no"}).status == 404
    lines = get(port, "/metrics").body.decode().splitlines()
    told = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert told["scorpio_http_sessions"] == "1"
    assert told['scorpio_http_requests_total{method="POST",status="200"}'] == "1"
    assert told['scorpio_http_requests_total{method="POST",status="404"}'] == "1"
    assert int(told["scorpio_http_connections_total"]) >= 4


# -- bodies


@pytest.mark.requirement("http:bad-json")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"not json",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"p\xffing"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}',
        b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
        "{}".encode("utf-16"),
        b"[" * 100_000 + b"]" * 100_000,
        b"\x00" * 100,
    ],
    ids=range(11),
)
def test_body_that_is_no_json_is_a_parse_error(port: int, body: bytes) -> None:
    reply = post(port, body)
    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (400, -32700, None)


@pytest.mark.requirement("http:bad-json")
@pytest.mark.parametrize(
    ("body", "id_"),
    [
        (b"1", None),
        (b'"x"', None),
        (b"null", None),
        (b"{}", None),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":8,"method":"ping","method":"pong"}', 8),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', None),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(port: int, body: bytes, id_: int | None) -> None:
    reply = post(port, body)
    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (400, -32600, id_)


@pytest.mark.requirement("http:too-large")
def test_body_that_says_it_is_too_long_is_refused_before_it_is_read(port: int) -> None:
    for length in (4 * MIB + 1, 10**12, 10**30):
        reply = raw(port, head(port, f"Content-Length: {length}"))
        assert status_of(reply) in (400, 413)


@pytest.mark.requirement("http:too-large")
def test_body_of_100_mb_is_refused_and_its_sender_hears_why(port: int, serve: Serve) -> None:
    piece = b"x" * MIB
    with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:
        connection.sendall(head(port, f"Content-Length: {100 * MIB}"))
        try:
            for _ in range(100):
                connection.sendall(piece)
        except OSError:  # the server stopped listening, having answered
            pass
        assert status_of(connection.recv(1 << 16)) == 413


@pytest.mark.requirement("http:too-large")
def test_chunks_without_an_end_are_refused_once_they_are_too_long(port: int) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    assert status_of(raw(port, head(port, "Transfer-Encoding: chunked") + chunk * 80)) == 413


@pytest.mark.requirement("http:too-large")
def test_chunks_that_are_mostly_framing_are_refused_too(serve: Serve) -> None:
    port = serve(body_bytes=1000).port
    chunk = b"1;" + b"e" * 100 + b"\r\nx\r\n"
    assert status_of(raw(port, head(port, "Transfer-Encoding: chunked") + chunk * 500)) == 413


@pytest.mark.requirement("http:too-large")
def test_body_as_long_as_it_may_be_is_taken(port: int) -> None:
    message = modern_call("sum", {"a": 3, "b": 4, "note": ""})
    message["params"]["arguments"]["note"] = "x" * (4 * MIB - len(json.dumps(message)))
    assert ask(port, message).json()["result"]["isError"] is False
    message["params"]["arguments"]["note"] += "x"
    assert ask(port, message).status == 413


@pytest.mark.requirement("http:framing")
@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\n{}\r\n0\r\n\r\n",
        b"-2\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}x\r\n0\r\n\r\n",
        b"fffffffffffffffff\r\n{}",
        b"2\n{}\n0\n\n",
        b"\r\n{}",
    ],
    ids=["no number", "negative", "longer than it says", "beyond 64 bits", "bare newlines", "no length"],
)
def test_broken_chunks_are_a_bad_request(port: int, body: bytes) -> None:
    assert status_of(raw(port, head(port, "Transfer-Encoding: chunked") + body)) == 400


@pytest.mark.requirement("http:framing")
@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 4", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 4"),
        ("Content-Length: 4", "Content-Length: 5"),
        ("Content-Length: 4, 4",),
        ("Content-Length: -1",),
        ("Content-Length: +4",),
        ("Content-Length: 0x4",),
        ("Content-Length: 4 ", "Transfer-Encoding: identity"),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding : chunked",),
        ("X-Folded: a\r\n b", "X y: 1"),
        ("X-Nul: a\0b",),
        ("X-Cr: a\rb",),
    ],
    ids=str,
)
def test_body_whose_length_two_readers_could_read_in_two_ways_is_refused(port: int, lines: tuple[str, ...]) -> None:
    reply = raw(port, head(port, *lines) + b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
    assert status_of(reply) == 400
    assert reply.count(b"HTTP/1.1 ") == 1


@pytest.mark.requirement("http:framing")
@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"hello\r\n\r\n",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        b"\x00" * 1000,
        b"GET /\x00mcp HTTP/1.1\r\n\r\n",
    ],
    ids=["TLS", "HTTP/2", "HTTP/9", "words", "JSON", "zeros", "NUL in the path"],
)
def test_bytes_that_are_no_request_are_a_bad_request(port: int, data: bytes) -> None:
    assert status_of(raw(port, data)) == 400


@pytest.mark.requirement("http:headers")
@pytest.mark.parametrize(
    "lines",
    [("X-Long: " + "x" * 17_000,), tuple(f"X-{number}: {'x' * 100}" for number in range(200)), ("x" * 17_000 + ": 1",)],
    ids=["one long", "many", "a long name"],
)
def test_headers_that_are_too_long_are_refused(port: int, lines: tuple[str, ...]) -> None:
    assert status_of(raw(port, head(port, *lines, "Content-Length: 2") + b"{}")) == 431


@pytest.mark.requirement("http:headers")
def test_header_that_never_ends_is_refused_long_before_it_fills_memory(port: int) -> None:
    endless = head(port)[:-2] + b"X-Long: " + b"x" * (2 * MIB)
    assert status_of(raw(port, endless)) == 431


# -- how it is sent


@pytest.mark.requirement("http:connections")
def test_requests_on_one_connection_are_answered_in_their_order(port: int) -> None:
    messages = [modern_call("test_slow", {"ms": 100}, "slow"), modern_call("sum", {"a": 1, "b": 2}, "quick")]
    messages += [modern("tools/list", None, number) for number in range(40)]
    sent = b""
    for message in messages:
        body = json.dumps(message).encode()
        lines = [f"{name}: {value}" for name, value in modern_headers(message).items()]
        sent += head(port, f"Content-Length: {len(body)}", *lines) + body
    with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:
        connection.sendall(sent)
        received = b""
        while received.count(b"HTTP/1.1 200") < len(messages) or not received.endswith(b"}\n"):
            received += connection.recv(1 << 16)
    ids = [json.loads(part.partition(b"\r\n\r\n")[2])["id"] for part in received.split(b"HTTP/1.1 200 OK\r\n")[1:]]
    assert ids == [message["id"] for message in messages]


@pytest.mark.requirement("http:connections")
def test_requests_that_come_cut_anywhere_in_a_long_row_are_all_answered(port: int) -> None:
    message = modern_call("sum", {"a": 1, "b": 2, "note": "x" * 1000})
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in modern_headers(message).items()]
    row = (head(port, f"Content-Length: {len(body)}", *lines) + body) * 400
    with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:
        sender = threading.Thread(target=connection.sendall, args=(row,))
        sender.start()
        answered = b""
        while answered.count(b"1 + 2 = 3") < 400:
            answered += connection.recv(1 << 16)
        sender.join()
    assert answered.count(b"HTTP/1.1 200") == 400


@pytest.mark.requirement("http:connections")
def test_what_follows_a_last_request_disturbs_no_answer(port: int) -> None:
    message = modern_call("test_slow", {"ms": 100})
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in modern_headers(message).items()]
    with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:
        connection.sendall(head(port, f"Content-Length: {len(body)}", "Connection: close", *lines) + body)
        connection.sendall(b"\r\nrubbish\r\n\r\n")
        assert b"Slept for 100 ms." in until_closed(connection)


@pytest.mark.requirement("http:connections")
def test_same_request_again_on_a_connection_is_parsed_anew_where_it_differs(port: int) -> None:
    """What is taken from the head of the request before may be that only which is the same."""
    first, second = modern_call("sum", {"a": 1, "b": 2}, 1), modern_call("sum", {"a": 10, "b": 20}, 2)
    wrong = modern_call("nope", {}, 3)
    with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:

        def said(message: dict[str, object], *more: str, headers_of: dict[str, object] | None = None) -> bytes:
            body = json.dumps(message).encode()
            lines = [f"{n}: {v}" for n, v in modern_headers(headers_of or message).items()]
            connection.sendall(head(port, f"Content-Length: {len(body)}", *lines, *more) + body)
            reply = b""
            while not reply.endswith(b"}\n"):
                reply += connection.recv(1 << 16)
            return reply

        for _ in range(3):
            assert b"1 + 2 = 3" in said(first)
            assert b"10 + 20 = 30" in said(second)
        assert b"-32020" in said(wrong, headers_of=first)  # the same head, another body
        assert b"1 + 2 = 3" in said(first)
        assert said(first, "Origin: http://evil.example").startswith(b"HTTP/1.1 403")


@pytest.mark.requirement("http:connections")
def test_request_in_pieces_of_any_size_is_one_request(port: int) -> None:
    message = modern_call("sum", {"a": 3, "b": 4})
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in modern_headers(message).items()]
    sent = head(port, f"Content-Length: {len(body)}", *lines) + body
    for size in (1, 7, 100):
        with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(0, len(sent), size):
                connection.sendall(sent[at : at + size])
            reply = b""
            while not reply.endswith(b"}\n"):
                reply += connection.recv(1 << 16)
        assert b"3 + 4 = 7" in reply


@pytest.mark.requirement("http:connections")
def test_chunked_body_is_taken_and_its_trailers_are_not(port: int) -> None:
    message = modern_call("sum", {"a": 3, "b": 4})
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in modern_headers(message).items()]
    chunks = b"".join(b"%x\r\n%b\r\n" % (1, body[at : at + 1]) for at in range(len(body)))
    trailer = b"0\r\nMcp-Name: other\r\nOrigin: http://evil.example\r\n\r\n"
    reply = raw(port, head(port, "Transfer-Encoding: chunked", "Connection: close", *lines) + chunks + trailer)
    assert b"3 + 4 = 7" in reply


@pytest.mark.requirement("http:connections")
def test_client_that_waits_to_be_told_to_go_on_is(port: int) -> None:
    message = modern_call("sum", {"a": 3, "b": 4})
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in modern_headers(message).items()]
    with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:
        connection.sendall(head(port, f"Content-Length: {len(body)}", "Expect: 100-continue", *lines))
        assert connection.recv(1 << 16) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert b"3 + 4 = 7" in connection.recv(1 << 16)


@pytest.mark.requirement("http:connections")
def test_client_of_http_1_0_gets_a_whole_answer_and_a_stream_without_chunks(port: int) -> None:
    message = modern_call("test_slow", {"ms": 20, "steps": 2}, 1, progressToken="p")
    for accept, expected in (("application/json", b'"Slept for 20 ms."'), ("*/*", b'event: message\ndata: {"jsonrpc"')):
        body = json.dumps(message).encode()
        lines = [f"{name}: {value}" for name, value in modern_headers(message).items()]
        sent = head(port, f"Content-Length: {len(body)}", f"Accept: {accept}", *lines).replace(b"HTTP/1.1", b"HTTP/1.0")
        reply = raw(port, sent + body)
        assert expected in reply
        assert b"connection: close" in reply
        assert b"chunked" not in reply


@pytest.mark.requirement("http:connections")
@pytest.mark.parametrize(
    "lines", [("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"), ("Connection: upgrade", "Upgrade: websocket")]
)
def test_upgrade_is_not_taken_and_the_request_is_answered(port: int, lines: tuple[str, ...]) -> None:
    with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:
        for _ in range(2):
            connection.sendall(head(port, *lines, method="GET", target="/healthz"))
            assert connection.recv(1 << 16).endswith(b"\r\n\r\nok\n")


@pytest.mark.requirement("http:connections")
def test_connection_that_is_to_be_closed_is(port: int) -> None:
    reply = raw(port, head(port, "Connection: close", method="GET", target="/healthz"))
    assert b"connection: close" in reply
    assert reply.endswith(b"ok\n")


@pytest.mark.requirement("http:connections")
def test_connection_beyond_the_bound_is_refused_and_there_is_room_again(serve: Serve) -> None:
    port = serve(connections=4).port
    held = [socket.create_connection(("127.0.0.1", port), BOUND_S) for _ in range(4)]
    for connection in held:  # each was taken when it is answered
        connection.sendall(head(port, method="GET", target="/healthz"))
        assert connection.recv(1 << 16).endswith(b"ok\n")
    assert status_of(raw(port, b"")) == 503
    for connection in held:
        connection.close()
    while get(port, "/healthz").status != 200:
        pass


# -- too slow


@pytest.mark.requirement("http:slow")
def test_headers_that_come_too_slowly_are_cut_off(serve: Serve) -> None:
    port = serve(head_s=0.2).port
    slow = [socket.create_connection(("127.0.0.1", port), BOUND_S) for _ in range(20)]
    for connection in slow[10:]:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nX-a: ")
    assert [until_closed(connection) for connection in slow] == [b""] * 20
    for connection in slow:
        connection.close()


@pytest.mark.requirement("http:slow")
def test_second_request_on_a_connection_must_be_as_quick(serve: Serve) -> None:
    port = serve(head_s=0.2).port
    with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:
        connection.sendall(head(port, method="GET", target="/healthz") + b"GET /healthz HT")
        assert until_closed(connection).endswith(b"ok\n")


@pytest.mark.requirement("http:slow")
def test_body_that_stays_away_is_a_timeout(serve: Serve) -> None:
    port = serve(body_s=0.2).port
    for sent in (head(port, "Content-Length: 50") + b"{", head(port, "Transfer-Encoding: chunked") + b"5\r\n{"):
        assert status_of(raw(port, sent)) == 408


@pytest.mark.requirement("http:slow")
def test_half_a_body_and_a_hang_up_is_no_request(port: int) -> None:
    message = modern_call("test_trigger_tool_change")
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in modern_headers(message).items()]
    assert raw(port, head(port, f"Content-Length: {len(body)}", *lines) + body[:-1], shut=True) == b""


@pytest.mark.requirement("http:slow")
def test_connection_without_a_request_is_closed_in_time(serve: Serve) -> None:
    port = serve(idle_s=0.2).port
    with socket.create_connection(("127.0.0.1", port), BOUND_S) as connection:
        connection.sendall(head(port, method="GET", target="/healthz"))
        assert until_closed(connection).endswith(b"ok\n")


@pytest.mark.requirement("http:slow")
def test_client_that_does_not_read_its_answer_is_let_go(serve: Serve) -> None:
    server = serve("conformance", "sum", stall_s=0.5)
    message = modern_call("sum", {"a": 3, "b": 4})
    message["id"] = "x" * (3 * MIB)  # which comes back
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in modern_headers(message).items()]
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(BOUND_S)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(head(server.port, f"Content-Length: {len(body)}", *lines) + body)
        hung_up = select.poll()
        hung_up.register(connection, select.POLLERR | select.POLLHUP)
        assert hung_up.poll(BOUND_S * 1000)
    assert ask(server.port, modern("server/discover")).status == 200


@pytest.mark.requirement("http:slow")
def test_stream_that_nobody_reads_is_closed_and_its_call_cancelled(serve: Serve) -> None:
    """Log messages are dropped for a client that does not read; once nothing was taken for long, it is gone."""
    server = serve(stall_s=0.5)
    message = modern_call("test_slow", {"ms": 60_000, "steps": 1000}, "x" * 100_000, progressToken="x" * 200_000)
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in modern_headers(message).items()]
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(head(server.port, f"Content-Length: {len(body)}", "Accept: */*", *lines) + body)
        counts = ""
        while not counts.endswith("cancelled 1"):
            counts = ask(server.port, modern_call("test_counts")).json()["result"]["content"][0]["text"]


@pytest.mark.requirement("http:slow")
def test_slow_reader_of_an_answer_gets_all_of_it(port: int) -> None:
    message = modern_call("sum", {"a": 3, "b": 4}, "x" * 100_000)
    reply = start(port, message, modern_headers(message))
    reply.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    assert reply.wait().json()["id"] == "x" * 100_000


# -- what is said of it


@pytest.mark.requirement("http:access-log")
def test_every_request_is_a_line_without_what_is_secret(serve: Serve) -> None:
    server = serve("conformance", environ={"LOG_LEVEL": "info"}, tokens=["secret-token-123456"])
    told = {"Authorization": "Bearer secret-token-123456"}
    session = open_session(server.port, headers=told)
    post(server.port, request("tools/call", {"name": "test_simple_text"}), session)
    get(server.port, "/mcp?token=secret-token-123456", {"Accept": "text/event-stream"})
    post(server.port, request("tools/list", id_="\x1b[31m"), session)
    post(server.port, modern("un\x1bknown\nmethod"), {**told, "MCP-Protocol-Version": MODERN})
    server.stop()
    server.wait(BOUND_S)
    lines = server.stderr().splitlines()
    assert [line.split()[1:6] for line in lines[:4]] == [
        ["127.0.0.1", "POST", "/mcp", "initialize", "200"],
        ["127.0.0.1", "POST", "/mcp", "notifications/initialized", "202"],
        ["127.0.0.1", "POST", "/mcp", "tools/call", "200"],
        ["127.0.0.1", "GET", "/mcp", "401", "132"],
    ]
    assert all(line.startswith("[Server] 127.0.0.1 ") for line in lines)
    assert "un\\x1bknown\\x0amethod" in lines[-1]
    for secret in ("secret-token", session["Mcp-Session-Id"], "\x1b"):
        assert secret not in server.stderr()


@pytest.mark.requirement("http:connections")
def test_stream_and_answer_carry_the_headers_that_they_should(port: int) -> None:
    session = open_session(port)
    stream = Events(port, "/mcp", session)
    stream.next()
    headers = stream.response.headers
    stream.close()
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    answer = ask(port, modern("server/discover"))
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["date"].endswith(" GMT")
    assert not {name for name in answer.headers if name.startswith(("access-control", "server", "mcp-"))}
