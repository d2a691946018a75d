"""Skills of a real disk through the skills extension: the rules of InvokeSkill, damaged folders, changes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from scorpio.limits import SKILL_FOLDER_FILE_BYTES_MAX, SKILL_FOLDER_FILES_MAX
from scorpio.skill_folder import SkillFolder
from scorpio.skill_shelf import Shelf
from tests.wire import LEGACY, MODERN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.wire import Wire

LATEST = LEGACY[-1]
IN_PROCESS = pytest.mark.transports("in-process")
ON_THE_EXECUTABLE = pytest.mark.transports("frozen", "http-frozen")

pytestmark = pytest.mark.revisions(LATEST, MODERN)


@pytest.fixture
def skills(tmp_path: Path, environ: dict[str, str]) -> Path:
    """A directory of the user's skills that the server looks into."""
    path = tmp_path / "skills"
    path.mkdir()
    environ["ADDITIONAL_SKILLS"] = str(path)
    return path


def write_skill(directory: Path, name: str, front: str = "", text: str = "Do it.\n") -> Path:
    folder = directory / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\n{front or f'name: {name}{chr(10)}description: Does it'}\n---\n{text}")
    return folder


def listed(wire: Wire) -> dict[str, list[str]]:
    """Files by skill, without `skill://NAME/`."""
    return {
        entry["frontmatter"]["name"]: [item["uri"].split("/", 3)[3] for item in entry["resources"]]
        for entry in wire.result("skills/list")["skills"]
    }


def read(wire: Wire, uri: str) -> dict[str, Any]:
    [content] = wire.result("resources/read", {"uri": uri})["contents"]
    return content  # type: ignore[no-any-return]


@ON_THE_EXECUTABLE
@pytest.mark.requirement("skills-extension:folders")
def test_links_out_hidden_files_and_pipes_are_none_of_a_skills_files(
    connect: Callable[..., Wire], skills: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("not yours")
    folder = write_skill(skills, "linked")
    (folder / "refs").mkdir()
    (folder / "refs/inside.md").write_text("inside")
    (folder / "alias.md").symlink_to("refs/inside.md")
    (folder / "secret.md").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    (folder / "gone.md").symlink_to("nowhere")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / ".env").write_text("KEY=1")
    (folder / "env.md").symlink_to(".env")
    os.mkfifo(folder / "pipe.md")
    wire = connect("core")
    assert listed(wire) == {"linked": ["SKILL.md", "alias.md", "refs/inside.md"]}
    assert read(wire, "skill://linked/alias.md")["text"] == "inside"
    for name, why in {
        "secret.md": "is a link out of the skill's folder",
        "gone.md": "is a link to no file",
        "loop.md": "is a link to no file",
        "env.md": "is a link to a hidden file",
        "pipe.md": "is not a regular file",
        "up": "is a link out of the skill's folder",
        "up/secret": "is no file of that skill",
        ".env": "is no file of that skill",
    }.items():
        error = wire.error("resources/read", {"uri": f"skill://linked/{name}"})
        assert why in error["message"], (name, error)
        assert "not yours" not in json.dumps(error)
    root = wire.result("resources/directory/read", {"uri": "skill://linked"})["resources"]
    assert [item["name"] for item in root] == ["linked", "alias.md", "refs"]
    assert wire.error("resources/directory/read", {"uri": "skill://linked/up"})["code"] == -32602


