"""The allowlist: what it lets run only reads, and whatever could hide something else is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorpio.readonly_commands import ANY_ARGUMENTS, outward, refusal

READS = [
    "ls -la *.py | head -3",
    "cat 'a b' \"c d\" && git log --oneline -5",
    "git -C /x diff HEAD~1 2>/dev/null",
    "git --no-pager show --stat",
    "sed -n 1,20p f",
    "find . -name '*.py' -type f -not -path './x/*'",
    'grep -rn "foo\\.bar" src 2>&1 | sort -u',
    "rg -n --hidden x; tree -L 2",
    "cd src && pwd || echo no",
    "git branch -a\ngit tag -l\ngit remote -v\ngit stash list\ngit config --list",
    "date -u +%F",
    "echo ';rm x' '$(rm x)' '>x' \"it's\" >/dev/null",
    "wc -l f",
    "",
    "cat a &>/dev/null; ls",
]

REFUSED = [
    "rm f",
    "echo a > b",
    "echo a >> b",
    "echo a >| b",
    "echo a 2> b",
    "echo a >/dev/null2",
    "echo a >/dev/nullx",
    "cat < f",
    "cat <<< x",
    "cat <(rm f)",
    "cat $(rm f)",
    "cat `rm f`",
    'cat "$(rm f)"',
    'cat "`rm f`"',
    'cat "${x:=y}"',
    "cat $IFS",
    "ls & rm f",
    "ls |& tee f",
    "(rm f)",
    "{ rm f; }",
    "! ls",
    "r\\m f",
    "A=1 ls",
    "PATH=. ls",
    "ls # comment",
    "ls {a,b}",
    "'unclosed",
    '"unclosed',
    "eval ls",
    "env rm f",
    "xargs rm",
    "tee f",
    "awk 1",
    "sed -i s/a/b/ f",
    "sed -n 1,5w f",
    "sed -n 1p f -i",
    "sed 1p f",
    "find . -delete",
    "find . -exec rm x +",
    "find . -fprint f",
    "find . -okdir rm x +",
    "sort -o f f",
    "sort -uo f f",
    "sort --output=f f",
    "sort --out f f",
    "sort --compress-program=x f",
    "sort *",
    "tree -o f",
    "file -C -m f",
    "file --compile f",
    "rg --pre x y",
    "rg --pre=x y",
    "date -s 1",
    "date --set=1",
    "hostname x",
    "mount -o remount,rw /",
    "git push",
    "git",
    "git -c alias.log=!rm log",
    "git --exec-path=. log",
    "git log --output=f",
    "git log --outp f",
    "git diff -o f",
    "git diff --ext-diff",
    "git grep -Oless x",
    "git grep --open-files-in-pager=less x",
    "git branch new",
    "git branch -D x",
    "git tag v1",
    "git stash",
    "git stash drop",
    "git config user.name x",
    "git remote add x y",
    "git checkout x",
    "./ls",
    "/tmp/ls",
    "l*",
    "printf -v PATH .",
    "test -v 'a[$(rm f)]'",
    "source f",
    ". f",
    "\x00",
]


@pytest.mark.parametrize("command", READS)
def test_what_only_reads_runs(command: str) -> None:
    assert refusal(command) == ""


@pytest.mark.parametrize("command", REFUSED)
def test_what_could_write_is_refused_with_a_way_on(command: str) -> None:
    said = refusal(command)
    assert said.startswith("No kernel sandbox works here, so only commands that are known to be read-only run: ")
    assert said.endswith("Use plain commands such as cat, ls, grep, find, git log or git diff, joined by | or &&.")


@given(st.text(alphabet=" \t\n;&|<>(){}$`'\"\\!#*?[]~=abr/-.", max_size=20))
def test_no_text_gets_a_program_past_the_tables(text: str) -> None:
    """Whatever surrounds it: the only program of the text is one that no table has."""
    assert refusal(f"rm {text}") != ""
    if refusal(f"ls {text}") == "":
        assert not set(text) & set("<>(){}$`") or "'" in text or '"' in text


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("git push", "git push"),
        ("cd x && git  push origin", "git push"),
        ("git -C x push -f", "git -C x push"),
        ("true; npm publish", "npm publish"),
        ("A=1 ssh host rm x", "ssh"),
        ("gh pr create -f", "gh pr create"),
        ("docker push x", "docker push"),
        ("kubectl apply -f x", "kubectl apply"),
        ("echo git push", ""),
        ("git log --grep push", ""),
        ("git stash push", ""),
        ("cat push", ""),
        ("man ssh", ""),
        ("grep -r 'git push' .", ""),
    ],
)
def test_what_changes_something_elsewhere_is_named(command: str, named: str) -> None:
    assert outward(command) == named


def test_the_tables_hold_no_shell_that_runs_others() -> None:
    assert not ANY_ARGUMENTS & {"sh", "bash", "env", "xargs", "tee", "awk", "perl", "python3", "test", "[", "printf"}
