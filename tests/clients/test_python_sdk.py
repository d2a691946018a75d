"""The official Python client over each of its transports, in each way it can choose a revision."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.links import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from mcp.client.context import ClientRequestContext

    from tests.http_link import HttpProcess

    Connect = Callable[..., AbstractAsyncContextManager[Client]]

MODES = ("auto", "legacy", "2026-07-28")
CHOSEN = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
BOUND_S = 60.0

WAYS = [("source", "stdio"), ("frozen", "stdio"), ("frozen", "http"), ("frozen", "sse")]

pytestmark = [
    pytest.mark.parametrize("mode", MODES),
    pytest.mark.parametrize(("build", "way"), WAYS),
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


@pytest.fixture
def connect(over_stdio: Connect, over_http: Connect, way: str) -> Connect:
    """`connect("sum", sampling_callback=…)`: a client in this test's mode, on a server of its own."""
    return over_stdio if way == "stdio" else over_http


@pytest.fixture
def over_http(start_http: Callable[..., HttpProcess], environ: dict[str, str], mode: str, way: str) -> Connect:
    """Nothing goes wrong on the server, and it ends with 0 when it is told to."""

    @asynccontextmanager
    async def connect(*toolsets: str, **options: Any) -> AsyncIterator[Client]:
        server = start_http(*toolsets, environ={**environ, "LOG_LEVEL": "error"})
        url = f"http://127.0.0.1:{server.port}"
        transport = sse_client(f"{url}/sse") if way == "sse" else streamable_http_client(f"{url}/mcp")
        async with Client(transport, mode=mode, read_timeout_seconds=BOUND_S, **options) as client:
            assert client.protocol_version == CHOSEN[mode]
            yield client
        server.stop()
        assert await asyncio.to_thread(server.wait, BOUND_S) == 0
        assert server.stderr().count("\n") == 1, server.stderr()

    return connect


@pytest.fixture
def over_stdio(command: Callable[..., list[str]], environ: dict[str, str], tmp_path: Path, mode: str) -> Connect:
    """The server must end by itself, with 0."""

    @asynccontextmanager
    async def connect(*toolsets: str, **options: Any) -> AsyncIterator[Client]:
        status = tmp_path / "status"
        told = ["sh", "-c", '"$@"; echo $? > "$0"', str(status), *command(*toolsets)]
        server = StdioServerParameters(command=told[0], args=told[1:], env=environ, cwd=ROOT)
        with (tmp_path / "stderr").open("w+") as errlog:
            async with Client(
                stdio_client(server, errlog), mode=mode, read_timeout_seconds=BOUND_S, **options
            ) as client:
                assert client.protocol_version == CHOSEN[mode]
                yield client
            errlog.seek(0)
            assert errlog.read() == ""
        assert status.read_text() == "0\n"

    return connect


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(BOUND_S):
            await work()

    asyncio.run(bounded())


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def test_tools_are_listed_and_called(connect: Connect) -> None:
    async def work() -> None:
        async with connect("sum") as client:
            assert client.server_info is None or client.server_info.name == "scorpio"
            assert [tool.name for tool in (await client.list_tools()).tools] == ["sum"]
            assert text_of(await client.call_tool("sum", {"a": 3, "b": 4})) == "3 + 4 = 7"
            assert (await client.call_tool("sum", {"a": 3})).is_error
            with pytest.raises(MCPError, match="Unknown tool: nope"):
                await client.call_tool("nope")

    run(work)


def test_every_tool_of_the_conformance_toolset_is_described_in_the_clients_own_terms(connect: Connect) -> None:
    async def work() -> None:
        async with connect("conformance") as client:
            tools = (await client.list_tools()).tools
            assert {"test_simple_text", "test_slow", "test_structured_content"} <= {tool.name for tool in tools}
            structured = await client.call_tool("test_structured_content", {"city": "Paris"})
            assert structured.is_error or structured.structured_content is not None
            for name in ("test_image_content", "test_audio_content", "test_embedded_resource", "test_resource_link"):
                assert not (await client.call_tool(name)).is_error

    run(work)


def test_prompts_and_their_completions_are_served(connect: Connect) -> None:
    async def work() -> None:
        async with connect("conformance") as client:
            assert "test_prompt_with_arguments" in {prompt.name for prompt in (await client.list_prompts()).prompts}
            prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
            content = prompt.messages[0].content
            assert isinstance(content, types.TextContent)
            assert content.text == "Prompt with arguments: arg1='a', arg2='b'"
            reference = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
            completed = await client.complete(reference, {"name": "arg1", "value": "par"})
            assert completed.completion.values == ["paris", "park", "party"]

    run(work)


