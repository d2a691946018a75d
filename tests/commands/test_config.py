"""`scorpio config`, `tools`, `completions`: what they print is what is so. Source: cli.md."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.commands.conftest import Run
from tests.links import ROOT


@pytest.mark.requirement("cli:config-file")
def test_a_server_s_config_file_wins_over_the_user_s_and_the_environment(
    run: Run, program: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("TOOL_BASH=false\n")
    server = f"{' '.join(program)} serve --config {file}"
    hidden = run("call", "Bash", "command=true", "--server", server, TOOL_BASH="true")
    assert hidden.returncode == 3
    assert "Bash" in hidden.stderr
    file.write_text("# nothing\n")
    assert run("call", "Bash", "command=true", "--server", server).returncode == 0


@pytest.mark.requirement("cli:config-file")
def test_an_option_wins_over_the_config_file(run: Run, program: list[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("SANDBOX=off\nSANDBOX_REQUIRED=true\nSANDBOX_BACKEND=allowlist\n")
    server = f"{' '.join(program)} serve --config {file}"
    refused = run("call", "Bash", "command=true", "--server", server)
    assert (refused.returncode, "SANDBOX is off" in refused.stdout) == (1, True)
    refused = run("call", "Bash", "command=true", "--server", f"{server} --sandbox read-only")
    assert (refused.returncode, "SANDBOX is off" in refused.stdout) == (1, False), refused.stdout
    assert run("call", "sum", "a=3", "b=4", "--server", f"{server} --toolsets sum").stdout == "3 + 4 = 7\n"


@pytest.mark.requirement("cli:config-file")
def test_a_wrong_line_of_the_config_file_is_a_warning_with_its_place(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("LOG_LEVEL=loud\nnonsense\n# said\nNOBODY=1\nXMPP_PASSWORD woof-9\nTOOL_BASH=perhaps\n")
    served = run("serve", "--config", str(file))
    assert (served.returncode, served.stdout) == (0, "")
    said = served.stderr.splitlines()
    assert [line.split(": ")[0] for line in said] == [f"[Server] {file}:{line}" for line in (1, 2, 4, 5, 6)]
    assert "woof-9" not in served.stderr


@pytest.mark.requirement("cli:config-file")
def test_a_server_over_http_takes_a_config_file_too(
    program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("nonsense\n")
    with subprocess.Popen(
        [*program, "http", "--port", "0", "--config", str(file)],
        env={**environment, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        said = []
        for line in server.stderr:
            said.append(line)
            if "Serving MCP on" in line:
                server.terminate()
    assert said[0].startswith(f"[Server] {file}:1: 'nonsense' is not KEY=VALUE")
    assert server.returncode == 0


@pytest.mark.requirement("cli:config-file")
@pytest.mark.parametrize("command", ["serve", "http"])
def test_a_config_file_that_cannot_be_used_is_a_wrong_call(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "binary").write_bytes(b"MODEL=\0\x01\n")
    with (tmp_path / "long").open("wb") as file:
        file.truncate(100_000_000)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, why in {
        "gone": "is not there",
        "binary": "is no text",
        "long": "is longer than 256 KiB",
        "pipe": "is a pipe or a device, and no file",
        "loop": "cannot be read (too many levels of symbolic links)",
        ".": "is a directory",
    }.items():
        done = run(command, "--config", str(tmp_path / name))
        first, _, form = done.stderr.partition("\n")
        expected = f"scorpio {command}: --config {tmp_path / name} {why}. Name a text file with lines KEY=VALUE."
        assert (done.returncode, done.stdout, first) == (2, "", expected)
        assert form.startswith(f"usage: scorpio {command}")


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
        (("--get", "LOG_LEVLE"), "Did you mean LOG_LEVEL?\n"),
        (("--set", "NO_SUCH", "1"), "there is no key"),
        (("--set", "BG_SURVIVE", "perhaps"), "must be true or false"),
        (("--get", ""), "there is no key ''"),
        (("--set", "TOOL_BASH", "perhaps"), "TOOL_BASH must be true or false"),
        (("--set", "TOOL_BASH", "true", "--level", "project"), "would be ignored in a project's file"),
        (("--set", "TOOLSETS", "core,nothing"), "There is no toolset 'nothing'."),
        (("--set", "MODEL", "a\nTOOLS=false"), "line break"),
        (("--set", "MODEL", ' it\'s "so"'), "both kinds of quotes"),
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


def test_a_tool_that_was_hidden_is_shown_as_hidden(run: Run) -> None:
    assert run("config", "--get", "tool_read_image").stdout == "true\n"
    assert run("config", "--set", "TOOL_READ_IMAGE", "off").returncode == 0
    assert run("config", "--get", "TOOL_READIMAGE").stdout == "false\n"


def test_a_file_that_is_a_link_stays_one_and_what_cannot_be_read_is_not_written_over(run: Run, tmp_path: Path) -> None:
    file, kept = tmp_path / ".scorpio/scorpio-env.txt", tmp_path / "kept.txt"
    file.parent.mkdir()
    kept.write_text("MODEL=a\n")
    file.symlink_to(kept)
    assert run("config", "--set", "MODEL", "b").returncode == 0
    assert (file.is_symlink(), kept.read_text()) == (True, "MODEL=b\n")
    long = "MODEL=c\n" + "#" * 300_000
    kept.write_text(long)
    refused = run("config", "--set", "MODEL", "d")
    assert (refused.returncode, "is longer than 256 KiB" in refused.stderr) == (1, True)
    assert kept.read_text() == long


@pytest.mark.parametrize("value", ["plain", " spaces ", "a # b", "it's", '"quoted"', "", "ü", "a\u2028b\x0bc", "\xa0"])
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


def test_a_configured_toolset_that_does_not_exist_is_told_with_its_place(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("# mine\nTOOLSETS=sum,nothing\n")
    done = run("serve", "--config", str(file))
    assert done.returncode == 2
    assert done.stderr.startswith(f"scorpio: {file}:2: There is no toolset 'nothing'.")
    assert "environment variable TOOLSETS: There is no" in run("tools", TOOLSETS="nothing").stderr


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
