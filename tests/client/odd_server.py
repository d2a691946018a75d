"""An MCP server on stdio that answers in a way the protocol does not know: `python odd_server.py KIND`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]

DEEP = 90_000
"""Brackets in each other: more than a parser that calls itself can follow."""

USUAL: Message = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "odd", "version": "1"}},
    "tools/list": {"tools": [{"name": "x", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
    "prompts/list": {"prompts": []},
    "resources/list": {"resources": "x"},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": 4}]},
    "resources/read": {"contents": [1, None, {"text": 4}, {"blob": 5, "uri": 7, "mimeType": 8}]},
    "prompts/get": {"messages": [1, {"role": 5, "content": 3}, {"content": [1]}]},
}
TOOLS = [
    *(1, None, {"name": 5}, {"name": "x", "inputSchema": "no"}),
    {"name": "y", "inputSchema": {"properties": [1], "required": 7}},
    {"name": "z", "inputSchema": {"required": [1, None]}, "description": 9},
]
BLOCKS = [
    *(None, 1, "x", {"type": "image", "data": 5, "mimeType": []}, {"type": "resource", "resource": 4}),
    {"type": "resource", "resource": {"uri": 5, "blob": "!!"}},
    *({"type": "text", "text": "\ud800 alone"}, {"type": "resource_link"}),
]
ODD: dict[str, Message] = {
    "info": {"initialize": {**USUAL["initialize"], "serverInfo": 3}},
    "lists": {
        "tools/list": {"tools": TOOLS},
        "prompts/list": {"prompts": [3, {"name": "p", "arguments": [1, {}]}, {"arguments": 4}]},
    },
    "blocks": {"tools/call": {"content": BLOCKS, "structuredContent": []}},
    "content": {"tools/call": {"content": {"a": 1}, "isError": "maybe"}},
    "task": {"tools/call": {"resultType": "task", "taskId": 5, "status": "completed", "result": 4}},
    "rounds": {"tools/call": {"resultType": "input_required", "inputRequests": {"a": 4, "b": {"method": 5}}}},
}
"""Results instead of the usual ones."""


def notified(id_: int) -> list[Message]:
    tokens: tuple[Any, ...] = ([], {}, None, id_)
    progress = [{"progressToken": token, "progress": "x", "total": [1]} for token in tokens]
    return [
        *({"method": "notifications/progress", "params": params} for params in progress),
        {"method": "notifications/message", "params": {"level": 4, "data": {"a": "\ud800"}, "logger": [1]}},
        *({"method": "notifications//list_changed"}, {"method": "a/list_changed", "params": 7}),
    ]


def asked(id_: int) -> list[Message]:
    return [
        {"id": "q", "method": "elicitation/create", "params": {"message": 4, "requestedSchema": "x"}},
        {"id": "r", "method": "sampling/createMessage", "params": {"messages": 4}},
        {"id": {"a": 1}, "method": "roots/list"},
    ]


BEFORE: dict[str, Callable[[int], list[Message]]] = {"notifications": notified, "questions": asked}
"""What comes before the answer to a call."""

KINDS = (*ODD, *BEFORE, "error", "deep")


def main(kind: str) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, id_ = message.get("method"), message.get("id")
        if method is None or id_ is None:
            continue
        before = BEFORE[kind](id_) if kind in BEFORE and method == "tools/call" else []
        results = USUAL | ODD.get(kind, {})
        if method not in results:
            before.append({"id": id_, "error": {"code": -32601, "message": "Method not found"}})
        elif kind == "error" and method == "tools/call":
            before.append({"id": id_, "error": {"code": "x", "message": {"a": 1}, "data": "\ud800"}})
        elif kind == "deep" and method == "tools/call":
            sys.stdout.write(f'{{"jsonrpc":"2.0","id":{id_},"result":{{"content":{"[" * DEEP + "]" * DEEP}}}}}\n')
        else:
            before.append({"id": id_, "result": results[method]})
        for each in before:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **each}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
