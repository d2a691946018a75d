"""How a conversation begins and ends, and what may be said when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.wire import LEGACY, META, MODERN, REVISIONS, never

if TYPE_CHECKING:
    from tests.wire import Connect, Message, Wire

IN_PROCESS = pytest.mark.transports("in-process")
"""For values that no transport looks at."""

INFO = {"name": "tests", "version": "1"}


def initialize(wire: Wire, version: object, **params: object) -> Message:
    asked = {"protocolVersion": version, "capabilities": {}, "clientInfo": INFO, **params}
    return wire.request("initialize", asked, revision=LEGACY[-1])


@IN_PROCESS
@pytest.mark.requirement("handshake:version")
@pytest.mark.revisions("2025-11-25")
@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        *((name, name) for name in LEGACY),
        (MODERN, "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("1.0", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
def test_known_session_revision_is_agreed_on_and_anything_else_gets_the_newest(
    connect: Connect, asked: str, agreed: str
) -> None:
    wire = connect(handshake=False)
    assert initialize(wire, asked)["result"]["protocolVersion"] == agreed


@pytest.mark.requirement("handshake:result")
@pytest.mark.revisions(*LEGACY)
def test_initialize_tells_who_serves_and_what_it_can(connect: Connect, revision: str) -> None:
    result = initialize(connect(handshake=False), revision)["result"]
    assert result["serverInfo"]["name"] == "scorpio"
    assert ("title" in result["serverInfo"]) == (revision in ("2025-06-18", "2025-11-25"))
    expected: dict[str, Any] = {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "logging": {},
        "completions": {},
    }
    if revision == "2024-11-05":
        del expected["completions"]
    if revision == "2025-11-25":
        expected["extensions"] = {"io.modelcontextprotocol/skills": {"directoryRead": True}}
        expected["tasks"] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    assert result["capabilities"] == expected
    assert result["instructions"]


@IN_PROCESS
@pytest.mark.requirement("handshake:bad-params")
@pytest.mark.revisions("2025-11-25")
@pytest.mark.parametrize(
    "change", [{"protocolVersion": None}, {"protocolVersion": 2}, {"capabilities": []}, {"clientInfo": "me"}]
)
def test_initialize_of_the_wrong_shape_is_invalid_params_and_may_be_repeated(connect: Connect, change: Message) -> None:
    wire = connect(handshake=False)
    asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO, **change}
    assert wire.error("initialize", asked)["code"] == -32602
    assert wire.error("tools/list")["code"] == -32002
    wire.open()
    assert wire.result("tools/list")["tools"]


@IN_PROCESS
@pytest.mark.requirement("handshake:before")
@pytest.mark.revisions(*LEGACY)
@pytest.mark.parametrize(
    "method",
    [
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "completion/complete",
        "logging/setLevel",
        "shutdown",
    ],
)
def test_request_before_initialize_is_refused_and_the_connection_stays_usable(connect: Connect, method: str) -> None:
    wire = connect(handshake=False)
    assert wire.error(method) == {"code": -32002, "message": "Server not initialized"}
    wire.open()
    assert wire.result("tools/list")["tools"]


@pytest.mark.requirement("handshake:before")
@pytest.mark.revisions(*LEGACY)
@pytest.mark.not_over("http")  # needs a session there: see tests/transports/test_http_sessions.py
def test_ping_is_answered_before_and_after_initialize(connect: Connect) -> None:
    wire = connect(handshake=False)
    assert wire.result("ping") == {}
    wire.open()
    assert wire.result("ping") == {}


@pytest.mark.requirement("handshake:without-initialized")
@pytest.mark.revisions(*LEGACY)
def test_request_after_initialize_and_before_initialized_is_served(connect: Connect) -> None:
    wire = connect(handshake=False)
    initialize(wire, wire.revision)
    assert wire.text("test_simple_text")


@pytest.mark.requirement("handshake:again")
@pytest.mark.revisions(*LEGACY)
def test_second_initialize_is_answered_and_the_session_goes_on(connect: Connect) -> None:
    wire = connect()
    wire.result("logging/setLevel", {"level": "emergency"})
    wire.result("resources/subscribe", {"uri": "test://watched-resource"})
    assert initialize(wire, "2025-06-18")["result"]["protocolVersion"] == "2025-06-18"
    assert wire.call("test_structured_content", {"value": 1})["structuredContent"] == {"value": 1, "doubled": 2}
    wire.call("test_trigger_resource_change", {"uri": "test://watched-resource"})
    wire.call("test_logging_tool")
    assert [m["method"] for m in wire.notifications] == ["notifications/resources/updated", "notifications/message"]


@pytest.mark.requirement("handshake:roots")
@pytest.mark.revisions(*LEGACY)
def test_client_with_roots_is_asked_for_them_once_it_is_ready_and_when_they_change(connect: Connect) -> None:
    wire = connect(handshake=False, capabilities={"roots": {"listChanged": True}})
    wire.open()
    wire.settle()
    assert [q["method"] for q in wire.questions] == ["roots/list"]
    wire.notify("notifications/roots/list_changed")
    wire.settle()
    assert [q["method"] for q in wire.questions] == ["roots/list", "roots/list"]


@pytest.mark.requirement("roots:working-directory")
@pytest.mark.revisions(*LEGACY)
def test_commands_start_in_the_first_root_unless_configuration_says_otherwise(
    connect: Connect, environ: dict[str, str], transport: str
) -> None:
    if transport in ("in-process", "http"):
        pytest.skip("the environment is this process's own")
    environ["CLAUDE_PROJECT_DIR"] = "/usr/share"
    wire = connect(capabilities={"roots": {}})
    useless = ("https://x/y", "file://[half/usr", "file:///usr%00", "file://elsewhere/usr")
    roots = [{"uri": uri} for uri in (*useless, "file:///usr/l%69b")]
    wire.answers["roots/list"] = lambda params: {"roots": roots}
    wire.notify("notifications/roots/list_changed")
    assert wire.text("test_working_directory") == "/usr/lib"
    wire.answers["roots/list"] = lambda params: {"roots": []}
    wire.notify("notifications/roots/list_changed")
    assert wire.text("test_working_directory") == "/usr/share"
    environ["SCORPIO_CWD"] = "/usr"
    told = connect(capabilities={"roots": {}})
    told.answers["roots/list"] = lambda params: {"roots": [{"uri": "file:///usr/lib"}]}
    assert told.text("test_working_directory") == "/usr"


@pytest.mark.requirement("roots:working-directory")
@pytest.mark.revisions("2025-11-25")
@pytest.mark.transports("stdio")
def test_client_that_never_tells_its_roots_holds_no_command(connect: Connect, environ: dict[str, str]) -> None:
    environ["CLAUDE_PROJECT_DIR"] = "/usr/share"
    wire = connect(handshake=False, capabilities={"roots": {}})
    wire.answers["roots/list"] = never
    wire.open()
    assert wire.text("test_working_directory") == "/usr/share"
    wire.close()
    assert [q["method"] for q in wire.questions] == ["roots/list"]


@pytest.mark.requirement("discover")
@pytest.mark.revisions(MODERN)
def test_discover_tells_every_revision_and_what_it_can(connect: Connect) -> None:
    result = connect(handshake=False).result("server/discover")
    assert result["supportedVersions"] == sorted(REVISIONS, reverse=True)
    assert set(result["capabilities"]) == {"tools", "prompts", "resources", "logging", "completions", "extensions"}
    skills = {"io.modelcontextprotocol/skills": {"directoryRead": True}}
    assert result["capabilities"]["extensions"] == {"io.modelcontextprotocol/tasks": {}, **skills}
    assert result["_meta"][META + "serverInfo"]["name"] == "scorpio"
    assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
    assert result["ttlMs"] > 0


@IN_PROCESS
@pytest.mark.requirement("meta:version")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize("version", ["v999.0.0", "2099-01-01", "2025-11-25", ""])
def test_unknown_version_is_refused_with_those_that_are_known(connect: Connect, version: str) -> None:
    wire = connect()
    error = wire.error("tools/list", meta={META + "protocolVersion": version})
    assert error["code"] == -32022
    assert error["data"] == {"supported": sorted(REVISIONS, reverse=True), "requested": version}


@IN_PROCESS
@pytest.mark.requirement("meta:required")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize(
    "meta",
    [
        {META + "protocolVersion": MODERN},
        {META + "protocolVersion": MODERN, META + "clientCapabilities": []},
        {META + "protocolVersion": MODERN, META + "clientCapabilities": None},
        {META + "protocolVersion": 20260728, META + "clientCapabilities": {}},
        {META + "protocolVersion": None, META + "clientCapabilities": {}},
        {META + "protocolVersion": MODERN, META + "clientCapabilities": {}, META + "clientInfo": "me"},
    ],
)
def test_meta_that_lacks_or_breaks_a_field_is_invalid_params(connect: Connect, meta: Message) -> None:
    wire = connect()
    assert wire.error("tools/list", {"_meta": meta}, bare=True)["code"] == -32602


@IN_PROCESS
@pytest.mark.requirement("meta:required")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
@pytest.mark.parametrize("meta", [None, {}, {META + "clientCapabilities": {}}, {META + "clientInfo": INFO}])
def test_modern_method_without_a_version_is_invalid_params(connect: Connect, method: str, meta: Message | None) -> None:
    wire = connect(handshake=False)
    params = {} if meta is None else {"_meta": meta}
    assert wire.error(method, params, bare=True)["code"] == -32602


@pytest.mark.requirement("meta:client-info-optional")
@pytest.mark.revisions(MODERN)
def test_request_that_does_not_say_who_asks_is_served(connect: Connect) -> None:
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    assert connect(handshake=False).result("tools/list", {"_meta": meta}, bare=True)["tools"]


@IN_PROCESS
@pytest.mark.requirement("meta:server-info")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "test_simple_text"}),
        ("tools/call", {"name": "test_slow", "arguments": {"ms": 0}}),
        ("prompts/get", {"name": "test_simple_prompt"}),
        ("resources/read", {"uri": "test://static-text"}),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
                "argument": {"name": "arg1", "value": ""},
            },
        ),
    ],
)
def test_every_modern_result_has_its_type_and_who_gave_it(connect: Connect, method: str, params: Message) -> None:
    result = connect(handshake=False).result(method, params)
    assert result["resultType"] == "complete"
    assert result["_meta"][META + "serverInfo"]["version"]


@pytest.mark.requirement("eras:interleaved")
@pytest.mark.revisions(*LEGACY)
def test_both_eras_are_served_on_one_connection_in_any_order(connect: Connect, revision: str) -> None:
    wire = connect(handshake=False)
    assert wire.result("server/discover", revision=MODERN)["supportedVersions"]
    assert wire.error("tools/list")["code"] == -32002
    assert wire.result("tools/list", revision=MODERN)["resultType"] == "complete"
    assert wire.open()["protocolVersion"] == revision
    assert "resultType" not in wire.result("tools/list")
    assert wire.result("tools/list", revision=MODERN)["resultType"] == "complete"
    assert wire.error("ping", revision=MODERN)["code"] == -32601
    assert wire.result("ping") == {}


@pytest.mark.requirement("eras:interleaved")
@pytest.mark.revisions("2025-11-25")
def test_modern_request_in_a_session_is_refused_what_only_the_session_declared(connect: Connect) -> None:
    wire = connect(capabilities={"sampling": {}})
    wire.answers["sampling/createMessage"] = lambda params: {
        "role": "assistant",
        "content": {"type": "text", "text": "yes"},
        "model": "m",
    }
    assert wire.text("test_missing_capability") == "The client can sample: yes"
    wire.capabilities = {}
    error = wire.error("tools/call", {"name": "test_missing_capability"}, revision=MODERN)
    assert error["code"] == -32021


@IN_PROCESS
@pytest.mark.requirement("methods:unknown")
@pytest.mark.parametrize("method", ["unknown", "tools", "tools/List", "", "rpc.discover", "x" * 10_000])
def test_unknown_method_is_not_found(connect: Connect, method: str) -> None:
    assert connect().error(method)["code"] == -32601


@pytest.mark.requirement("notifications:unknown")
@pytest.mark.parametrize("params", [None, {}, [], "x", 7])
@pytest.mark.not_over("http")  # needs a session there: see tests/transports/test_http_sessions.py
def test_unknown_notification_is_silent_before_and_after_the_handshake(connect: Connect, params: Any) -> None:
    wire = connect(handshake=False)
    wire.send({"jsonrpc": "2.0", "method": "notifications/unknown", "params": params})
    wire.send({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "test_unexpected_exception"}})
    wire.open()
    wire.send({"jsonrpc": "2.0", "method": "unknown/without/id", "params": params})
    wire.settle()
    assert len(wire.received) == 2


@pytest.mark.requirement("responses:unknown")
@pytest.mark.not_over("http", MODERN)  # where a client has nothing to answer
def test_response_to_nothing_is_silent(connect: Connect) -> None:
    wire = connect()
    ids: list[Any] = ["scorpio-1", 1, None, 1.5, [], {}]
    for id_ in ids:
        wire.send({"jsonrpc": "2.0", "id": id_, "result": {}})
        wire.send({"jsonrpc": "2.0", "id": id_, "error": {"code": 1, "message": "x"}})
    before = len(wire.received)
    wire.settle()
    assert len(wire.received) == before + 1


@IN_PROCESS
@pytest.mark.requirement("params:object")
@pytest.mark.parametrize("params", [[], [1], "x", 7, True])
def test_params_that_are_no_object_are_invalid_params_with_the_id(connect: Connect, params: object) -> None:
    wire = connect()
    wire.send({"jsonrpc": "2.0", "id": 501, "method": "tools/list", "params": params})
    assert wire.answer(501)["error"]["code"] == -32602


@pytest.mark.requirement("end:shutdown")
@pytest.mark.revisions(*LEGACY)
@pytest.mark.not_over("http")  # ends the session there: see tests/transports/test_http_sessions.py
def test_shutdown_answers_null_and_the_server_goes(connect: Connect) -> None:
    wire = connect()
    assert wire.request("shutdown")["result"] is None
    assert wire.wait_for_exit() == 0


@pytest.mark.requirement("end:exit")
@pytest.mark.not_over("http")  # ends the session there: see tests/transports/test_http_sessions.py
def test_exit_notification_ends_the_server(connect: Connect) -> None:
    wire = connect()
    wire.notify("exit")
    assert wire.wait_for_exit() == 0
