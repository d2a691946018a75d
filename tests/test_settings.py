"""What configuration means: which source wins, and what a project's file may not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorpio.settings import FILE_NAME, load


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


def test_a_line_that_is_wrong_is_a_warning_with_its_place_and_the_next_one_counts(tmp_path: Path) -> None:
    home = _write(tmp_path / "home", "\0\x1b[31m\n=1\nTOOLS\nLOG_LEVEL=loud\nNOBODY=1\nSTRUCTURED = 'true' # said\n")
    settings = load({}, home)
    assert settings.structured is True
    assert [warning.split(": ")[0][-2:] for warning in settings.warnings] == [":1", ":2", ":3", ":4", ":5"]
