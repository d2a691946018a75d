"""InvokeSkill and the prompts of skills over a real wire: both eras, bad input, changes on disk, commands."""

from __future__ import annotations

import os
import select
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.links import ROOT, ChildProcess, clean_environment
from tests.process.commands import BARE, compile_supervisor
from tests.wire import LEGACY, MODERN, ErrorAnswer, Wire
from tools.core.limits import (
    SKILL_ARGUMENTS_BYTES_MAX,
    SKILL_COMMANDS_MAX,
    SKILL_FILE_BYTES_MAX,
    TOOL_DESCRIPTION_BYTES_MAX,
)

pytestmark = pytest.mark.builds("source")  # both, where the executable could differ

LATEST = LEGACY[-1]
ERAS = (LATEST, MODERN)
CHANGED = "notifications/{}/list_changed"

LEADS_OUT = "leads out of the project {}: a project's skills stay inside it."

GREET = """---
description: Greets somebody
argument-hint: [formal|casual] [name]
arguments: [style, who]
---
Greet $who in $style words: $ARGUMENTS
"""


class World:
    """One project, one home, and the servers that look at them."""

    def __init__(self, directory: Path, command: list[str]) -> None:
        self.directory = directory
        self.command = command
        self.project = directory / "project"
        self.home = directory / "home"
        self.skills = self.project / ".claude/skills"
        self.wires: list[Wire] = []
        (self.project / ".git").mkdir(parents=True)
        self.home.mkdir()

    def connect(
        self, revision: str = LATEST, capabilities: dict[str, Any] | None = None, environ: dict[str, str] | None = None
    ) -> Wire:
        variables = clean_environment(self.home, {"SCORPIO_CWD": str(self.project), **(environ or {})})
        stderr = self.directory / f"stderr-{len(self.wires)}"
        wire = Wire(ChildProcess(self.command, variables, stderr, ROOT), revision, capabilities)
        self.wires.append(wire)
        wire.open()
        return wire

    def write(self, name: str, text: str, skills: Path | None = None) -> Path:
        """In one step, so that one change is one change."""
        folder = (skills or self.skills) / name
        folder.mkdir(parents=True, exist_ok=True)
        (self.directory / "new").write_text(text, "utf-8")
        (self.directory / "new").rename(folder / "SKILL.md")
        return folder


@pytest.fixture
def world(tmp_path: Path, command: Callable[..., list[str]]) -> Iterator[World]:
    made = World(tmp_path, command("core"))
    yield made
    for wire in made.wires:
        if not wire.closed:
            wire.close()


def invoke(wire: Wire, name: object, *arguments: object) -> str:
    given = {"skill_name": name} | ({"arguments": arguments[0]} if arguments else {})
    return wire.text("InvokeSkill", given)


def refused(wire: Wire, arguments: object) -> str:
    result = wire.call("InvokeSkill", arguments)
    assert result["isError"] is True
    return str(result["content"][0]["text"])


def tool(wire: Wire) -> dict[str, Any]:
    found = [tool for tool in wire.result("tools/list")["tools"] if tool["name"] == "InvokeSkill"]
    assert len(found) == 1
    return dict(found[0])


def prompt_names(wire: Wire) -> list[str]:
    return [prompt["name"] for prompt in wire.result("prompts/list")["prompts"]]


# -- invoking


@pytest.mark.builds("source", "frozen")
@pytest.mark.revisions(*ERAS)
def test_a_skill_is_answered_with_its_arguments_directory_and_files(world: World, revision: str) -> None:
    folder = world.write("greet", GREET)
    (folder / "words.md").touch()
    assert invoke(world.connect(revision), "greet", "formal 'Ann Lee'") == "\n".join(
        [
            '<skill_content name="greet">',
            "Greet Ann Lee in formal words: formal 'Ann Lee'",
            "",
            f"Skill directory: {folder}",
            "Files in it, by paths relative to it:",
            "- words.md",
            "</skill_content>",
        ]
    )


