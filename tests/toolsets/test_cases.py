"""Every tools/*/*/cases.json against a real server of its toolset, over every transport.

A case: title, arguments, result; `client` says what the client declared and answers (see `CASE_KEYS`); `before` lists
the calls, as [tool, arguments], that the same client made first. `web` is what a web server on loopback serves, path ->
text; `settings` are environment variables of the server, `{web}` in them stands for that web server's address.
A result: `text` or `text_matches` (a regular expression, searched) or `content`, `is_error`, `structured`; or `error`,
the JSON-RPC error. Placeholders as in tests/expect.py.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.expect import difference
from tests.links import ROOT
from tests.web_site import SEEN_EVERY_S
from tests.wire import MODERN, ErrorAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.wire import Wire

CASE_KEYS = {"title", "arguments", "result", "client", "transports", "before", "web", "settings"}
RESULT_KEYS = {"text", "text_matches", "content", "structured", "is_error", "error"}
CLIENT_KEYS = {"capabilities", "answers"}
ALWAYS_FAILS = {"failing_job", "protocol_error_job", "test_error_handling", "xmpp_send"}
"""Tools whose purpose is to fail, or that succeed with a server of somebody else's only: their own tests have one."""

TOOLS = sorted(path.parent for path in (ROOT / "tools").glob("*/*/tool.json"))


def _cases() -> list[Any]:
    found = []
    for folder in TOOLS:
        path = folder / "cases.json"
        cases = json.loads(path.read_text("utf-8")) if path.is_file() else []
        for case in cases:
            name = f"{folder.parent.name}-{folder.name}-{case['title'].replace(' ', '_')}"
            found.append(pytest.param(folder, case, id=name))
    return found


@pytest.mark.revisions(MODERN)
@pytest.mark.transports("in-process", "frozen")
@pytest.mark.parametrize(("folder", "case"), _cases())
def test_case_gives_the_result_it_shows(
    connect: Callable[..., Wire], environ: dict[str, str], folder: Path, case: dict[str, Any], transport: str
) -> None:
    if transport not in case.get("transports", (transport,)):
        pytest.skip(f"not over {transport}")
    with _served(case.get("web", {})) as address:
        environ.update({name: value.replace("{web}", address) for name, value in case.get("settings", {}).items()})
        _check(connect, folder, case)


@contextmanager
def _served(texts: dict[str, str]) -> Iterator[str]:
    """The address of a web server that answers each path, whatever its query, with its text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = texts.get(self.path.partition("?")[0], "").encode()
            self.send_response(200 if data else 404)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    if not texts:
        yield ""
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(SEEN_EVERY_S,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _check(connect: Callable[..., Wire], folder: Path, case: dict[str, Any]) -> None:
    client = case.get("client", {})
    wire = connect(folder.parent.name, handshake=False, capabilities=client.get("capabilities"))
    for method, answer in client.get("answers", {}).items():
        wire.answers[method] = _always(answer)
    for earlier, arguments in case.get("before", []):
        wire.call(earlier, arguments)
    name = json.loads((folder / "tool.json").read_text("utf-8"))["name"]
    expected = case["result"]
    if "error" in expected:
        with pytest.raises(ErrorAnswer) as raised:
            wire.call(name, case["arguments"])
        assert difference(expected["error"], raised.value.error) == ""
        return
    result = wire.call(name, case["arguments"])
    assert mismatch(expected, result) == ""


def _always(answer: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda params: answer


def mismatch(expected: dict[str, Any], result: dict[str, Any]) -> str:
    text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
    if result["isError"] != expected.get("is_error", False):
        return f"isError is {result['isError']}: {text}"
    if "text_matches" in expected and not re.search(expected["text_matches"], text, re.DOTALL):
        return f"{text!r} does not match {expected['text_matches']!r}"
    shown = {"text": text, "content": result["content"], "structured": result.get("structuredContent")}
    return "\n".join(filter(None, (difference(expected[key], shown[key]) for key in shown if key in expected)))


@pytest.mark.parametrize("folder", TOOLS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_each_tool_shows_a_success_and_a_failure(folder: Path) -> None:
    cases = json.loads((folder / "cases.json").read_text("utf-8"))
    for case in cases:
        assert case.keys() <= CASE_KEYS, case["title"]
        assert case["result"].keys() <= RESULT_KEYS, case["title"]
        assert case.get("client", {}).keys() <= CLIENT_KEYS, case["title"]
    failing = [case["result"].get("is_error", False) or "error" in case["result"] for case in cases]
    assert True in failing
    assert False in failing or folder.name in ALWAYS_FAILS
