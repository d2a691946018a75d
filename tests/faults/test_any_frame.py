"""Any frame is answered with lines of valid JSON, or with silence, and the next one is served."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.log import Log
from scorpio.server.lanes import ThreadLane
from scorpio.server.peer import Peer
from scorpio.server.server import Server
from scorpio.settings import load
from scorpio.state.home import Home
from scorpio.toolset import Features, chosen
from tests.protocol.json_values import CODE_POINTS, values
from tests.wire import strict

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = (
    "initialize",
    "ping",
    "shutdown",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "exit",
    "resources/templates/list",
    "completion/complete",
    "logging/setLevel",
    "server/discover",
    "notifications/cancelled",
    "sum",
)
PREFIX = "io.modelcontextprotocol/"
VERSIONS = st.sampled_from(["2024-11-05", "2025-03-26", "2025-11-25", "2026-07-28", "1900-01-01"])

JUNK = values(CODE_POINTS, st.integers())
OF_THE_MODERN_ERA = st.fixed_dictionaries(
    {PREFIX + "protocolVersion": VERSIONS},
    optional={PREFIX + "clientCapabilities": st.one_of(st.just({}), JUNK), "progressToken": JUNK},
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "_meta": st.one_of(JUNK, OF_THE_MODERN_ERA),
        "name": st.one_of(st.just("sum"), JUNK),
        "arguments": st.one_of(JUNK, st.fixed_dictionaries({"a": JUNK, "b": JUNK})),
        "protocolVersion": st.one_of(VERSIONS, JUNK),
        "capabilities": st.one_of(st.just({}), JUNK),
        "cursor": JUNK,
        "uri": JUNK,
        "level": JUNK,
        "ref": JUNK,
        "argument": JUNK,
        "requestId": JUNK,
        "requestState": JUNK,
        "inputResponses": JUNK,
    },
)
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS)},
    optional={"id": st.one_of(st.integers(), CODE_POINTS, JUNK), "params": st.one_of(PARAMS, JUNK)},
)
FRAMES = st.one_of(
    st.binary(max_size=60),
    st.one_of(MESSAGES, JUNK, st.lists(MESSAGES, max_size=3)).map(lambda value: json.dumps(value).encode()),
)


@pytest.fixture(scope="module")
def make_server(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], tuple[Server, Peer, list[bytes]]]:
    root = str(tmp_path_factory.mktemp("home"))
    features = Features(chosen(["sum"]))
    log = Log("emergency")

    def make() -> tuple[Server, Peer, list[bytes]]:
        written: list[bytes] = []
        server = Server(features, load({}, root), Home(root), ThreadLane(), log)
        peer = Peer(written.append, "tests")
        server.open_peer(peer)
        return server, peer, written

    return make


@pytest.mark.parametrize("warm", [False, True], ids=["first message", "later"])
@given(st.lists(FRAMES, max_size=4))
def test_any_frames_are_answered_in_valid_json(
    make_server: Callable[[], tuple[Server, Peer, list[bytes]]], warm: bool, frames: list[bytes]
) -> None:
    server, peer, written = make_server()
    if warm:
        server.warm()
    for frame in frames:
        answer = server.receive(frame, peer)
        if answer is not None:
            written.append(answer)
    for line in b"".join(written).splitlines(keepends=True):
        for message in _messages(strict(line)):
            assert message["jsonrpc"] == "2.0"
            assert "internal error" not in json.dumps(message).lower()
    answer = server.receive(b'{"jsonrpc":"2.0","id":"last","method":"ping"}', peer)
    assert answer == b'{"jsonrpc":"2.0","id":"last","result":{}}\n'


def _messages(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("warm", [False, True], ids=["first message", "later"])
@given(st.one_of(st.integers(), CODE_POINTS.filter(str.isprintable)), st.sampled_from(METHODS), PARAMS)
def test_every_request_whose_id_can_be_read_is_answered_with_it(
    make_server: Callable[[], tuple[Server, Peer, list[bytes]]],
    warm: bool,
    id_: int | str,
    method: str,
    params: dict[str, Any],
) -> None:
    server, peer, _ = make_server()
    if warm:
        server.warm()
    frame = json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()
    answer = server.receive(frame, peer)
    assert answer is not None
    echoed = strict(answer)["id"]
    assert (type(echoed), echoed) == (type(id_), id_)
