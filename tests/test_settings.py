"""What configuration means: which source wins, and what a project's file may not do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scorpio.settings import FILE_NAME, WARNINGS_MAX, load
from scorpio.settings_lines import FILE_BYTES_MAX


@pytest.fixture(autouse=True)
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))


def _write(directory: Path, text: str) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FILE_NAME).write_text(text)
    return str(directory)


def test_a_file_that_is_not_there_changes_nothing(tmp_path: Path) -> None:
    settings = load({}, str(tmp_path / "home"), str(tmp_path))
    assert (settings.toolsets, settings.hidden_tools, settings.warnings) == (("core",), frozenset(), ())


def test_the_environment_wins_over_a_file_in_either_spelling(tmp_path: Path) -> None:
    home = _write(tmp_path / "home", "STREAMING=true\nBASH_MAX_TIMEOUT_MS=5\n")
    settings = load({"STREAMING": "false", "SCORPIO_BASH_MAX_TIMEOUT_MS": "7", "BASH_MAX_TIMEOUT_MS": "8"}, home)
    assert (settings.streaming, settings.bash_max_timeout_ms, settings.warnings) == (False, 7, ())


def test_an_empty_variable_is_none_and_another_programs_level_is_understood(tmp_path: Path) -> None:
    home = _write(tmp_path / "home", "LOG_LEVEL=error\nSTREAMING=true\nCHROMIUM_PATH=/opt/chromium\n")
    settings = load({"LOG_LEVEL": "", "SCORPIO_STREAMING": "", "CHROMIUM_PATH": ""}, home)
    assert (settings.log_level, settings.streaming, settings.chromium_path) == ("error", True, "")
    assert load({"LOG_LEVEL": "warn"}, home).log_level == "warning"
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("environ", "hidden"),
    [
        ({}, {"BASH"}),
        ({"TOOL_BASH": "true"}, set()),
        ({"SCORPIO_TOOL_BASH": "yes", "TOOL_BASH": "false"}, set()),
        ({"SCORPIO_TOOL_READ_IMAGE": "off"}, {"BASH", "READIMAGE"}),
        ({"TOOL_BASH": "/usr/bin/bash"}, {"BASH"}),
    ],
)
def test_a_tool_is_hidden_or_shown_by_the_environment_before_any_file(
    tmp_path: Path, environ: dict[str, str], hidden: set[str]
) -> None:
    settings = load(environ, _write(tmp_path / "home", "TOOL_BASH=false\n"))
    assert (set(settings.hidden_tools), settings.warnings) == (hidden, ())


def test_a_projects_file_may_tighten_and_its_loosening_is_a_warning(tmp_path: Path) -> None:
    home = _write(tmp_path / "home", "BASH_MAX_TIMEOUT_MS=1000\nTOOL_BASH=false\n")
    _write(
        tmp_path / "project" / ".scorpio",
        "BASH_MAX_TIMEOUT_MS=2000\nBG_SURVIVE=true\nTOOLSETS=sum\nTOOL_BASH=true\nTOOL_READ_IMAGE=false\n",
    )
    settings = load({}, home, str(tmp_path / "project"))
    assert (settings.bash_max_timeout_ms, settings.bg_survive, settings.toolsets) == (1000, False, ("core",))
    assert settings.hidden_tools == {"BASH", "READIMAGE"}
    assert len(settings.warnings) == 3
    assert all("may not be loosened" in warning for warning in settings.warnings)


def test_what_the_command_line_says_wins_over_all_and_is_named_where_it_is_wrong(tmp_path: Path) -> None:
    home = _write(tmp_path / "home", "BASH_MAX_TIMEOUT_MS=5\n")
    flags = [("mine:1", "BASH_MAX_TIMEOUT_MS", "7"), ("mine:2", "MODEL", None), ("command line", "SANDBOX", "all")]
    settings = load({"BASH_MAX_TIMEOUT_MS": "6"}, home, flags=flags)
    assert (settings.bash_max_timeout_ms, settings.sources["BASH_MAX_TIMEOUT_MS"]) == (7, "mine:1")
    assert [warning.split(": ")[0] for warning in settings.warnings] == ["mine:2", "command line"]


def test_a_file_of_something_else_is_a_few_warnings(tmp_path: Path) -> None:
    settings = load({}, _write(tmp_path / "home", "prose\n" * 1000 + "MODEL=read\n"))
    assert (len(settings.warnings), settings.model) == (WARNINGS_MAX, "read")
    assert settings.warnings[-1].endswith("So are 980 more.")


@pytest.mark.parametrize("kind", ["folder", "pipe", "long"])
def test_a_file_that_cannot_be_used_is_a_warning_with_its_name(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    file = home / FILE_NAME
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.write_text("MODEL=lost\n" + "#" * FILE_BYTES_MAX)
    settings = load({}, str(home))
    [warning] = settings.warnings
    assert warning.startswith(f"{file} is ")
    assert (warning.endswith("; it is ignored."), settings.model) == (True, "")


def test_lines_are_those_that_an_editor_counts_and_a_byte_order_mark_is_none_of_them(tmp_path: Path) -> None:
    home = _write(tmp_path / "home", "\ufeffMODEL=a\u2028b\x0bc\r\nnonsense\r\n")
    settings = load({}, home)
    assert settings.model == "a\u2028b\x0bc"
    assert [warning.split(": ")[0] for warning in settings.warnings] == [f"{home}/{FILE_NAME}:2"]


def test_a_line_that_is_wrong_is_a_warning_with_its_place_and_the_next_one_counts(tmp_path: Path) -> None:
    home = _write(tmp_path / "home", "\0\x1b[31m\n=1\nTOOLS\nLOG_LEVEL=loud\nNOBODY=1\nSTRUCTURED = 'true' # said\n")
    settings = load({}, home)
    assert settings.structured is True
    assert [warning.split(": ")[0][-2:] for warning in settings.warnings] == [":1", ":2", ":3", ":4", ":5"]
