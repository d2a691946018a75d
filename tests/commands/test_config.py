"""`scorpio config`, `tools`, `completions`: what they print is what is so. Source: cli.md."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.commands.conftest import Run
from tests.links import program_of


def test_a_server_s_config_file_wins_over_the_user_s_and_the_environment(run: Run, build: str, tmp_path: Path) -> None:
    program = " ".join(program_of(build))
    file = tmp_path / "mine.txt"
    file.write_text("TOOL_BASH=false\n")
    server = f"{program} serve --config {file}"
    hidden = run("call", "Bash", "command=true", "--server", server, TOOL_BASH="true")
    assert hidden.returncode == 3
    assert "Bash" in hidden.stderr
    file.write_text("# nothing\n")
    assert run("call", "Bash", "command=true", "--server", server).returncode == 0
    missing = run("serve", "--config", str(tmp_path / "gone"))
    assert (missing.returncode, "is no file that can be read" in missing.stderr) == (2, True)


def test_a_value_that_is_set_is_the_value_that_is_shown_with_its_source(run: Run, tmp_path: Path) -> None:
    file = tmp_path / ".scorpio/scorpio-env.txt"
    file.parent.mkdir()
    file.write_text("# mine\nLOG_LEVEL=debug # loud\nASK_TTY=off")
    assert run("config", "--set", "LOG_LEVEL", "error").returncode == 0
    assert file.read_text() == "# mine\nLOG_LEVEL=error\nASK_TTY=off"
    assert run("config", "--set", "bg_survive", "true").returncode == 0
    assert file.read_text().endswith("ASK_TTY=off\nBG_SURVIVE=true\n")
    assert run("config", "--get", "LOG_LEVEL").stdout == "error\n"
    dumped = run("config", "--dump", "--show-source", ASK_TTY="on").stdout.splitlines()
    assert f"LOG_LEVEL=error  # {file}:2" in dumped
    assert "ASK_TTY=on  # environment variable ASK_TTY" in dumped
    assert "STREAMING=false  # default" in dumped


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--get", "LOG_LEVLE"), "did you mean LOG_LEVEL"),
        (("--set", "NO_SUCH", "1"), "there is no key"),
        (("--set", "BG_SURVIVE", "perhaps"), "must be true or false"),
        (("--set", "MODEL", "a\nTOOLS=false"), "line break"),
        (("--set", "BG_SURVIVE", "true", "--level", "project"), "would be ignored in a project's file"),
    ],
)
def test_what_cannot_be_set_or_shown_is_refused_with_the_way_out(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = run("config", *arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / ".scorpio/scorpio-env.txt").exists()


@pytest.mark.parametrize("value", ["plain", " spaces ", "a # b", "it's", '"quoted"', "", "ü"])
def test_a_value_is_read_back_as_it_was_given(run: Run, value: str) -> None:
    assert run("config", "--set", "MODEL", value).returncode == 0
    assert run("config", "--get", "MODEL").stdout == value + "\n"


def test_a_project_may_hide_a_tool_and_the_table_lacks_it(run: Run, tmp_path: Path) -> None:
    assert "ReadImage {file_path}" in run("tools").stdout
    assert run("config", "--set", "TOOL_READIMAGE", "false", "--level", "project").returncode == 0
    assert (tmp_path / "project/.scorpio/scorpio-env.txt").read_text() == "TOOL_READIMAGE=false\n"
    shown = run("tools").stdout
    assert "ReadImage" not in shown
    assert "Bash {command, timeout?}" in shown


def test_tools_as_json_are_the_lists_of_the_protocol(run: Run) -> None:
    lists = json.loads(run("tools", "--json", "--toolsets", "sum").stdout)
    assert [tool["name"] for tool in lists["tools"]] == ["sum"]
    assert lists["prompts"] == []


def test_a_toolset_that_does_not_exist_is_a_wrong_call(run: Run) -> None:
    done = run("tools", "--toolsets", "nothing")
    assert done.returncode == 2
    assert "nothing" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_knows_every_command(run: Run, shell: str) -> None:
    script = run("completions", shell).stdout
    for word in ("serve", "install", "config", "dry-run"):
        assert word in script
    assert "answer" not in script.replace("to answer for", "")  # an internal command


def test_bash_completes_commands_and_options_with_the_script(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "completions"
    script.write_text(run("completions", "bash").stdout)
    ask = f"source {script}; COMP_WORDS=(scorpio install --d); COMP_CWORD=2; _scorpio; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "--dry-run\n"