def test_resources_and_templates_are_served(connect: Connect) -> None:
    async def work() -> None:
        async with connect("conformance") as client:
            uris = {str(resource.uri) for resource in (await client.list_resources()).resources}
            assert {"test://static-text", "test://static-binary"} <= uris
            templates = (await client.list_resource_templates()).resource_templates
            assert "test://template/{id}/data" in {template.uri_template for template in templates}
            [contents] = (await client.read_resource("test://template/123/data")).contents
            assert isinstance(contents, types.TextResourceContents)
            assert "123" in contents.text
            with pytest.raises(MCPError) as missing:
                await client.read_resource("test://nothing")
            assert missing.value.code == (-32002 if client.protocol_version == "2025-11-25" else -32602)

    run(work)


def test_progress_arrives_in_order_and_before_the_answer(connect: Connect) -> None:
    async def work() -> None:
        seen: list[tuple[float, float | None]] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            seen.append((progress, total))

        async with connect("conformance") as client:
            await client.call_tool("test_tool_with_progress", progress_callback=on_progress)
            assert seen == [(0, 100), (50, 100), (100, 100)]

    run(work)


def test_log_messages_arrive_at_the_level_that_was_asked_for(connect: Connect, mode: str) -> None:
    async def work() -> None:
        seen: list[str] = []

        async def log(params: types.LoggingMessageNotificationParams) -> None:
            seen.append(params.level)

        async with connect("conformance", logging_callback=log, log_level="error") as client:
            if mode == "legacy":
                await client.set_logging_level("error")
            await client.call_tool("test_logging_tool")
            await client.call_tool("test_slow", {"ms": 1})  # what was written before its answer has arrived
            assert seen == ["error", "critical", "alert", "emergency"]

    run(work)


async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada", "username": "ada", "email": "ada@example.com"})


async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    said = types.TextContent(type="text", text="Paris.")
    return types.CreateMessageResult(role="assistant", content=said, model="test")


async def list_roots(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///project"}]})


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("test_elicitation", {"message": "Who?"}, "ada@example.com"),
        ("test_sampling", {"prompt": "The capital of France?"}, "LLM response: Paris."),
        ("test_input_required_result_elicitation", {}, "Hello, Ada!"),
        ("test_input_required_result_list_roots", {}, "Roots: file:///project"),
        ("test_input_required_result_multiple_inputs", {}, "Ada: Paris. Roots: file:///project"),
    ],
)
def test_questions_are_answered_by_the_clients_callbacks(
    connect: Connect, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async def work() -> None:
        callbacks: dict[str, Any] = {
            "elicitation_callback": elicit,
            "sampling_callback": sample,
            "list_roots_callback": list_roots,
        }
        async with connect("conformance", **callbacks) as client:
            assert said in text_of(await client.call_tool(tool, arguments))

    run(work)


def test_a_client_without_the_callback_is_told_so(connect: Connect, mode: str) -> None:
    async def work() -> None:
        async with connect("conformance") as client:
            if mode == "legacy":
                assert (await client.call_tool("test_sampling", {"prompt": "?"})).is_error
                return
            with pytest.raises(MCPError) as refused:
                await client.call_tool("test_sampling", {"prompt": "?"})
            assert refused.value.code == -32021

    run(work)


def test_a_cancelled_call_is_cancelled_on_the_server_and_the_session_goes_on(connect: Connect) -> None:
    async def work() -> None:
        async with connect("conformance") as client:
            with anyio.CancelScope() as scope:

                async def on_progress(progress: float, total: float | None, message: str | None) -> None:
                    scope.cancel()

                slow = {"ms": 60_000, "steps": 1000}
                await client.call_tool("test_slow", slow, progress_callback=on_progress)
            assert scope.cancelled_caught
            said = ""
            while not said.endswith("cancelled 1"):
                said = text_of(await client.call_tool("test_counts"))
            assert said == "started 1, finished 0, cancelled 1"

    run(work)


def test_changes_are_told_to_who_listens(connect: Connect, mode: str) -> None:
    async def work() -> None:
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def message(message: Any) -> None:
            if isinstance(message, types.ResourceUpdatedNotification):
                await heard.put(str(message.params.uri))

        uri = "test://watched-resource"
        async with connect("conformance", message_handler=message) as client:
            if mode == "legacy":
                await client.subscribe_resource(uri)
                await client.call_tool("test_trigger_resource_change", {"uri": uri})
                assert await heard.get() == uri
                return
            async with client.listen(resource_subscriptions=[uri]) as subscription:
                await client.call_tool("test_trigger_resource_change", {"uri": uri})
                async for event in subscription:
                    assert getattr(event, "uri", None) == uri
                    break

    run(work)


def test_many_calls_at_once_are_each_answered(connect: Connect) -> None:
    async def work() -> None:
        async with connect("conformance", "sum") as client:
            answers: dict[int, str] = {}

            async def add(number: int) -> None:
                answers[number] = text_of(await client.call_tool("sum", {"a": number, "b": 1}))

            async with anyio.create_task_group() as tasks:
                for number in range(100):
                    tasks.start_soon(add, number)
            assert answers == {number: f"{number} + 1 = {number + 1}" for number in range(100)}

    run(work)