def test_a_name_may_be_written_as_a_slash_command(world: World) -> None:
    world.write("greet", "Hello.")
    assert "Hello." in invoke(world.connect(), " /greet ")


def test_the_project_is_found_from_a_directory_in_it(world: World) -> None:
    world.write("greet", "Hello from ${CLAUDE_PROJECT_DIR}.")
    (world.project / "src/deep").mkdir(parents=True)
    wire = world.connect(environ={"SCORPIO_CWD": str(world.project / "src/deep")})
    assert f"Hello from {world.project}." in invoke(wire, "greet")


def test_the_list_shows_all_skills_and_what_is_not_usable(world: World) -> None:
    world.write("greet", GREET)
    world.write("release", "---\ndescription: Releases\ndisable-model-invocation: true\n---\n")
    world.write("home", "---\ndescription: From home\n---\n", world.home / ".agents/skills")
    (world.skills / "leads-out").symlink_to(world.home)
    (world.home / "SKILL.md").touch()
    assert invoke(world.connect(), "list") == "\n".join(
        [
            "Skills (2):",
            "- greet: Greets somebody",
            "- home: From home",
            "",
            "Only for the user to start, as a prompt of this server: release",
            "",
            "Not usable:",
            f"- leads-out: {world.skills}/leads-out/SKILL.md {LEADS_OUT.format(world.project)}",
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "Invalid arguments for InvokeSkill: /skill_name is required"),
        ({"skill_name": 5}, "Invalid arguments for InvokeSkill: /skill_name must be string"),
        ({"skill_name": ["greet"]}, "Invalid arguments for InvokeSkill: /skill_name must be string"),
        ({"skill_name": "greet", "arguments": {"a": 1}}, "/arguments must be string"),
        ({"skill_name": "greet", "arguments": 5}, "/arguments must be string"),
        ([], "arguments must be object"),
        ({"skill_name": ""}, "'' is no skill's name."),
        ({"skill_name": "../greet"}, "'../greet' is no skill's name."),
        ({"skill_name": "/etc/passwd"}, "'etc/passwd' is no skill's name."),
        ({"skill_name": "..\\x"}, "is no skill's name."),
        ({"skill_name": "greet/../greet"}, "is no skill's name."),
        ({"skill_name": "greet\0"}, r"'greet\x00' is no skill's name."),
        ({"skill_name": "gr\u202eeet"}, r"'gr\u202eeet' is no skill's name."),
        ({"skill_name": "x" * 1_000_000}, "xxx…' is no skill's name."),
        ({"skill_name": "x" * 1_000_000}, 'skill_name "list" shows'),
        ({"skill_name": "graet"}, 'No skill graet. Nearest: greet, docs. skill_name "list" shows all 2.'),
        ({"skill_name": "release"}, "is only for the user to start"),
        ({"skill_name": "large"}, f"has {SKILL_FILE_BYTES_MAX + 1} bytes; at most {SKILL_FILE_BYTES_MAX}"),
        ({"skill_name": "fifo"}, "is not a regular file"),
        ({"skill_name": "out"}, "leads out of the project"),
        ({"skill_name": "greet", "arguments": "x" * 1_000_000}, f"at most {SKILL_ARGUMENTS_BYTES_MAX}"),
        ({"skill_name": "greet", "arguments": "a\0b"}, "NUL character"),
    ],
    ids=lambda value: str(value)[:40].replace("\0", "0") if isinstance(value, dict) else "",
)
def test_bad_input_is_refused_with_the_way_out(world: World, arguments: object, said: str) -> None:
    world.write("greet", GREET)
    world.write("docs", "Docs.")
    world.write("release", "---\ndisable-model-invocation: true\n---\n")
    (world.write("large", "") / "SKILL.md").write_bytes(b"x" * (SKILL_FILE_BYTES_MAX + 1))
    (world.skills / "fifo").mkdir()
    os.mkfifo(world.skills / "fifo/SKILL.md")
    (world.skills / "out").mkdir()
    (world.skills / "out/SKILL.md").symlink_to("/etc/passwd")
    text = refused(world.connect(), arguments)
    assert said in text
    assert len(text) < 1000