@ON_THE_EXECUTABLE
@pytest.mark.requirement("skills-extension:folders")
def test_names_and_contents_of_any_bytes_are_served_as_they_are(connect: Callable[..., Wire], skills: Path) -> None:
    folder = write_skill(skills, "bytes")
    files = {
        b"caf\xe9.md": b"latin name",
        "größe %41?#&.txt".encode(): "größe".encode(),
        b"torn.txt": b"\xff\xfe not text",
        b"picture.png": b"ascii that says it is a picture",
        b"zero": b"a\0b",
        b"bom.md": b"\xef\xbb\xbftext\r\n",
        b"empty.json": b"",
    }
    for name, written in files.items():
        (folder / os.fsdecode(name)).write_bytes(written)
    wire = connect("core")
    [entry] = wire.result("skills/list")["skills"]
    served = {}
    for item in entry["resources"][1:]:
        content = read(wire, item["uri"])
        blob = content["text"].encode() if "text" in content else base64.b64decode(content["blob"])
        assert (item["size"], item["digest"]) == (len(blob), "sha256:" + hashlib.sha256(blob).hexdigest())
        served[item["uri"].rpartition("/")[2]] = (content["mimeType"], "text" in content, blob)
    assert served == {
        "caf%E9.md": ("text/markdown", True, b"latin name"),
        "gr%C3%B6%C3%9Fe%20%2541%3F%23%26.txt": ("text/plain", True, "größe".encode()),
        "torn.txt": ("text/plain", False, b"\xff\xfe not text"),
        "picture.png": ("image/png", False, b"ascii that says it is a picture"),
        "zero": ("application/octet-stream", False, b"a\0b"),
        "bom.md": ("text/markdown", True, b"\xef\xbb\xbftext\r\n"),
        "empty.json": ("application/json", True, b""),
    }
    names = {item["name"] for item in wire.result("resources/directory/read", {"uri": "skill://bytes"})["resources"]}
    assert "caf\ufffd.md" in names


@IN_PROCESS
@pytest.mark.requirement("skills-extension:bounds")
def test_skill_beyond_a_bound_is_left_out_and_says_which(connect: Callable[..., Wire], skills: Path) -> None:
    write_skill(skills, "good")
    with (write_skill(skills, "one-huge") / "huge.bin").open("wb") as file:
        file.truncate(SKILL_FOLDER_FILE_BYTES_MAX + 1)
    heavy = write_skill(skills, "heavy")
    for number in range(3):
        with (heavy / f"{number}.bin").open("wb") as file:
            file.truncate(SKILL_FOLDER_FILE_BYTES_MAX)
    many = write_skill(skills, "many")
    for number in range(SKILL_FOLDER_FILES_MAX):
        (many / f"{number}.md").touch()
    deep = write_skill(skills, "deep")
    (deep / "/".join("d" * 30)).mkdir(parents=True)
    wire = connect("core")
    assert listed(wire) == {"good": ["SKILL.md"]}
    for name, why in {
        "one-huge": f"has huge.bin of {SKILL_FOLDER_FILE_BYTES_MAX + 1} bytes",
        "heavy": "has more than 16777216 bytes in its files",
        "many": f"has more than {SKILL_FOLDER_FILES_MAX} files",
        "deep": "is nested deeper than",
    }.items():
        uri = f"skill://{name}/SKILL.md"
        for method in ("skills/get", "resources/read"):
            error = wire.error(method, {"uri": uri})
            assert why in error["message"], error
        assert wire.error("resources/directory/read", {"uri": f"skill://{name}"})["code"] == -32602
        assert uri not in json.dumps(wire.result("resources/list"))


@IN_PROCESS
@pytest.mark.requirement("skills-extension:conforming")
def test_skill_that_hosts_would_refuse_is_left_out_and_can_be_invoked_all_the_same(
    connect: Callable[..., Wire], skills: Path
) -> None:
    damaged = {
        "other-name": "name: another\ndescription: x",
        "no-description": "name: no-description",
        "empty-description": 'name: empty-description\ndescription: ""',
        "number": "name: number\ndescription: 7",
        "bomb": "name: bomb\ndescription: x\na: &a [x]\nb: [*a, *a]",
        "Capital": "name: Capital\ndescription: x",
        "two--hyphens": "name: two--hyphens\ndescription: x",
        "under_score": "name: under_score\ndescription: x",
        "broken": "name: broken\ndescription: a: b",
    }
    for name, front in damaged.items():
        write_skill(skills, name, front)
    write_skill(skills, "right")
    (skills / "latin").mkdir()
    (skills / "latin/SKILL.md").write_bytes(b"---\nname: latin\ndescription: caf\xe9\n---\n")
    wire = connect("core")
    assert listed(wire) == {"right": ["SKILL.md"]}
    for name in (*damaged, "latin"):
        assert "is not served" in wire.error("skills/get", {"uri": f"skill://{name}/SKILL.md"})["message"]
        said = wire.call("InvokeSkill", {"skill_name": name})
        assert "<skill_content" in said["content"][0]["text"]


