"""A real session with an installed executable, told in plain lines: handshake, tools, a command, a background task.

A whole MCP client for stdio in one class, for reading; `scorpio/client` is the one to use. Knows the legacy
handshake only and answers nothing that a server might ask.
"""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

ANSWER_S_MAX = 60
"""Longest wait for one answer; the first start unpacks the executable."""

TASK_S_MAX = 30
"""Longest wait for the background task of the demonstration, which takes about a second."""

INDENT = "    "


class DemoFailure(Exception):
    """The session did not go as it should: one sentence."""


class StdioClient:
    """One server as a child process; one JSON object a line each way."""

    def __init__(self, command: list[str]) -> None:
        try:
            self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        except OSError as error:
            raise DemoFailure(f"{command[0]} does not start: {error.strerror}.") from None
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._stdin, self._stdout = self._server.stdin, self._server.stdout
        self._last_id = 0

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """The result. Raises DemoFailure on an error answer, at the end of the server, and after ANSWER_S_MAX."""
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        answer = self._answer(method)
        if "error" in answer:
            raise DemoFailure(f"The server refused {method}: {answer['error']['message']}")
        return answer["result"]

    def _answer(self, method: str) -> dict[str, Any]:
        """The answer to the last request; notifications before it are read and left."""
        late = threading.Timer(ANSWER_S_MAX, self._server.kill)
        late.start()
        try:
            while line := self._stdout.readline():
                message: dict[str, Any] = json.loads(line)
                if message.get("id") == self._last_id and "method" not in message:
                    return message
        finally:
            late.cancel()
        raise DemoFailure(f"The server ended before it answered {method}; its own words are above.")

    def send(self, message: dict[str, Any]) -> None:
        try:
            self._stdin.write(json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            raise DemoFailure("The server ended early; its own words are above.") from None

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """The text of a tool's answer."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        if result.get("isError"):
            raise DemoFailure(f"{tool} failed: {text}")
        return text

    def close(self) -> int:
        """End the input, which is how a client says goodbye; the server's exit status."""
        self._stdin.close()
        try:
            return self._server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._server.kill()
            raise DemoFailure("The server did not end within 10 s of the end of its input.") from None
        finally:
            self._stdout.close()

    def stop(self) -> None:
        """Leave no server behind, whatever happened."""
        if self._server.poll() is None:
            self._server.kill()
            self._server.wait()


def show(executable: Path) -> None:
    """Play the session and print it. Raises DemoFailure."""
    print(f"\n$ {executable}")
    began = time.perf_counter()
    client = StdioClient([str(executable)])
    try:
        _handshake(client, began)
        names = _tool_table(client)
        if "Bash" in names:
            _one_command(client)
        if {"BackgroundBash", "ReadBgOutput"} <= names:
            _one_background_task(client)
        status = client.close()
    finally:
        client.stop()
    if status != 0:
        raise DemoFailure(f"The server ended with exit status {status}, not 0, at the end of its input.")
    print("\nEnd of input: the server ended, exit status 0.")
    print("\nTo use it, give your client this:\n")
    print(json.dumps({"mcpServers": {"scorpio": {"command": str(executable), "args": []}}}, indent=2))


def _handshake(client: StdioClient, began: float) -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "build/demo.py", "version": "1"},
    }
    print(f"client: initialize {json.dumps(params)}")
    result = client.request("initialize", params)
    took_ms = (time.perf_counter() - began) * 1000
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    server = result["serverInfo"]
    print(f"server: {server['name']} {server['version']}, revision {result['protocolVersion']}, {took_ms:.0f} ms")


def _tool_table(client: StdioClient) -> set[str]:
    tools = client.request("tools/list", {})["tools"]
    print(f"\n{len(tools)} tools:")
    width = max((len(tool["name"]) for tool in tools), default=0)
    for tool in tools:
        first_sentence = re.split(r"(?<=\.)\s", tool.get("description", ""), maxsplit=1)[0]
        print(f"{INDENT}{tool['name']:<{width}}  {textwrap.shorten(first_sentence, 90, placeholder=' …')}")
    return {tool["name"] for tool in tools}


def _one_command(client: StdioClient) -> None:
    _say_call("Bash", {"command": 'echo "hello from $(uname -s)"; echo "6 times 7 is $((6 * 7))"'}, client)


def _one_background_task(client: StdioClient) -> None:
    command = "for step in 1 2 3; do echo step $step; sleep 0.3; done"
    started = _say_call("BackgroundBash", {"command": command}, client)
    found = re.search(r"\btask (\d+)", started)
    if found is None:
        raise DemoFailure("BackgroundBash did not name its task.")
    reading = {"task_id": int(found[1])}
    deadline = time.monotonic() + TASK_S_MAX
    while time.monotonic() < deadline:
        if "running" not in _say_call("ReadBgOutput", reading, client).splitlines()[-1]:
            return
        time.sleep(0.4)
    raise DemoFailure(f"Task {found[1]} still runs after {TASK_S_MAX} s.")


def _say_call(tool: str, arguments: dict[str, Any], client: StdioClient) -> str:
    print(f"\ncall: {tool} {json.dumps(arguments)}")
    text = client.call(tool, arguments)
    for line in text.splitlines():
        print(f"{INDENT}{line}")
    return text
