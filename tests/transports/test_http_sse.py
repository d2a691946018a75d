"""HTTP+SSE of 2024-11-05: one stream for all that the server says, a POST for each thing that the client says."""

# mypy: disable-error-code="no-any-return, arg-type, truthy-bool, var-annotated"
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.http_requests import Events, ask, call, get, modern_call, post, request

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.http_requests import Headers, Message
    from tests.in_process_http import InProcessHttp

    Serve = Callable[..., InProcessHttp]

TOKEN, OTHER = "one-token-0123456789", "another-token-9876543210"


@pytest.fixture
def port(serve: Serve) -> int:
    port: int = serve("conformance", "sum").port
    return port


class Client:
    """One stream, and where it says to post."""

    def __init__(self, port: int, headers: Headers | None = None, capabilities: Message | None = None) -> None:
        self.port = port
        self.headers = headers or {}
        self.stream = Events(port, "/sse", self.headers)
        endpoint = self.stream.next()
        assert endpoint["event"] == "endpoint"
        self.endpoint = endpoint["data"]
        self.send(
            request(
                "initialize",
                {"protocolVersion": "2024-11-05", "capabilities": capabilities or {}, "clientInfo": {"name": "t"}},
                "hello",
            )
        )
        assert self.stream.message()["result"]["protocolVersion"] == "2024-11-05"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: object) -> None:
        reply = post(self.port, message, self.headers, self.endpoint)
        assert (reply.status, reply.body) == (202, b""), reply.body

    def ask(self, message: Message) -> Message:
        self.send(message)
        return self.stream.message()


def counts(port: int) -> str:
    said: str = ask(port, modern_call("test_counts")).json()["result"]["content"][0]["text"]
    return said


@pytest.mark.requirement("sse")
def test_answers_and_notifications_come_on_the_stream(port: int) -> None:
    client = Client(port)
    assert client.ask(call("sum", {"a": 3, "b": 4}, "x"))["result"]["content"][0]["text"] == "3 + 4 = 7"
    assert client.ask(call("nope", None, "y"))["error"]["code"] == -32602
    client.send(request("resources/subscribe", {"uri": "test://watched-resource"}, "s"))
    assert client.stream.message()["id"] == "s"
    client.send(call("test_trigger_resource_change", {"uri": "test://watched-resource"}, "z"))
    assert client.stream.message()["method"] == "notifications/resources/updated"
    assert client.stream.message()["id"] == "z"
    client.send(call("test_slow", {"ms": 20, "steps": 2}, "p", progressToken="p"))
    assert [client.stream.message().get("method", "answer") for _ in range(3)] == [
        "notifications/progress",
        "notifications/progress",
        "answer",
    ]


@pytest.mark.requirement("sse")
def test_endpoint_has_the_name_that_the_seed_gives_it_too(port: int) -> None:
    client = Client(port)
    client.endpoint = client.endpoint.replace("/messages?", "/message?")
    assert client.ask(request("ping", id_="p")) == {"jsonrpc": "2.0", "id": "p", "result": {}}


@pytest.mark.requirement("sse")
def test_question_comes_on_the_stream_and_its_answer_as_a_post(port: int) -> None:
    client = Client(port, capabilities={"sampling": {}})
    question = client.ask(call("test_sampling", {"prompt": "?"}, "id"))
    assert question["method"] == "sampling/createMessage"
    said = {"role": "assistant", "content": {"type": "text", "text": "Paris."}, "model": "m"}
    assert client.ask({"jsonrpc": "2.0", "id": question["id"], "result": said})["id"] == "id"


@pytest.mark.requirement("sse")
def test_each_client_has_a_stream_of_its_own(port: int) -> None:
    one, other = Client(port), Client(port)
    assert one.endpoint != other.endpoint
    one.send(call("test_slow", {"ms": 60}, "same"))
    assert other.ask(call("test_slow", {"ms": 20}, "same"))["result"]["content"][0]["text"] == "Slept for 20 ms."
    assert one.stream.message()["result"]["content"][0]["text"] == "Slept for 60 ms."