@IN_PROCESS
@pytest.mark.requirement("skills-extension:trust")
def test_skill_that_a_model_may_not_start_is_not_served(
    connect: Callable[..., Wire], skills: Path, environ: dict[str, str]
) -> None:
    write_skill(skills, "mine", "name: mine\ndescription: x\ndisable-model-invocation: true")
    write_skill(skills, "yours")
    wire = connect("core")
    assert listed(wire) == {"yours": ["SKILL.md"]}
    assert wire.error("skills/get", {"uri": "skill://mine/SKILL.md"})["code"] == -32602
    environ["TOOL_INVOKESKILL"] = "false"
    assert listed(connect("core")) == {}


@ON_THE_EXECUTABLE
@pytest.mark.requirement("skills-extension:trust")
def test_skills_of_a_project_stay_inside_it(
    connect: Callable[..., Wire], environ: dict[str, str], tmp_path: Path
) -> None:
    outside = write_skill(tmp_path / "outside", "stolen")
    project = tmp_path / "project"
    write_skill(project / ".claude/skills", "own")
    (project / ".claude/skills/stolen").symlink_to(outside)
    half = write_skill(project / ".claude/skills", "half")
    (half / "SKILL.md").unlink()
    (half / "SKILL.md").symlink_to(outside / "SKILL.md")
    environ["SCORPIO_CWD"] = str(project)
    wire = connect("core")
    assert listed(wire) == {"own": ["SKILL.md"]}
    for name in ("stolen", "half"):
        assert wire.error("resources/read", {"uri": f"skill://{name}/SKILL.md"})["message"].startswith("No skill")


@IN_PROCESS
@pytest.mark.requirement("skills-extension:trust")
def test_folder_that_becomes_a_link_out_of_its_project_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    folder = SkillFolder(str(write_skill(project, "own")), str(project))
    shelf = Shelf()
    assert [entry["uri"] for entry in shelf.page([folder], None)[0]] == ["skill://own/SKILL.md"]
    (project / "own").rename(tmp_path / "own")
    (project / "own").symlink_to(tmp_path / "own")
    entries, _, left_out = shelf.page([folder], None)
    assert entries == []
    assert left_out == {"own": f"leads out of {project}"}


@IN_PROCESS
@pytest.mark.requirement("skills-extension:changes")
def test_changes_on_disk_are_seen_at_the_next_request_and_announced(connect: Callable[..., Wire], skills: Path) -> None:
    folder = write_skill(skills, "first")
    wire = connect("core")
    if wire.revision == MODERN:
        wire.start("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
        wire.notification("notifications/subscriptions/acknowledged")
    [before] = wire.result("skills/list")["skills"]
    write_skill(skills, "second")
    wire.notification("notifications/resources/list_changed")
    assert list(listed(wire)) == ["first", "second"]
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text().replace("Do it", "Do not"))
    (folder / "more.md").write_text("x")
    after = wire.result("skills/get", {"uri": before["uri"]})["skill"]
    assert after["resources"][0]["digest"] != before["resources"][0]["digest"]
    assert [item["size"] for item in after["resources"]] == [before["resources"][0]["size"] + 1, 1]
    assert "Do not" in read(wire, before["uri"])["text"]


@pytest.mark.requirement("skills-extension:bounds")
def test_long_list_comes_in_pages_of_whole_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorpio.skill_shelf.SKILLS_PAGE_BYTES_MAX", 300)
    folders = [SkillFolder(str(write_skill(tmp_path, f"skill-{number}"))) for number in range(5)]
    shelf = Shelf()
    pages = []
    cursor: str | None = None
    while cursor != "":
        entries, cursor, _ = shelf.page(folders, cursor)
        pages.append([entry["frontmatter"]["name"] for entry in entries])
    assert pages == [["skill-0", "skill-1", "skill-2"], ["skill-3", "skill-4"]]
