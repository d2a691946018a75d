"""Any arguments of any tool are answered by the executable: with a result, or with a sentence, and never with a bug."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.edits import fewer, files
from tests.links import ROOT, clean_environment, server_command
from tests.protocol.json_values import values
from tests.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOOLSETS = ("core", "sum", "schemas")

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
JUNK = values(WORDS, st.integers())

COMMANDS = st.one_of(
    st.sampled_from(
        ["true", "exit 3", "printf '\\377\\0'", "kill -9 $PPID", "(sleep 9 &)", "(((", "'", "\0", "\ud800"]
    ),
    WORDS.map(lambda text: "# " + text.replace("\n", " ").replace("\r", " ")),  # nothing that was made up runs
)
URLS = st.one_of(
    st.sampled_from(
        ["", "file:///etc/passwd", "http://127.0.0.1:1/", "http://[::1]:1/", "http://169.254.169.254/", "//"]
    ),
    WORDS.map(lambda text: f"http://127.0.0.1:1/{text}"),
    WORDS.map(lambda text: f"nothing:{text}"),
)
MEANT: dict[str, st.SearchStrategy[Any]] = {
    "command": COMMANDS,
    "timeout": st.one_of(st.integers(-5, 100), st.sampled_from([2**63, 10**9, "5", "x", 1.5, 0])),
    "task_id": st.one_of(st.integers(-2, 40), st.just(2**70)),
    "step_id": st.one_of(st.integers(-2, 40), st.just(2**70)),
    "url": URLS,
    "format": st.sampled_from(["markdown", "text", "html", "x", ""]),
    "wait_ms": st.sampled_from([0, 1, -1, "1"]),
    "file_path": st.one_of(st.sampled_from(["", "/dev/zero", "/proc/self/mem", "/", "~", "~nobody", "a\0b"]), WORDS),
    "action": st.one_of(
        st.sampled_from(["create", "add", "complete", "switch", "list", "pending", "set", "cancel", "enter", "exit"]),
        st.sampled_from(["status", "reset", "json", "done", "", "LIST "]),
        WORDS,
    ),
    "delay_seconds": st.sampled_from([0, 1, 3600, 3601, 10**18, -1, "30", 1.5]),
    "repeat_count": st.sampled_from([-2, -1, 0, 1, 10**9, "x"]),
    "skill_name": st.one_of(st.sampled_from(["../x", "/etc", "a/b", "x"]), WORDS),
    "plan_file": st.sampled_from(["/etc/passwd", "../x.md", "plan.md", "/dev/stdin", "a\0.md", "x.txt"]),
    "questions_json": st.one_of(JUNK.map(json.dumps), WORDS, st.just('[{"question":"Q","options":["a","b"]}]')),
    "query": st.one_of(WORDS, st.just("x" * 5000)),
}


def tools() -> dict[str, list[str]]:
    """Name and properties of every tool of these toolsets, as their descriptors have them."""
    found = {}
    for toolset in TOOLSETS:
        for path in sorted((ROOT / "tools" / toolset).glob("*/tool.json")):
            descriptor = json.loads(path.read_text("utf-8"))
            found[descriptor["name"]] = sorted(descriptor["inputSchema"].get("properties", {}))
    return found


TOOLS = tools()
NUMBERS = count(1)


def arguments_of(name: str) -> st.SearchStrategy[Any]:
    meant = {key: st.one_of(MEANT.get(key, WORDS), JUNK) for key in TOOLS[name]}
    mostly = {key: MEANT.get(key, WORDS) for key in TOOLS[name]}
    return st.one_of(st.fixed_dictionaries(mostly), st.fixed_dictionaries({}, optional=meant), JUNK)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any-image")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, unpacked: str) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("any-argument")
    quiet = {"LOG_LEVEL": "warning", "WEBSEARCH_ENGINES": "searxng", "SEARXNG_URL": "http://127.0.0.1:1/"}
    environ = clean_environment(folder, {**quiet, "SCORPIO_CACHE_DIR": unpacked, "BASH_MAX_TIMEOUT_MS": "2000"})
    served = ServerProcess(server_command("frozen", TOOLSETS), environ, folder / "stderr", cwd=folder)
    yield served.open()
    served.close_stdin()
    assert served.status() == 0
    assert "Traceback" not in served.stderr()
    served.kill()


@pytest.mark.timeout(0)  # what one example may take is bounded by the wait for its answer
@pytest.mark.requirement("faults:any-argument")
@pytest.mark.parametrize("name", sorted(TOOLS))
@fewer(5)
@given(st.data())
def test_any_arguments_of_any_tool_are_answered(server: ServerProcess, name: str, data: st.DataObject) -> None:
    answered(server, name, data.draw(arguments_of(name)))


@pytest.mark.timeout(0)
@pytest.mark.requirement("faults:any-file")
@fewer(5)
@given(files("images"))
def test_any_image_file_is_shown_or_refused(server: ServerProcess, place: Path, made: tuple[str, bytes]) -> None:
    name, content = made
    (place / name).write_bytes(content)
    result = answered(server, "ReadImage", {"file_path": str(place / name)})["result"]
    if result["isError"]:
        assert name in result["content"][0]["text"], result


def answered(server: ServerProcess, name: str, arguments: Any) -> dict[str, Any]:
    """The answer, which may refuse but not be a bug's."""
    number = next(NUMBERS)
    params = {"name": name, "arguments": arguments}
    server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    answer = server.answers(1)[0]
    while "id" not in answer:  # a notification of a list that has changed
        answer = server.answers(1)[0]
    assert answer["id"] == number
    if "error" in answer:
        assert answer["error"]["code"] in (-32602, -32600, -32700), answer
    else:
        assert answer["result"]["content"]
        assert answer["result"]["isError"] in (True, False)
    return answer