@pytest.mark.requirement("sse:session")
def test_post_to_no_stream_or_to_one_that_has_ended_is_not_found(port: int) -> None:
    client = Client(port)
    base, _, id_ = client.endpoint.partition("=")
    for target in (
        "/messages",
        "/messages?sessionId=",
        f"{base}=x",
        f"{client.endpoint}x",
        f"/messages?sessionid={id_}",
    ):
        assert post(port, request("ping"), target=target).status == 404
    assert post(port, request("ping"), target=f"{client.endpoint}&sessionId={id_}").status == 404
    client.stream.close()
    while post(port, request("ping"), target=client.endpoint).status != 404:
        pass


@pytest.mark.requirement("sse:session")
def test_client_that_goes_away_takes_its_calls_with_it(port: int) -> None:
    client = Client(port)
    client.send(call("test_slow", {"ms": 60_000}, "slow"))
    while counts(port) == "started 0, finished 0, cancelled 0":
        pass
    client.stream.close()
    while counts(port) != "started 1, finished 0, cancelled 1":
        pass


@pytest.mark.requirement("sse:session")
def test_shutdown_ends_the_stream_and_not_the_server(port: int) -> None:
    client = Client(port)
    assert client.ask(request("shutdown", id_="bye"))["result"] is None
    assert client.stream.rest() == []
    assert client.stream.response.whole
    assert Client(port).ask(request("ping", id_="p"))["result"] == {}


@pytest.mark.requirement("http:isolation")
def test_stream_of_one_principal_takes_no_post_of_another(serve: Serve) -> None:
    port = serve(tokens=[TOKEN, OTHER]).port
    client = Client(port, {"Authorization": f"Bearer {TOKEN}"})
    stolen = post(port, request("ping"), {"Authorization": f"Bearer {OTHER}"}, client.endpoint)
    assert stolen.status == 404
    assert post(port, request("ping"), target=client.endpoint).status == 401


@pytest.mark.requirement("sse:broken")
def test_what_is_no_message_is_refused_where_somebody_hears_it(port: int) -> None:
    client = Client(port)
    for body, code in ((b"{", -32700), (b"1", -32600), (b"\xff", -32700)):
        reply = post(port, body, target=client.endpoint)
        assert (reply.status, reply.json()["error"]["code"]) == (400, code)
    refused = client.ask({"jsonrpc": "1.0", "id": "readable", "method": "ping"})
    assert (refused["id"], refused["error"]["code"]) == ("readable", -32600)
    client.send([request("ping")])
    assert client.stream.message()["error"]["code"] == -32600
    assert get(port, "/sse", {"Accept": "application/json"}).status == 406


@pytest.mark.requirement("sse:session")
def test_stream_ends_with_the_server(serve: Serve) -> None:
    server = serve()
    client = Client(server.port)
    server.stop()
    assert client.stream.rest() == []
    assert client.stream.response.whole


@pytest.mark.requirement("sse")
def test_other_toolsets_are_served_on_the_stream_each_client_with_its_own(serve: Serve) -> None:
    port = serve("everything", "schemas:s_").port
    one, other = Client(port), Client(port)
    spelled = b'{"z":1.0,"a":[18446744073709551617,"\\u00e9"]}'
    arguments = b'{"schema_id":"__schemaless__","payload":' + spelled + b"}"
    params = b'{"name":"s_echo","arguments":' + arguments + b"}"
    one.send(b'{"jsonrpc":"2.0","id":"e","method":"tools/call","params":' + params + b"}")
    one.stream._wait()
    assert spelled.replace(b'"', b'\\"').replace(b"\\u", b"\\\\u") in one.stream._held[0]
    assert one.stream.message()["id"] == "e"
    for client, answer in ((one, "3"), (other, "7")):
        sum_ = client.ask(call("get-sum", {"a": 1, "b": int(answer) - 1}, answer))
        assert answer in sum_["result"]["content"][0]["text"]
    uri = "demo://resource/dynamic/text/1"
    assert "result" in one.ask(request("resources/subscribe", {"uri": uri}, "s"))
    one.send(call("toggle-subscriber-updates", {}, "t"))
    heard = [one.stream.message(), one.stream.message()]
    assert {each.get("method", each.get("id")) for each in heard} == {"t", "notifications/resources/updated"}
    assert other.ask(call("echo", {"message": "quiet here"}, "q"))["id"] == "q"
    assert other.stream._held == []
