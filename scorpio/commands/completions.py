"""`scorpio completions SHELL`: a script that completes commands and options, made from the parser itself."""

from __future__ import annotations

import argparse
import sys

BASH = """\
_scorpio() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}"
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{words}" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}}
complete -F _scorpio scorpio
"""
BASH_CASE = """        {command}) COMPREPLY=($(compgen -W "{options}" -- "$word")) ;;"""
ZSH = """\
#compdef scorpio
_scorpio() {{
    local -a commands=({commands})
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    case $words[2] in
{cases}
    esac
    _files
}}
compdef _scorpio scorpio
"""
ZSH_CASE = """        {command}) compadd -- {options} ;;"""


def run(shell: str, parser: argparse.ArgumentParser) -> int:
    """Write the script to stdout."""
    sys.stdout.write({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](_commands(parser)))
    return 0


class _Command:
    def __init__(self, name: str, does: str, parser: argparse.ArgumentParser) -> None:
        self.name = name
        self.does = does
        self.options = [action for action in parser._actions if action.option_strings or action.choices]

    def words(self) -> list[str]:
        """Its options, and the values of arguments that have a choice."""
        found: list[str] = []
        for action in self.options:
            found += action.option_strings or [str(choice) for choice in action.choices or ()]
        return found


def _commands(parser: argparse.ArgumentParser) -> list[_Command]:
    subparsers = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return [
        _Command(str(choice.dest), choice.help, subparsers.choices[choice.dest])
        for choice in subparsers._choices_actions
        if choice.help
    ]


def _bash(commands: list[_Command]) -> str:
    cases = [BASH_CASE.format(command=command.name, options=" ".join(command.words())) for command in commands]
    words = " ".join([*(command.name for command in commands), "--help", "--version"])
    return BASH.format(words=words, cases="\n".join(cases))


def _zsh(commands: list[_Command]) -> str:
    described = " ".join(_quoted(f"{command.name}:{command.does}") for command in commands)
    cases = [ZSH_CASE.format(command=command.name, options=" ".join(command.words())) for command in commands]
    return ZSH.format(commands=described, cases="\n".join(cases))


def _fish(commands: list[_Command]) -> str:
    lines = [
        "complete -c scorpio -f -n __fish_use_subcommand -l help",
        "complete -c scorpio -n __fish_use_subcommand -l version",
    ]
    for command in commands:
        lines.append(f"complete -c scorpio -f -n __fish_use_subcommand -a {command.name} -d {_quoted(command.does)}")
        seen = f"-n '__fish_seen_subcommand_from {command.name}'"
        for action in command.options:
            described = f" -d {_quoted(action.help)}" if action.help else ""
            if action.option_strings:
                longs = " ".join(f"-l {name.lstrip('-')}" for name in action.option_strings if name.startswith("--"))
                given = "" if action.nargs == 0 else " -r"
                lines.append(f"complete -c scorpio {seen} {longs}{given}{described}")
            else:
                lines.append(f"complete -c scorpio -f {seen} -a {_quoted(' '.join(map(str, action.choices or ())))}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
