"""Who may come in over HTTP: Host, Origin, tokens, and what belongs to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.http_requests import ask, get, modern, modern_call, open_session, post, raw, request, send, status_of
from tests.judge import META

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.in_process_http import InProcessHttp

    Serve = Callable[..., InProcessHttp]

TOKEN = "one-token-0123456789"
OTHER = "another-token-9876543210"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.requirement("http:host")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_names_of_this_machine_are_answered(serve: Serve, host: str) -> None:
    port = serve().port
    assert ask(port, modern("server/discover"), {"Host": f"{host}:{port}"}).status == 200


@pytest.mark.requirement("http:host")
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "localhost.evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "x y"],
)
def test_any_other_host_is_misdirected(serve: Serve, host: str) -> None:
    port = serve().port
    reply = raw(port, f"GET /healthz HTTP/1.1\r\nHost: {host.format(port=port)}\r\n\r\n".encode())
    assert status_of(reply) in (400, 421)
    assert b"ok\n" not in reply


@pytest.mark.requirement("http:host")
@pytest.mark.parametrize(
    "head",
    [
        "GET /healthz HTTP/1.1",
        "GET /healthz HTTP/1.0",
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: 127.0.0.1:{port}",
        "GET http://127.0.0.1:{port}/healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}",
        "GET http://evil.example/healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}",
        "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:{port}",
    ],
    ids=["none", "none, HTTP/1.0", "two", "absolute", "absolute and foreign", "asterisk"],
)
def test_request_without_one_clear_host_is_refused(serve: Serve, head: str) -> None:
    port = serve().port
    reply = raw(port, head.format(port=port).encode() + b"\r\n\r\n")
    assert status_of(reply) == 400
    assert b"ok\n" not in reply


@pytest.mark.requirement("http:host")
def test_host_that_was_allowed_is_answered(serve: Serve) -> None:
    port = serve(hosts=["Tools.example:8443"]).port
    assert get(port, "/healthz", {"Host": "tools.example:8443"}).body == b"ok\n"
    assert get(port, "/healthz", {"Host": "tools.example"}).status == 421


@pytest.mark.requirement("http:host")
@pytest.mark.parametrize(
    ("host", "status"), [("192.0.2.7:{port}", 200), ("[2001:db8::1]:{port}", 200), ("a.example:{port}", 421)]
)
def test_server_on_every_address_answers_for_addresses_but_not_for_names(serve: Serve, host: str, status: int) -> None:
    port = serve(host="0.0.0.0", tokens=[TOKEN]).port
    assert get(port, "/healthz", {"Host": host.format(port=port)}).status == status


@pytest.mark.requirement("http:origin")
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://127.0.0.1:1",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:{port}.evil.example",
        "http://127.0.0.1:{port}/",
        "file://",
        "http://",
    ],
)
def test_foreign_origin_is_forbidden_and_told_nothing(serve: Serve, origin: str) -> None:
    port = serve().port
    told = {"Origin": origin.format(port=port)}
    for reply in (
        ask(port, modern("server/discover"), told),
        get(port, "/healthz", told),
        send(port, "OPTIONS", "/mcp", {**told, "Access-Control-Request-Method": "POST"}).wait(),
    ):
        assert reply.status == 403
        assert not [name for name in reply.headers if name.startswith("access-control")]
        assert b"scorpio" not in reply.body


@pytest.mark.requirement("http:origin")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_page_of_this_server_may_connect(serve: Serve, host: str) -> None:
    port = serve().port
    assert ask(port, modern("server/discover"), {"Origin": f"http://{host}:{port}"}).status == 200


@pytest.mark.requirement("http:origin")
def test_page_of_an_allowed_origin_may_connect_and_its_browser_is_told_so(serve: Serve) -> None:
    port = serve(origins=["https://app.example"], tokens=[TOKEN]).port
    told = {"Origin": "https://app.example"}
    asks = {**told, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    preflight = send(port, "OPTIONS", "/mcp", asks).wait()
    assert preflight.status == 204
    assert preflight.headers["access-control-allow-origin"] == "https://app.example"
    assert "mcp-session-id" in preflight.headers["access-control-allow-headers"]
    answer = ask(port, modern("server/discover"), {**told, **bearer(TOKEN)})
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert answer.headers["vary"] == "origin"
    assert ask(port, modern("server/discover"), {"Origin": "https://app.example.evil", **bearer(TOKEN)}).status == 403


@pytest.mark.requirement("http:token")
@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer  x {TOKEN}",
        "Bearer ž",
    ],
)
def test_request_without_the_token_is_unauthorized_and_told_nothing(serve: Serve, authorization: str) -> None:
    port = serve(tokens=[TOKEN]).port
    head = f"GET /{{}} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n"
    given = f"Authorization: {authorization}\r\n" if authorization else ""
    for path in ("mcp", "sse", "metrics", "nothing", f"mcp?token={TOKEN}", f"mcp?access_token={TOKEN}"):
        reply = raw(port, (head.format(path) + given + "\r\n").encode())
        assert status_of(reply) == 401
        assert b'www-authenticate: Bearer realm="scorpio"' in reply


@pytest.mark.requirement("http:token")
def test_token_comes_in_any_case_of_its_scheme_and_health_needs_none(serve: Serve) -> None:
    port = serve(tokens=[TOKEN, OTHER]).port
    for value in (f"Bearer {TOKEN}", f"bearer {OTHER}", f"BEARER   {TOKEN}"):
        assert ask(port, modern("server/discover"), {"Authorization": value}).status == 200
    assert get(port, "/healthz").body == b"ok\n"


@pytest.mark.requirement("http:token")
def test_two_tokens_in_one_request_are_none(serve: Serve) -> None:
    port = serve(tokens=[TOKEN]).port
    head = (
        f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\nAuthorization: Bearer x\r\n"
    )
    assert status_of(raw(port, (head + "\r\n").encode())) == 401


@pytest.mark.requirement("http:isolation")
def test_session_of_one_principal_is_unknown_to_another(serve: Serve) -> None:
    port = serve(tokens=[TOKEN, OTHER]).port
    session = open_session(port, headers=bearer(TOKEN))
    stolen = {**session, **bearer(OTHER)}
    assert post(port, request("tools/list"), session).status == 200
    assert post(port, request("tools/list"), stolen).status == 404
    assert get(port, "/mcp", {**stolen, "Accept": "text/event-stream"}).status == 404
    assert send(port, "DELETE", "/mcp", stolen).wait().status == 404
    assert post(port, request("tools/list"), session).status == 200


@pytest.mark.requirement("http:isolation")
def test_state_of_one_principals_question_is_refused_from_another(serve: Serve) -> None:
    port = serve(tokens=[TOKEN, OTHER]).port
    able: dict[str, Any] = {META + "clientCapabilities": {"elicitation": {}}}
    asked = ask(port, modern_call("test_input_required_result_elicitation", **able), bearer(TOKEN)).json()["result"]
    again = modern_call("test_input_required_result_elicitation", **able)
    again["params"] |= {
        "requestState": asked["requestState"],
        "inputResponses": {key: {"action": "accept", "content": {"name": "Ada"}} for key in asked["inputRequests"]},
    }
    refused = ask(port, again, bearer(OTHER))
    assert (refused.status, refused.json()["error"]["code"]) == (400, -32602)
    assert ask(port, again, bearer(TOKEN)).json()["result"]["content"][0]["text"] == "Hello, Ada!"