@pytest.mark.builds("source", "frozen")
def test_an_unknown_name_is_answered_with_the_nearest(world: World) -> None:
    for name in ("deploy", "docs", "test", "pdf"):
        world.write(name, "Do it.")
    said = refused(world.connect(), {"skill_name": "deplyo"})
    assert said.startswith("No skill deplyo. Nearest: deploy, ")
    assert said.count(",") == 2


def test_without_skills_the_answer_says_where_one_would_be(world: World) -> None:
    wire = world.connect()
    place = f"{world.project}/.scorpio/skills (this project) or {world.home}/.scorpio/skills (every project)."
    assert invoke(wire, "list") == f"There are no skills. A skill is a folder with a SKILL.md in {place}"
    assert refused(wire, {"skill_name": "x"}).startswith("No skill x. There are no skills.")


def test_broken_front_matter_is_told_on_stderr_once_and_the_skill_works(world: World) -> None:
    world.write("broken", "---\ndescription: Use when: asked\nwhat is this\n---\nWorks.\n")
    world.write("open", "---\ndescription: never closed\nWorks too.\n")
    wire = world.connect()
    assert "\nWorks.\n" in invoke(wire, "broken")
    assert "Works too." in invoke(wire, "open")
    tool(wire)
    wire.close()
    told = [line for line in wire.stderr().splitlines() if "SKILL.md" in line]
    assert len(told) == 3
    assert all(line.startswith("[Server] Skill ") for line in told)


def test_the_text_is_as_it_is_on_disk_at_the_call(world: World) -> None:
    folder = world.write("greet", "One.")
    wire = world.connect()
    assert "One." in invoke(wire, "greet")
    (folder / "SKILL.md").write_text("Two.")
    assert "Two." in invoke(wire, "greet")
    world.write("other", "Other.")
    assert "Other." in invoke(wire, "other")
    shutil.rmtree(folder)
    assert refused(wire, {"skill_name": "greet"}).startswith("No skill greet.")


# -- the description


@pytest.mark.revisions(*ERAS)
def test_the_tools_description_holds_the_catalogue(world: World, revision: str) -> None:
    world.write("greet", GREET)
    world.write("release", "---\ndescription: Releases\ndisable-model-invocation: true\n---\n")
    shown = tool(world.connect(revision))
    assert shown["description"].endswith("\n\nSkills:\n- greet: Greets somebody")
    assert shown["inputSchema"]["required"] == ["skill_name"]
    assert {name: value["type"] for name, value in shown["inputSchema"]["properties"].items()} == {
        "skill_name": "string",
        "arguments": "string",
    }
    assert shown["annotations"]["readOnlyHint"] is True


def test_two_hundred_skills_stay_within_the_bound(world: World) -> None:
    for number in range(200):
        world.write(f"skill-{number:03}", f"---\ndescription: {'words ' * 50}{number}\n---\n")
    wire = world.connect()
    description = tool(wire)["description"]
    assert len(description.encode()) <= TOOL_DESCRIPTION_BYTES_MAX
    shown = description.count("\n- skill-")
    assert description.endswith(f'(+{200 - shown} more; skill_name "list" shows all)')
    assert invoke(wire, "list").count("\n- skill-") == 200


def test_a_hidden_tool_offers_no_prompts(world: World) -> None:
    world.write("greet", GREET)
    wire = world.connect(environ={"TOOL_INVOKESKILL": "false"})
    assert prompt_names(wire) == []
    assert "InvokeSkill" not in [tool["name"] for tool in wire.result("tools/list")["tools"]]


# -- prompts


