"""Skills on a real disk: which are found, which are refused, what their text becomes, and what a watch sees."""

from __future__ import annotations

import os
import queue
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.settings import load
from scorpio.skill_folder import Refused
from scorpio.tool import ToolFailure
from tools.core.directory_watch import DirectoryWatch, nearest_existing
from tools.core.invoke_skill import catalogue, skill_text
from tools.core.invoke_skill.front_matter import FrontMatter
from tools.core.invoke_skill.hint import completed
from tools.core.invoke_skill.skill_files import (
    BUILT_IN,
    PLACES,
    Found,
    Skill,
    Source,
    find,
    is_name,
    read_skill,
    sources,
)
from tools.core.invoke_skill.substitution import Command, Substitution
from tools.core.limits import (
    SKILL_FILE_BYTES_MAX,
    SKILL_FILES_SHOWN_MAX,
    SKILL_TEXT_CHARS_MAX,
    SKILLS_MAX,
    TOOL_DESCRIPTION_BYTES_MAX,
)

EVENT_S_MAX = 30.0
"""For what takes milliseconds; this long only when it never comes."""


class Places:
    """A project and a home in one temporary directory."""

    def __init__(self, directory: Path) -> None:
        self.project = directory / "project"
        self.home = directory / "home"
        self.state = directory / "state"
        self.additional = directory / "additional"
        for path in (self.project, self.home, self.state, self.additional):
            path.mkdir()

    def sources(self) -> list[Source]:
        return sources(str(self.project), str(self.home), str(self.state), [str(self.additional)])

    def find(self, known: Found | None = None) -> Found:
        before = {skill.directory: skill for skill in known.skills.values()} if known else {}
        return find(self.sources(), before)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def write_skill(folder: Path, text: str = "Do it.\n", **front: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{key.replace('_', '-')}: {value}" for key, value in front.items()]
    content = "\n".join(["---", *lines, "---", text]) if front else text
    (folder / "SKILL.md").write_text(content, "utf-8")
    return folder


# -- where skills are


def directories(places: Places) -> list[Path]:
    """All that may hold skills, highest precedence first, as the contract lists them."""
    return [
        *(places.project / place / "skills" for place in (".scorpio", ".scorpiox", ".claude", ".agents")),
        places.state / "skills",
        *(places.home / place / "skills" for place in (".scorpio", ".scorpiox", ".claude", ".agents")),
        places.additional,
    ]


def test_the_directories_are_looked_at_in_their_order(places: Places) -> None:
    assert [source.path for source in places.sources()] == [*map(str, directories(places)), BUILT_IN]


def test_the_first_directory_that_has_a_name_wins(places: Places) -> None:
    for directory in directories(places):
        write_skill(directory / "same", description=str(directory))
    for directory in directories(places):
        assert places.find().skills["same"].about.description == str(directory)
        shutil.rmtree(directory / "same")
    assert places.find().skills == {}


def test_skills_of_all_directories_stand_in_one_sorted_list(places: Places) -> None:
    for number, directory in enumerate(directories(places)):
        write_skill(directory / f"skill-{9 - number}")
    assert list(places.find().skills) == [f"skill-{number}" for number in range(10)]


def test_a_project_that_is_the_home_is_the_users_own(places: Places) -> None:
    found = sources(str(places.home), str(places.home), str(places.home / ".scorpio"), [])
    assert {source.origin for source in found} == {"home", "built-in"}
    assert len({source.path for source in found}) == len(found) == len(PLACES) + 1


@pytest.mark.parametrize("name", ["a", "Deploy", "pdf-2", "v1.2", "a_b", "名前", "é", "a" * 64, "9"])
def test_a_good_name_is_one(name: str, places: Places) -> None:
    write_skill(places.home / ".claude/skills" / name)
    assert list(places.find().skills) == [name]


BAD_NAMES = ["a b", "a\nb", "-a", "_a", "a" * 65, "a\u202eb", "a;b", "$(id)", "a\x1b", "~"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_folder_with_a_bad_name_is_left_out_and_told(name: str, places: Places) -> None:
    write_skill(places.home / ".claude/skills" / name)
    found = places.find()
    assert found.skills == {}
    assert [text for text in found.warnings if "is no name" in text and text.isprintable()]


@pytest.mark.parametrize(
    "name", [*BAD_NAMES, "", ".", "..", "../x", "/x", "a/b", "a\\b", "a\0b", ".hidden", "x" * 10**6]
)
def test_what_could_be_a_path_is_no_name(name: str) -> None:
    assert not is_name(name)


def test_what_is_no_skill_is_passed_over_in_silence(places: Places) -> None:
    skills = places.home / ".claude/skills"
    (skills / "empty").mkdir(parents=True)
    (skills / "README.md").write_text("no folder")
    (skills / ".git").mkdir()
    write_skill(skills / ".hidden")
    found = places.find()
    assert (found.skills, found.refused, found.warnings) == ({}, {}, [])


def test_no_more_skills_are_taken_than_the_bound(places: Places) -> None:
    for number in range(SKILLS_MAX + 2):
        write_skill(places.home / f".claude/skills/s{number:04}")
    found = places.find()
    assert len(found.skills) == SKILLS_MAX
    assert len(found.warnings) == 1


# -- links and files that are none


def test_a_projects_skill_may_not_lead_out_of_the_project(places: Places) -> None:
    secret = write_skill(places.home / "secret", "password")
    skills = places.project / ".claude/skills"
    skills.mkdir(parents=True)
    (skills / "folder").symlink_to(secret)
    (skills / "file").mkdir()
    (skills / "file/SKILL.md").symlink_to(secret / "SKILL.md")
    found = places.find()
    assert found.skills == {}
    assert sorted(found.refused) == ["file", "folder"]
    assert all("leads out of the project" in said for said in found.refused.values())


@pytest.mark.parametrize("at", [".claude", ".claude/skills"])
def test_a_projects_directory_of_skills_may_not_lead_out_of_it(at: str, places: Places) -> None:
    write_skill(places.home / "elsewhere/skills/x")
    link = places.project / at
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(places.home / "elsewhere" / ("" if at == ".claude" else "skills"))
    found = places.find()
    assert found.skills == {}
    assert ["leads out of the project" in text for text in found.warnings] == [True]


def test_a_link_within_the_project_is_followed(places: Places) -> None:
    write_skill(places.project / "docs/x")
    skills = places.project / ".claude/skills"
    skills.mkdir(parents=True)
    (skills / "x").symlink_to("../../docs/x")
    (places.project / ".agents").symlink_to(".claude")
    assert list(places.find().skills) == ["x"]


def test_a_neighbour_with_the_projects_name_as_its_beginning_is_outside(places: Places) -> None:
    write_skill(places.project.with_name("project-evil") / "x")
    (places.project / ".claude/skills").mkdir(parents=True)
    (places.project / ".claude/skills/x").symlink_to(places.project.with_name("project-evil") / "x")
    assert list(places.find().refused) == ["x"]


def test_the_users_own_links_are_followed(places: Places) -> None:
    write_skill(places.state / "dotfiles/x")
    (places.home / ".claude").mkdir()
    (places.home / ".claude/skills").symlink_to(places.state / "dotfiles")
    assert list(places.find().skills) == ["x"]


def test_what_is_refused_leaves_its_name_to_the_next_directory(places: Places) -> None:
    (places.project / ".claude/skills").mkdir(parents=True)
    (places.project / ".claude/skills/x").symlink_to(places.state)
    (places.state / "SKILL.md").write_text("out")
    write_skill(places.home / ".claude/skills/x", description="good")
    found = places.find()
    assert found.skills["x"].about.description == "good"
    assert found.refused == {}
    assert len(found.warnings) == 1


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_directory(path: Path) -> None:
    path.mkdir()


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_dangling(path: Path) -> None:
    path.symlink_to("nothing")


def make_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(SKILL_FILE_BYTES_MAX + 1)


def make_binary(path: Path) -> None:
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")


@pytest.mark.parametrize(
    "make", [make_fifo, make_directory, make_device, make_loop, make_dangling, make_large, make_binary]
)
@pytest.mark.timeout(20)
def test_a_file_that_is_no_text_of_bounded_size_is_refused(make: Callable[[Path], None], places: Places) -> None:
    folder = places.home / ".claude/skills/x"
    folder.mkdir(parents=True)
    make(folder / "SKILL.md")
    found = places.find()
    assert found.skills == {}
    assert list(found.refused) == ["x"]


def test_a_file_that_may_not_be_read_is_refused(places: Places) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    folder = write_skill(places.home / ".claude/skills/x")
    (folder / "SKILL.md").chmod(0)
    assert "Permission denied" in places.find().refused["x"]


def test_text_that_is_not_utf_8_is_read_with_replacements(places: Places) -> None:
    folder = write_skill(places.home / ".claude/skills/x")
    (folder / "SKILL.md").write_bytes(b"---\ndescription: caf\xe9\n---\n")
    assert places.find().skills["x"].about.description == "caf\ufffd"


def test_a_change_between_looking_and_reading_cannot_lead_out(places: Places) -> None:
    folder = write_skill(places.project / ".claude/skills/x")
    assert "x" in places.find().skills
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to("/etc/hostname")
    with pytest.raises(Refused, match="leads out"):
        read_skill(str(folder / "SKILL.md"), str(places.project.resolve()))


def test_what_has_not_changed_is_not_read_again(places: Places) -> None:
    folder = write_skill(places.home / ".claude/skills/x", description="one")
    os.utime(folder / "SKILL.md", (1, 1))
    before = places.find()
    assert places.find(before).skills["x"] is before.skills["x"]
    write_skill(folder, description="two")
    assert places.find(before).skills["x"].about.description == "two"


def test_a_change_within_one_tick_of_the_clock_is_seen(places: Places) -> None:
    folder = write_skill(places.home / ".claude/skills/x", description="one")
    before = places.find()
    write_skill(folder, description="two")
    assert places.find(before).skills["x"].about.description == "two"


# -- the catalogue


def listed(*names: str, description: str = "Does it.") -> list[Skill]:
    about = FrontMatter({"description": description}, [], "")
    return [Skill(name, Source("/nowhere", "home"), "", (), about) for name in names]


def test_every_skill_has_its_line_in_the_description() -> None:
    assert catalogue.described("Written.", listed("a", "b")) == "Written.\n\nSkills:\n- a: Does it.\n- b: Does it."


def test_a_description_without_skills_says_so() -> None:
    assert catalogue.described("Written.", []) == "Written.\n\nThere are no skills."


def test_descriptions_are_cut_before_names_are_left_out() -> None:
    names = [f"skill-{number}" for number in range(20)]
    text = catalogue.described("Written.", listed(*names, description="word " * 100))
    assert all(f"- {name}: word" in text for name in names)
    assert "more" not in text


@pytest.mark.parametrize("count", [1, 20, 60, 100, 512])
@pytest.mark.parametrize("description", ["x", "word " * 400, "説明" * 1000, ""])
def test_the_description_stays_within_its_bound(count: int, description: str) -> None:
    skills = listed(*(f"skill-{number:03}-{'n' * 50}" for number in range(count)), description=description)
    text = catalogue.described("w" * 600, skills)
    assert len(text.encode()) <= TOOL_DESCRIPTION_BYTES_MAX
    shown = text.count("\n- skill-")
    rest = count - shown
    assert shown > 5 or rest == 0
    assert text.endswith(f'(+{rest} more; skill_name "list" shows all)') == (rest > 0)


@given(st.integers(0, 200), st.integers(1, 64), st.text(max_size=60), st.integers(0, 1500))
def test_no_description_passes_the_bound(count: int, name_size: int, description: str, written: int) -> None:
    skills = listed(*(f"{number:03}{'n' * name_size}"[:64] for number in range(count)), description=description)
    assert len(catalogue.described("w" * written, skills).encode()) <= TOOL_DESCRIPTION_BYTES_MAX


@pytest.mark.parametrize(
    ("name", "best"), [("deplyo", "deploy"), ("DEPLOY", "deploy"), ("review", "code-review"), ("pdfs", "pdf")]
)
def test_the_nearest_name_comes_first_of_three(name: str, best: str) -> None:
    found = catalogue.nearest(name, ["deploy", "code-review", "pdf", "test", "docs"])
    assert (found[0], len(found)) == (best, 3)


# -- arguments


def substituted(body: str, arguments: str, *names: str) -> str:
    parts = Substitution(arguments, names, "/skills/x", "/project").parts(body, commands=False)
    return "".join(map(str, parts))


SUBSTITUTIONS = {
    "all": ("Do $ARGUMENTS now", "a 'b c'", (), "Do a 'b c' now"),
    "all, twice": ("$ARGUMENTS/$ARGUMENTS", "a", (), "a/a"),
    "all, empty": ("Do $ARGUMENTS.", "", (), "Do ."),
    "index": ("$ARGUMENTS[1] $ARGUMENTS[0]", "a 'b c' d", (), "b c a"),
    "index past the end": ("[$ARGUMENTS[3]]", "a", (), "[]"),
    "no index": ("$ARGUMENTS[x]", "a", (), "a[x]"),
    "a longer word": ("$ARGUMENTSX $MY_ARGUMENTS", "", (), "$ARGUMENTSX $MY_ARGUMENTS"),
    "places": ("${SKILL_DIR} ${CLAUDE_SKILL_DIR} ${CLAUDE_PROJECT_DIR}", "", (), "/skills/x /skills/x /project"),
    "other variables": ("$HOME ${PATH} $SKILL_DIR ${ARGUMENTS}", "", (), "$HOME ${PATH} $SKILL_DIR ${ARGUMENTS}"),
    "a price": ("costs $5 or $0", "", (), "costs $5 or $0"),
    "a price, arguments": ("costs $0", "a", (), "costs $0\n\nARGUMENTS: a"),
    "a price where names are declared": ("costs $5, $0", "a b", ("x",), "costs $5, a"),
    "number": ("$0 then $1", "'a b' c", ("x", "y"), "a b then c"),
    "number in a word": ("$1st $0_", "a b", ("x",), "$1st $0_\n\nARGUMENTS: a b"),
    "name": ("$who $style", "Ann formal", ("who", "style"), "Ann formal"),
    "name not given": ("[$style]", "Ann", ("who", "style"), "[]"),
    "name not declared": ("$who", "Ann", (), "$who\n\nARGUMENTS: Ann"),
    "name within a name": ("$old-name $old $older", "a b", ("old", "old-name"), "b a $older"),
    "a place without a name": ("$b $0", "x y", ("", "b"), "y x"),
    "no place": ("Do it.", "a b", (), "Do it.\n\nARGUMENTS: a b"),
    "no place, no arguments": ("Do it.", "", (), "Do it."),
    "only a directory": ("${SKILL_DIR}", "a", (), "/skills/x\n\nARGUMENTS: a"),
    "one pass": ("$ARGUMENTS $0", "$0 $ARGUMENTS[1] ${SKILL_DIR}", ("x",), "$0 $ARGUMENTS[1] ${SKILL_DIR} $0"),
    "backslashes stay": ("$ARGUMENTS", r"\1 \g<0> C:\new", (), r"\1 \g<0> C:\new"),
    "a quote alone": ("$ARGUMENTS[1]", "don't stop", (), "stop"),
    "unicode": ("$ARGUMENTS[0]|$ARGUMENTS[1]", "日本 '語 語'", (), "日本|語 語"),
    "a command is text": ("!`git log $ARGUMENTS`", "-1", (), "!`git log -1`"),
}


@pytest.mark.parametrize(("body", "arguments", "names", "text"), SUBSTITUTIONS.values(), ids=SUBSTITUTIONS)
def test_arguments_are_put_in(body: str, arguments: str, names: tuple[str, ...], text: str) -> None:
    assert substituted(body, arguments, *names) == text


@given(st.text(), st.lists(st.sampled_from(["$ARGUMENTS", "x", "${SKILL_DIR}", "$0", "$who"])))
def test_what_was_put_in_is_never_looked_at_again(inner: str, pieces: list[str]) -> None:
    arguments = f"<{inner} $ARGUMENTS $0 ${{SKILL_DIR}}>"
    expected = "\x1f".join(pieces).replace("${SKILL_DIR}", "/skills/x").replace("$ARGUMENTS", arguments)
    if "$ARGUMENTS" not in pieces:
        expected += f"\n\nARGUMENTS: {arguments}"
    assert substituted("\x1f".join(pieces), arguments) == expected


def test_a_text_that_would_grow_without_bound_is_refused() -> None:
    with pytest.raises(ToolFailure, match="Shorten them"):
        substituted("$ARGUMENTS" * 50_000, "x" * 60_000)
    assert len(substituted("$ARGUMENTS" * 20, "x" * 60_000)) < SKILL_TEXT_CHARS_MAX


def commands(body: str, arguments: str = "", *names: str) -> list[str | Command]:
    parts = Substitution(arguments, names, "/skills/x", "/project").parts(body, commands=True)
    return [part for part in parts if part]


def test_arguments_of_a_command_are_variables_and_never_code() -> None:
    arguments = "a'; rm -rf / $(id) `id`"
    parts = commands("Log: !`git log $ARGUMENTS $ARGUMENTS[0] $who ${SKILL_DIR} $HOME`", arguments, "who")
    assert parts[0] == "Log: "
    command = parts[1]
    assert isinstance(command, Command)
    assert command.source == ("git log ${ARGUMENTS} ${SKILL_ARGUMENT_0} ${SKILL_ARGUMENT_0} ${SKILL_DIR} $HOME")
    assert command.variables["ARGUMENTS"] == arguments
    assert "rm" not in command.source
    assert len(parts) == 2


@pytest.mark.parametrize(
    ("body", "count"),
    [("!`a`", 1), ("x !`a` y\n!`b`", 2), ("x!`a`", 0), ("`!`", 0), ("!`a\nb`", 0), ("!``", 0), ("(!`a`)", 0)],
)
def test_a_command_stands_at_the_start_of_a_line_or_after_white_space(body: str, count: int) -> None:
    assert sum(isinstance(part, Command) for part in commands(body)) == count


def test_a_command_in_an_argument_is_text() -> None:
    assert commands("$ARGUMENTS", "!`id`") == ["!`id`"]


# -- the answer


def test_files_are_listed_by_relative_paths_without_following_links(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "x")
    for name in ("scripts/run.sh", "a.md", "deep/er/f", ".git/config", "__pycache__/a.pyc", "odd\nname"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "link").symlink_to("/etc")
    text = skill_text.framed("x", "Do it.", str(folder), commands_left=False)
    assert text.splitlines() == [
        '<skill_content name="x">',
        "Do it.",
        "",
        f"Skill directory: {folder}",
        "Files in it, by paths relative to it:",
        "- a.md",
        "- deep/er/f",
        "- link",
        "- odd name",
        "- scripts/run.sh",
        "</skill_content>",
    ]


def test_more_files_than_are_shown_are_counted(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "x")
    for number in range(SKILL_FILES_SHOWN_MAX + 7):
        (folder / f"f{number:04}").touch()
    text = skill_text.framed("x", "Do it.", str(folder), commands_left=False)
    assert text.endswith(f"- f{SKILL_FILES_SHOWN_MAX - 1:04}\n(+7 more)\n</skill_content>")


def test_the_text_cannot_end_its_frame(tmp_path: Path) -> None:
    text = skill_text.framed("x", "a\n</skill_content>\nb", str(tmp_path), commands_left=False)
    assert text.count("</skill_content>") == 1
    assert text.endswith("</skill_content>")


# -- completion


@pytest.mark.parametrize(
    ("hint", "value", "values"),
    [
        ("[staging|production] [--force]", "", ["staging", "production", "--force"]),
        ("[staging|production] [--force]", "st", ["staging"]),
        ("[staging|production] [--force]", "staging ", ["staging --force"]),
        ("[staging|production] [--force]", "--force p", ["--force production"]),
        ("[staging|production] [--force]", "--force --", []),
        ("<issue> <major|minor>", "", []),
        ("<issue> <major|minor>", "42 m", ["42 major", "42 minor"]),
        ("<name>", "x", []),
        ("what|ever you like", "w", ["what"]),
        ("[--graph both|one] (a|b)", "", ["a", "b", "--graph"]),
        ("", "a", []),
        ("[" * 5000 + "a|b", "", []),
    ],
)
def test_a_hint_completes_what_it_names(hint: str, value: str, values: list[str]) -> None:
    assert completed(hint, value) == values


@given(st.text(), st.text())
def test_any_hint_completes_to_what_was_typed_and_more(hint: str, value: str) -> None:
    assert all(found.startswith(value) for found in completed(hint, value))


# -- settings


def test_a_projects_file_may_neither_run_commands_nor_add_directories(tmp_path: Path) -> None:
    (tmp_path / "p/.scorpio").mkdir(parents=True)
    (tmp_path / "p/.scorpio/scorpio-env.txt").write_text("SKILL_EXEC=true\nADDITIONAL_SKILLS=/tmp\n")
    settings = load({}, str(tmp_path / "home"), str(tmp_path / "p"))
    assert (settings.skill_exec, settings.additional_skills) == (False, ())
    assert len(settings.warnings) == 2


def test_additional_skills_are_absolute_paths(tmp_path: Path) -> None:
    given_paths = f"~/a{os.pathsep}/b c{os.pathsep}"
    settings = load({"ADDITIONAL_SKILLS": given_paths}, str(tmp_path))
    assert settings.additional_skills == (os.path.expanduser("~/a"), "/b c")
    settings = load({"ADDITIONAL_SKILLS": "relative"}, str(tmp_path))
    assert settings.additional_skills == ()
    assert "must be absolute paths" in settings.warnings[0]


# -- watching


class Watched:
    """A watch over one directory that may not exist yet; `told` gets an item for each telling."""

    def __init__(self, path: Path, names: frozenset[str] | None = None) -> None:
        self.path = path
        self.names = names
        self.told: queue.Queue[list[str]] = queue.Queue()
        self.watch = DirectoryWatch(self.wanted, self.changed)

    def wanted(self) -> dict[str, frozenset[str] | None]:
        directory, missing = nearest_existing(str(self.path))
        return {directory: self.names if missing is None else frozenset({missing})}

    def changed(self) -> None:
        self.told.put(sorted(os.listdir(self.path)) if self.path.is_dir() else [])

    def wait_for(self, content: list[str]) -> None:
        while self.told.get(timeout=EVENT_S_MAX) != content:
            pass


@pytest.fixture
def watched(tmp_path: Path) -> Callable[..., Watched]:
    def make(path: str = "d", names: frozenset[str] | None = None) -> Watched:
        made = Watched(tmp_path / path, names)
        made.watch.start()
        return made

    return make


def open_inotify() -> int:
    return sum("inotify" in os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_open(fd))


def _is_open(fd: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{fd}")


@pytest.mark.skipif(not hasattr(os, "eventfd"), reason="inotify is of Linux")
def test_what_happens_in_a_directory_is_told(watched: Callable[..., Watched], tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    watch = watched()
    watch.wait_for([])
    (tmp_path / "d/a").touch()
    watch.wait_for(["a"])
    (tmp_path / "d/a").rename(tmp_path / "d/b")
    watch.wait_for(["b"])
    (tmp_path / "d/b").unlink()
    watch.wait_for([])
    watch.watch.close()


@pytest.mark.skipif(not hasattr(os, "eventfd"), reason="inotify is of Linux")
def test_a_directory_that_appears_later_or_anew_is_watched(watched: Callable[..., Watched], tmp_path: Path) -> None:
    watch = watched("a/b/c")
    watch.wait_for([])
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/x").touch()
    watch.wait_for(["x"])
    shutil.rmtree(tmp_path / "a")
    watch.wait_for([])
    (tmp_path / "new").mkdir()
    (tmp_path / "new/y").touch()
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "new").rename(tmp_path / "a/b/c")
    watch.wait_for(["y"])
    (tmp_path / "a/b/c").rename(tmp_path / "old")
    watch.wait_for([])
    watch.watch.close()


@pytest.mark.skipif(not hasattr(os, "eventfd"), reason="inotify is of Linux")
def test_names_that_do_not_matter_wake_nobody(watched: Callable[..., Watched], tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    watch = watched("d", frozenset({"SKILL.md"}))
    watch.wait_for([])
    for number in range(100):
        (tmp_path / f"d/{number}").touch()
    for number in range(100):
        (tmp_path / f"d/{number}").unlink()
    (tmp_path / "d/SKILL.md").touch()
    watch.wait_for(["SKILL.md"])
    assert watch.told.empty()
    watch.watch.close()
