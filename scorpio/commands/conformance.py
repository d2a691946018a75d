"""`scorpio client conformance URL`: what the official client suite asks a client to do, by its scenario's name.

Internal. Source: @modelcontextprotocol/conformance, "Client Testing": the scenario is in MCP_CONFORMANCE_SCENARIO, its
data in MCP_CONFORMANCE_CONTEXT, the revision in MCP_CONFORMANCE_PROTOCOL_VERSION.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from scorpio.client.client import Client, Message, unknown_method
from scorpio.client.failures import LinkFailure, RpcFailure
from scorpio.client.http_link import HttpLink
from scorpio.commands import conformance_login

SAMPLES = {"string": "text", "number": 1.5, "integer": 2, "boolean": True, "array": [], "object": {}, "null": None}

SCHEMA_ECHO = "json_schema_echo"
"""Tool of one scenario that wants to see the schema of the other tool as the client got it."""


class Obliging:
    """Accepts every question with the defaults it names."""

    def __init__(self) -> None:
        self.capabilities: Message = {
            "roots": {"listChanged": False},
            "sampling": {},
            "elicitation": {"form": {"applyDefaults": True}, "url": {}},
        }

    async def answer(self, method: str, params: Message) -> Message:
        if method == "elicitation/create":
            schema = params.get("requestedSchema") or {}
            properties = schema.get("properties") or {}
            required = schema.get("required") or []
            content = {
                name: field.get("default", _sample(field))
                for name, field in properties.items()
                if "default" in field or name in required
            }
            return {"action": "accept", "content": content}
        if method == "sampling/createMessage":
            return {"role": "assistant", "model": "none", "content": {"type": "text", "text": "text"}}
        if method == "roots/list":
            return {"roots": []}
        raise unknown_method(method)


def run(words: Sequence[str]) -> int:
    """Exit status 1 where the server could not be talked to."""
    if not words:
        sys.stderr.write("scorpio: client conformance needs the URL of the suite's server\n")
        return 2
    try:
        asyncio.run(_scenario(words[-1]))
    except (LinkFailure, RpcFailure) as failure:
        sys.stderr.write(f"scorpio: {failure}\n")
        return 1
    return 0


async def _scenario(url: str) -> None:
    """Connect, list the tools, call what the context names, else every tool with sample arguments."""
    try:
        context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    except ValueError:
        context = {}
    link = HttpLink(url, login=conformance_login.login(url, context))
    client = Client(link, Obliging(), revision=os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") or "auto")
    try:
        await client.connect()
        tools = await client.all("tools/list", "tools")
        named = context.get("toolCalls") if type(context) is dict else None
        calls = named or [{"name": tool["name"], "arguments": _arguments(tool, tools)} for tool in tools]
        if os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("http-"):  # headers of the other methods too
            await _touch(client)
        await asyncio.gather(*(_called(client, call) for call in calls))
    finally:
        await client.close()


async def _called(client: Client, call: Message) -> None:
    """A tool that fails is the scenario's affair."""
    try:
        await client.request("tools/call", {"name": call["name"], "arguments": call.get("arguments") or {}})
    except RpcFailure:
        pass


async def _touch(client: Client) -> None:
    for listing, key, method, name in (
        ("prompts/list", "prompts", "prompts/get", "name"),
        ("resources/list", "resources", "resources/read", "uri"),
    ):
        try:
            for item in await client.all(listing, key):
                await client.request(method, {name: item[name]})
        except RpcFailure:
            continue


def _arguments(tool: Message, tools: list[Message]) -> Message:
    if tool["name"] == SCHEMA_ECHO:
        return {"schema": next((other.get("inputSchema") for other in tools if other is not tool), {})}
    schema = tool.get("inputSchema") or {}
    properties = schema.get("properties") or {}
    return {name: _sample(properties.get(name) or {}) for name in schema.get("required") or []}


def _sample(field: Message) -> Any:
    if "default" in field:
        return field["default"]
    if field.get("enum"):
        return field["enum"][0]
    kind = field.get("type")
    if kind in ("integer", "number") and "minimum" in field:
        return field["minimum"]
    return SAMPLES.get(kind if type(kind) is str else "string", "text")
