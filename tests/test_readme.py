"""README.md is true: its commands run on the executable and print what it says; its Chinese twin has the same of both.

A block `sh` is commands. In a block `console`, lines behind `$ ` are commands, the others what a terminal shows then:
`…` stands for anything, a number for any number.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import NamedTuple

import pytest

from scorpio import __version__
from scorpio.settings import KEYS
from tests.links import ROOT, executable_under_test

BOUND_S = 90.0
PROGRAM = "~/.scorpio/scorpio"
YOUR_HOME = "/home/you"

NOT_RUN = {
    "python3 build/dev.py run": "builds the executable that this test runs; every other test of it would begin anew",
    "python3 build/dev.py test": "is what runs this test",
    "python3 build/dev.py new-tool core WordCount": "writes into the sources; tests/tidy tries it in a copy",
    "python3 build/dev.py catalog": "writes into the sources; tests/tidy shows that it has nothing to write",
    "python3 build/dev.py check": "is run before these tests",
    f"{PROGRAM} client node server.js --verbose": "needs a server of somebody else, which stands for any",
    f"{PROGRAM} client http://127.0.0.1:3000/mcp --header 'X-Team: a'": "needs the fixed port; run on a free one below",
    f"{PROGRAM} http": "needs the fixed port; run on a free one below",
}
"""Commands of the README that are not run as they stand, and why."""

MAY_FAIL = {f"{PROGRAM} doctor": "1 says that something of this machine does not work"}
FAILS = {f"{PROGRAM} tol": 2}


class Block(NamedTuple):
    language: str
    text: str


class Command(NamedTuple):
    line: str
    printed: str | None
    """None: whatever it prints."""


def blocks(name: str) -> list[Block]:
    text = (ROOT / name).read_text("utf-8")
    return [Block(*found) for found in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def bare(line: str) -> str:
    """Without the comment behind it."""
    return re.sub(r"\s+#\s.*$", "", line).strip()


def commands() -> list[Command]:
    found: list[Command] = []
    for block in blocks("README.md"):
        if block.language == "sh":
            found += [Command(bare(line), None) for line in block.text.splitlines() if bare(line)]
        elif block.language == "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                line, _, printed = part.partition("\n")
                found.append(Command(line, printed))
    return found


def pattern(printed: str) -> str:
    """A regular expression for what README shows of an output."""
    escaped = re.escape(printed.strip()).replace("…", ".*")
    return re.sub(r"(?:\d+\\\.)+\d+|\d+", r"[\\d.]+", escaped)


@pytest.fixture
def environment(tmp_path: Path, unpacked: str) -> dict[str, str]:
    """A home with the executable installed, and a project in it."""
    executable = Path(executable_under_test()).resolve()
    (tmp_path / ".scorpio").mkdir()
    (tmp_path / ".scorpio/scorpio").symlink_to(executable)
    (tmp_path / "project/.git").mkdir(parents=True)
    return {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "SCORPIO_CACHE_DIR": unpacked}


@pytest.mark.requirement("readme:commands")
def test_every_command_of_the_readme_works_and_prints_what_it_says(environment: dict[str, str], tmp_path: Path) -> None:
    wrong = []
    for command in commands():
        if command.line in NOT_RUN:
            continue
        done = subprocess.run(
            ["bash", "-c", command.line], env=environment, cwd=tmp_path / "project", stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=BOUND_S, check=False,
        )  # fmt: skip
        said = done.stdout.replace(str(tmp_path), YOUR_HOME).strip()
        if done.returncode != FAILS.get(command.line, 0) and not (command.line in MAY_FAIL and done.returncode == 1):
            wrong.append(f"$ {command.line}\nended with {done.returncode}: {said}")
        elif command.printed is not None and not re.fullmatch(pattern(command.printed), said, re.DOTALL):
            wrong.append(f"$ {command.line}\nprints:\n{said}\nand not:\n{command.printed}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.requirement("readme:commands")
def test_every_command_of_the_readme_is_known_or_has_a_reason_not_to_be_run() -> None:
    lines = [command.line for command in commands()]
    unknown = [line for line in lines if line not in NOT_RUN and PROGRAM not in line]
    assert not unknown, "README.md has commands that are not of scorpio; say in NOT_RUN why they are not run."
    gone = [line for line in (*NOT_RUN, *MAY_FAIL, *FAILS) if line not in lines]
    assert not gone, "tests/test_readme.py excuses commands that README.md has not got."


@pytest.mark.requirement("readme:commands")
def test_the_readme_s_http_server_and_client_meet(environment: dict[str, str], tmp_path: Path) -> None:
    program = str(tmp_path / ".scorpio/scorpio")
    serves, asks = f"{PROGRAM} http", next(line for line in NOT_RUN if "--header" in line)
    command = [program, *shlex.split(serves)[1:], "--port", "0"]
    server = subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        url = next(line for line in server.stderr if "http://" in line).split()[-1].rstrip(".")
        for page in ("inspector", "healthz"):
            with urllib.request.urlopen(url.removesuffix("mcp") + page, timeout=BOUND_S) as answer:
                assert answer.status == 200
        words = [url if word.startswith("http://") else word for word in shlex.split(asks)[1:]]
        done = subprocess.run(
            [program, *words], env=environment, input="ping\n", capture_output=True, text=True, timeout=BOUND_S,
            check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "It answers.\n"), done.stderr
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=BOUND_S)


@pytest.mark.requirement("readme:commands")
def test_json_in_the_readme_is_json() -> None:
    found = [json.loads(block.text) for block in blocks("README.md") if block.language == "json"]
    assert found == [{"mcpServers": {"scorpio": {"command": f"{YOUR_HOME}/.scorpio/scorpio", "args": []}}}]
    assert {block.language for block in blocks("README.md")} == {"json", "sh", "console"}


@pytest.mark.requirement("readme:chinese")
def test_both_readmes_have_the_same_chapters_commands_and_tables() -> None:
    one, other = ((ROOT / name).read_text("utf-8") for name in ("README.md", "README.zh.md"))
    for name, shape in SHAPES.items():
        ours_of_it, theirs_of_it = (re.findall(shape, text, re.MULTILINE) for text in (one, other))
        assert ours_of_it, name
        assert theirs_of_it == ours_of_it, name
    numbers = [sorted(re.findall(r"\d[\d.:-]*", text)) for text in (one, other)]
    assert numbers[0] == numbers[1]
    theirs = [Block(block.language, "\n".join(map(bare, block.text.splitlines()))) for block in blocks("README.zh.md")]
    ours = [Block(block.language, "\n".join(map(bare, block.text.splitlines()))) for block in blocks("README.md")]
    assert theirs == ours


SHAPES = {
    "chapters": r"^(#+) ",
    "tools": r"^\| ([A-Z][A-Za-z]+) \| ",
    "toolsets": r"^\| `([a-z]+)` \| ",
    "keys and their defaults": r"^\| `([A-Z_<>]+)` \| ([^|]*)\|",
    "measurements": r"(\| [\d.]+ [mµM][sB] .*)$",
    "links": r"\]\(([^)]+)\)",
}
"""What is the same in both languages."""


@pytest.mark.requirement("readme:true")
def test_the_readme_names_every_tool_of_core_and_only_keys_that_are_there() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    tools = [json.loads(path.read_text("utf-8"))["name"] for path in (ROOT / "tools/core").glob("*/tool.json")]
    assert [name for name in tools if f"| {name} |" not in text] == []
    toolsets = {path.parent.name for path in (ROOT / "tools").glob("*/toolset.json")} - {"core"}
    assert [name for name in toolsets if f"| `{name}` |" not in text] == []
    defaults = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]*)\|", text, re.MULTILINE))
    known = {key.name: key.default for key in KEYS}
    assert defaults.keys() - known.keys() == set()
    for name, shown in defaults.items():
        value = known[name]
        written = ",".join(value) if isinstance(value, tuple) else str(value)
        assert shown.strip() == "all" or shown.strip("` ").lower() == written.lower(), name


@pytest.mark.requirement("readme:true")
def test_every_place_in_the_repository_that_a_document_links_to_is_there() -> None:
    missing = []
    for name in ("README.md", "README.zh.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md"):
        links = re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / name).read_text("utf-8"))
        missing += [f"{name}: {link}" for link in links if not (ROOT / link).exists()]
    assert missing == []


@pytest.mark.requirement("readme:picture")
def test_the_readme_s_picture_is_what_a_session_shows_now(unpacked: str) -> None:
    from xml.etree import ElementTree as ET

    import recording

    executable = Path(executable_under_test())
    picture = ET.parse(ROOT / "build/recording.svg")
    drawn = "".join("".join(line.itertext()) for line in picture.iter("{http://www.w3.org/2000/svg}g"))
    played = "".join(line.text for line in recording.record(executable, thinking_s=0.2, cache=unpacked))
    assert changing(drawn) == changing(played), "python3 build/dev.py picture"
    assert __version__ in drawn


def changing(text: str) -> str:
    """Without what differs from run to run, and between machines."""
    text = re.sub(r"Enforced by the kernel: .*?\.Not", "Not", text)
    return re.sub(r"scorpio-plan-\w+|\d+", "N", text)