def test_every_skill_is_a_prompt(world: World, revision: str) -> None:
    folder = world.write("greet", GREET)
    world.write("model-only", "---\ndescription: No\nuser-invocable: false\n---\n")
    world.write("release", "---\ndisable-model-invocation: true\n---\nRelease it.\n")
    wire = world.connect(revision)
    assert wire.result("prompts/list")["prompts"] == [
        {
            "name": "greet",
            "description": "Greets somebody",
            "arguments": [
                {"name": "arguments", "description": "[formal|casual] [name]", "required": False},
            ],
        },
        {
            "name": "release",
            "description": "Release it.",
            "arguments": [
                {
                    "name": "arguments",
                    "description": "Words separated by spaces; quotes keep words together",
                    "required": False,
                },
            ],
        },
    ]
    given = wire.result("prompts/get", {"name": "greet", "arguments": {"arguments": "casual Bo"}})
    assert given["description"] == "Greets somebody"
    assert [(message["role"], message["content"]["type"]) for message in given["messages"]] == [("user", "text")]
    text = given["messages"][0]["content"]["text"]
    assert text.startswith('<skill_content name="greet">\nGreet Bo in casual words: casual Bo\n')
    assert f"Skill directory: {folder}" in text
    assert "Release it." in str(wire.result("prompts/get", {"name": "release"})["messages"])


