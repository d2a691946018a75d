"""What is secret is in no answer, log, file, command line or environment of a child, on any transport, after errors.

The environment of the server itself is the client's doing, and the same user can read it: SECURITY.md says so.
The XMPP password against a real server: tests/toolsets/xmpp/test_secrets.py.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.http_link import HttpProcess
    from tests.server_process import ServerProcess

TOKEN, OTHER_TOKEN, PASSWORD = "mark-token-4711-abcdef", "mark-file-4712-abcdef", "mark-password-4713"
MARKS = (TOKEN, OTHER_TOKEN, PASSWORD)

REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/call", {"name": "xmppSend", "arguments": {"message": "hello"}}),
    ("tools/call", {"name": "xmppStatus", "arguments": {}}),
    ("tools/call", {"name": "Bash", "arguments": {"command": "env; set; tr '\\0' '\\n' < /proc/$PPID/environ; false"}}),
    ("tools/call", {"name": "Bash", "arguments": {"command": 5}}),
    ("tools/call", {"name": "BackgroundBash", "arguments": {"command": "env; sleep 50"}}),
    ("tools/call", {"name": "ReadImage", "arguments": {"path": "/dev/null"}}),
    ("tools/call", {"name": "ReadImage", "arguments": {"path": "picture.png"}}),
    ("tools/call", {"name": "NoSuchTool", "arguments": {}}),
    ("resources/read", {"uri": "file:///etc/passwd"}),
    ("resources/list", {}),
    ("prompts/list", {}),
    ("tools/list", {}),
    ("no/such", {}),
)


def descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def seen_of_processes(pid: int) -> str:
    """Command lines of a server and of all below it, and the environments of those below."""
    below = descendants(pid)
    assert below  # commands run
    seen = [Path(f"/proc/{each}/cmdline").read_bytes() for each in (pid, *below)]
    seen += [Path(f"/proc/{each}/environ").read_bytes() for each in below]
    return b"\n".join(seen).decode(errors="replace")


def seen_in_files(*roots: Path) -> str:
    files = [path for root in roots for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return "\n".join(path.read_text(errors="replace") for path in files)


def secret_environ(environ: dict[str, str], directory: Path) -> dict[str, str]:
    account = {"XMPP_SERVICE": "xmpp://127.0.0.1:9", "XMPP_DOMAIN": "example.test", "XMPP_USERNAME": "dogbot"}
    room = {"MUC_ROOM": "room@muc.example.test", "SCORPIO_CWD": str(directory)}
    return environ | account | room | {"XMPP_PASSWORD": PASSWORD, "SCORPIO_HTTP_TOKEN": TOKEN, "LOG_LEVEL": "debug"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    from PIL import Image

    place = tmp_path / "work"
    place.mkdir()
    Image.new("RGB", (4, 4)).save(place / "picture.png")
    return place


def _until(server: ServerProcess, id_: int) -> Iterator[dict[str, Any]]:
    """The answer, and what comes before it."""
    answer: dict[str, Any] = {}
    while answer.get("id") != id_:
        answer = server.answers(1)[0]
        yield answer


@pytest.mark.requirement("secrets:nowhere")
def test_no_secret_is_seen_of_a_server_on_stdio(
    start: Callable[..., ServerProcess], environ: dict[str, str], directory: Path
) -> None:
    own = secret_environ(environ, directory)
    server = start("core,xmpp", environ=own).open()
    answers = []
    for id_, (method, params) in enumerate(REQUESTS, 10):
        server.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        answers += [json.dumps(answer) for answer in _until(server, id_)]
    seen = [*answers, seen_of_processes(server.pid), seen_in_files(Path(own["SCORPIO_HOME"]), directory)]
    server.close_stdin()
    seen.append(server.rest().decode())
    server.status()
    seen.append(server.stderr())
    assert any("GIT_PAGER" in text for text in seen)  # the environment was shown
    assert [mark for mark in MARKS for text in seen if mark in text] == []


def posted(port: int, message: object, token: str | None, **headers: str) -> tuple[int, str]:
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **bearer, **headers}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", json.dumps(message).encode(), sent)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, f"{answer.headers}\n{answer.read().decode()}"
    except urllib.error.HTTPError as error:
        with error:
            return error.code, f"{error.headers}\n{error.read().decode()}"


@pytest.mark.requirement("secrets:nowhere")
@pytest.mark.parametrize("where", ["variable", "file"])
def test_no_secret_is_seen_of_a_server_on_http(
    start_http: Callable[..., HttpProcess], environ: dict[str, str], directory: Path, tmp_path: Path, where: str
) -> None:
    own = secret_environ(environ, directory)
    options: list[str] = []
    if where == "file":
        file = tmp_path / "token"
        file.write_text(OTHER_TOKEN)
        file.chmod(0o600)
        options = ["--token-file", str(file)]
    server = start_http("core,xmpp", options=options, environ=own)
    token = OTHER_TOKEN if where == "file" else TOKEN
    start_ = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    status, opened = posted(server.port, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start_}, token)
    assert status == 200
    session = next(line.split(": ")[1] for line in opened.splitlines() if line.lower().startswith("mcp-session-id"))
    own_headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
    seen = [opened]
    for id_, (method, params) in enumerate(REQUESTS, 10):
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        seen.append(posted(server.port, message, token, **own_headers)[1])
    for wrong, headers in (
        (None, {}),
        (f"{token}x", own_headers),
        (token, {"Mcp-Session-Id": "no-such", "MCP-Protocol-Version": "2025-11-25"}),
        (token, {"Origin": "https://evil.example"}),
        (token, {"Content-Type": "text/plain"}),
    ):
        status, said = posted(server.port, {"jsonrpc": "2.0", "id": 2, "method": "ping"}, wrong, **headers)
        assert status >= 400
        seen.append(said)
    seen.append(seen_of_processes(server.child.process.pid))
    seen.append(seen_in_files(Path(own["SCORPIO_HOME"]), directory))
    server.kill()
    seen.append(server.stderr())
    assert any("GIT_PAGER" in text for text in seen)
    assert [mark for mark in MARKS for text in seen if mark in text] == []