@pytest.mark.revisions(*ERAS)
@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"name": "nothing"}, "Unknown prompt: nothing"),
        ({"name": "../greet"}, "Unknown prompt: ../greet"),
        ({"name": "model-only"}, "Unknown prompt: model-only"),
        ({"name": 5}, "Unknown prompt: 5"),
        ({}, "Unknown prompt: None"),
        ({"name": "greet", "arguments": {"arguments": 5}}, "Prompt greet: argument arguments must be a string"),
        ({"name": "greet", "arguments": "formal"}, "Prompt greet: arguments must be an object of strings"),
        ({"name": "greet", "arguments": {"arguments": "x" * 1_000_000}}, "The arguments have 1000000 bytes"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_a_bad_request_for_a_prompt_is_a_sentence(
    world: World, revision: str, params: dict[str, Any], said: str
) -> None:
    world.write("greet", GREET)
    world.write("model-only", "---\nuser-invocable: false\n---\n")
    error = world.connect(revision).error("prompts/get", params)
    assert error["code"] == -32602
    assert error["message"].startswith(said)


@pytest.mark.revisions(LEGACY[1], LATEST, MODERN)
def test_the_argument_of_a_prompt_is_completed_from_its_hint(world: World, revision: str) -> None:
    world.write("greet", GREET)
    wire = world.connect(revision)

    def completed(name: str, argument: str, value: str) -> list[str]:
        params = {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": argument, "value": value}}
        values: list[str] = wire.result("completion/complete", params)["completion"]["values"]
        return values

    assert completed("greet", "arguments", "") == ["formal", "casual"]
    assert completed("greet", "arguments", "c") == ["casual"]
    assert completed("greet", "arguments", "casual A") == []
    assert completed("greet", "style", "") == []
    with pytest.raises(ErrorAnswer, match="-32602"):
        completed("nothing", "arguments", "")


# -- changes on disk


def announced(wire: Wire, kind: str) -> int:
    return sum(message["method"] == CHANGED.format(kind) for message in list(wire.notifications))


def listen(wire: Wire) -> None:
    if wire.revision == MODERN:
        wire.start("subscriptions/listen", {"notifications": {"toolsListChanged": True, "promptsListChanged": True}})
        wire.notification("notifications/subscriptions/acknowledged")


def until(wire: Wire, look: Callable[[], bool]) -> None:
    """List again after every announcement, as a client does, until the list is as it should be."""
    heard = announced(wire, "tools")
    while not look():
        heard = more_announced(wire, heard)


def more_announced(wire: Wire, heard: int) -> int:
    wire.message(lambda _: announced(wire, "tools") > heard, "an announcement")
    return announced(wire, "tools")


@pytest.mark.builds("source", "frozen")
@pytest.mark.revisions(*ERAS)
def test_changes_on_disk_are_announced_without_a_call(world: World, revision: str) -> None:
    world.write("greet", GREET)
    wire = world.connect(revision)
    listen(wire)
    assert "- greet: Greets somebody" in tool(wire)["description"]
    assert prompt_names(wire) == ["greet"]

    world.write("new", "New.")
    until(wire, lambda: "- new: New." in tool(wire)["description"])
    assert prompt_names(wire) == ["greet", "new"]

    world.write("greet", "---\ndescription: Other words\n---\n")
    until(wire, lambda: "- greet: Other words" in tool(wire)["description"])

    shutil.rmtree(world.skills)
    until(wire, lambda: "There are no skills." in tool(wire)["description"])
    assert prompt_names(wire) == []

    world.write("home", "From home.", world.home / ".scorpio/skills")
    until(wire, lambda: "- home: From home." in tool(wire)["description"])
    assert announced(wire, "tools") >= 4
    wire.notification(CHANGED.format("prompts"))


def test_a_file_behind_a_link_is_watched_where_it_is(world: World) -> None:
    elsewhere = world.write("real", "---\ndescription: one\n---\n", world.home / "dotfiles")
    (world.home / ".claude/skills").mkdir(parents=True)
    (world.home / ".claude/skills/linked").mkdir()
    (world.home / ".claude/skills/linked/SKILL.md").symlink_to(elsewhere / "SKILL.md")
    wire = world.connect()
    assert "- linked: one" in tool(wire)["description"]
    world.write("real", "---\ndescription: two\n---\n", world.home / "dotfiles")
    until(wire, lambda: "- linked: two" in tool(wire)["description"])


def test_a_call_that_sees_a_change_announces_it_too(world: World) -> None:
    wire = world.connect()
    tool(wire)
    world.write("new", "New.")
    assert "New." in invoke(wire, "new")
    wire.notification(CHANGED.format("tools"))
    wire.notification(CHANGED.format("prompts"))
    assert "- new: New." in tool(wire)["description"]


def test_nothing_is_announced_before_a_list_was_asked_for(world: World) -> None:
    world.write("greet", "One.")
    wire = world.connect()
    invoke(wire, "greet")
    world.write("new", "New.")
    invoke(wire, "new")
    wire.settle()
    assert (announced(wire, "tools"), announced(wire, "prompts")) == (0, 0)


def threads(wire: Wire) -> int:
    assert isinstance(wire.link, ChildProcess)
    return len(os.listdir(f"/proc/{wire.link.process.pid}/task"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_no_thread_watches_before_a_list_was_asked_for(world: World) -> None:
    world.write("greet", GREET)
    wire = world.connect()
    wire.settle()
    before = threads(wire)
    tool(wire)
    assert threads(wire) == before + 1


# -- roots


def test_the_clients_root_is_the_project(world: World) -> None:
    world.write("greet", GREET)
    world.write("home", "From home.", world.home / ".claude/skills")
    wire = world.connect(LATEST, {"roots": {}}, {"SCORPIO_CWD": "", "CLAUDE_PROJECT_DIR": str(world.directory)})
    assert "- home: From home." in tool(wire)["description"]
    wire.answers["roots/list"] = lambda params: {"roots": [{"uri": world.project.as_uri()}]}
    wire.notify("notifications/roots/list_changed")
    until(wire, lambda: "- greet: Greets somebody" in tool(wire)["description"])
    assert prompt_names(wire) == ["greet", "home"]
    assert "Greet Bo" in invoke(wire, "greet", "casual Bo")


# -- commands


@pytest.fixture(scope="session")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    if not shutil.which("cc"):
        return {}
    path = compile_supervisor(tmp_path_factory.mktemp("supervisor") / "supervisor", BARE)
    return {"SCORPIO_SUPERVISOR": str(path)}


COMMANDS = """---
arguments: [what]
---
Here: !`pwd`
!`printf '%s|' "$ARGUMENTS" $what "${SKILL_DIR}"` and !`echo out; exit 3`
Text !`echo "$ARGUMENTS"`.
"""


def test_commands_are_not_run_unless_they_may_be(world: World) -> None:
    world.write("run", f"Now !`touch {world.directory}/ran`.")
    wire = world.connect()
    text = invoke(wire, "run")
    assert f"Now !`touch {world.directory}/ran`." in text
    assert "were not run" in text
    assert not (world.directory / "ran").exists()


@pytest.mark.parametrize("place", [".scorpio", ".scorpiox"])
def test_a_project_may_not_turn_commands_on(world: World, place: str) -> None:
    (world.project / place).mkdir()
    name = "scorpio-env.txt" if place == ".scorpio" else "scorpiox-env.txt"
    (world.project / place / name).write_text("SKILL_EXEC=true\n")
    world.write("run", f"Now !`touch {world.directory}/ran`.")
    wire = world.connect()
    assert "were not run" in invoke(wire, "run")
    assert "were not run" in str(wire.result("prompts/get", {"name": "run"}))
    assert not (world.directory / "ran").exists()


def test_commands_are_replaced_by_their_output_where_they_may_run(world: World, supervisor: dict[str, str]) -> None:
    folder = world.write("run", COMMANDS)
    wire = world.connect(environ={"SKILL_EXEC": "true", **supervisor})
    arguments = "a'; touch ran; $(touch ran) `touch ran`"
    body = invoke(wire, "run", arguments).split("\n\nSkill directory")[0]
    assert body.splitlines()[1:] == [
        f"Here: {world.project}",
        # an unquoted variable is split into words by the shell, and never read as code
        f"{arguments}|a';|{folder}| and out",
        "[exit code: 3]",
        f"Text {arguments}.",
    ]
    assert sorted(os.listdir(world.project)) == [".claude", ".git"]
    assert tool(wire)["annotations"]["readOnlyHint"] is False


@pytest.mark.builds("source", "frozen")
def test_commands_run_for_a_prompt_too(world: World, supervisor: dict[str, str]) -> None:
    world.write("run", "Here: !`echo $((6 * 7))`")
    wire = world.connect(MODERN, environ={"SKILL_EXEC": "true", **supervisor})
    assert "Here: 42" in str(wire.result("prompts/get", {"name": "run"}))


def test_no_more_commands_are_run_than_the_bound(world: World, supervisor: dict[str, str]) -> None:
    world.write("run", "!`echo x >> count`\n" * (SKILL_COMMANDS_MAX + 2))
    text = invoke(world.connect(environ={"SKILL_EXEC": "true", **supervisor}), "run")
    assert (world.project / "count").read_text().count("x") == SKILL_COMMANDS_MAX
    assert text.count(f"[not run: a skill runs at most {SKILL_COMMANDS_MAX} commands]") == 2


def test_long_output_of_a_command_is_cut(world: World, supervisor: dict[str, str]) -> None:
    world.write("run", "!`seq 1 100000`")
    text = invoke(world.connect(environ={"SKILL_EXEC": "true", **supervisor}), "run")
    assert "characters omitted; full output: " in text
    assert len(text) < 12_000


def test_nothing_of_a_command_is_left_behind(world: World, supervisor: dict[str, str]) -> None:
    world.write("run", "!`sleep 1000 & echo $! > pid; echo started`")
    text = invoke(world.connect(environ={"SKILL_EXEC": "true", **supervisor}), "run")
    assert "started" in text
    with pytest.raises(ProcessLookupError):
        os.kill(int((world.project / "pid").read_text()), 0)


def test_a_cancelled_call_ends_its_command(world: World, supervisor: dict[str, str]) -> None:
    os.mkfifo(world.project / "began")
    world.write("run", "!`echo $$ > began; exec sleep 1000`")
    wire = world.connect(environ={"SKILL_EXEC": "true", **supervisor})
    id_ = wire.start("tools/call", {"name": "InvokeSkill", "arguments": {"skill_name": "run"}})
    pid = int((world.project / "began").read_text())
    process = os.pidfd_open(pid)
    wire.cancel(id_)
    assert select.select([process], [], [], 30)[0]
    os.close(process)
    wire.settle()
    assert wire.answers_to(id_) == []
