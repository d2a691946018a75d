"""Exit code 1 of a search that found nothing is not a failure; exit code 1 of anything else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.core.last_command import is_no_match, simple_commands

NO_MATCH = [
    "grep foo file",
    "grep 'a && b; c | d' file",
    'grep "$(printf "%s" ")")" file',
    "grep foo file;",
    "grep foo file\n\n",
    "grep foo file # ; false",
    "cat file | grep foo",
    "cat file |& grep foo",
    "make || grep foo file",
    "make; grep foo file",
    "make\ngrep foo file",
    "make & grep foo file",
    "cd /tmp && grep foo file",
    "cd /tmp &&\n  grep foo file",
    "cd /tmp && cat file | grep foo",
    "grep a file && grep b file",
    "LC_ALL=C grep foo file",
    "LC_ALL=C X='a b' grep foo file",
    "2>/dev/null grep foo file",
    "grep foo file > out 2>&1",
    "grep foo file &> out",
    "grep foo <<< text",
    "grep foo <(sort file)",
    "/usr/bin/grep foo file",
    "\\grep foo file",
    '"grep" foo file',
    "command grep foo file",
    "env LC_ALL=C grep foo file",
    "time grep foo file",
    "gr\\\nep foo file",
    "rg foo",
    "find . -name '*.py' -newer x",
    "diff a b",
    "cmp a b",
    "test -f file",
    "[ -f file ]",
    "[[ -f a && -f b ]]",
    "[[ a < b || ( -f c ) ]]",
    "git grep foo",
    "git -C dir --no-pager grep foo",
    "git diff --exit-code",
    "git diff --quiet HEAD",
    "pgrep -f server",
    "x=$(date); grep foo file",
    "(cd x; make); grep foo file",
    "if true; then echo; fi; grep foo file",
    "set -e; cd x; grep foo file",
    "echo \\$'a'; grep $'it\\'s' file",
]

FAILURES = [
    "",
    "false",
    "grep foo file | head",
    "make && grep foo file",
    "make && cat x | grep foo",
    "set -e; make; grep foo file",
    "set -euo pipefail\nnpm test\ngrep foo file",
    "! grep foo file",
    "[ -f x ] || exit 1; grep foo file",
    "trap 'exit 1' EXIT; grep foo file",
    "grep foo file; exit 1",
    "(cd x && grep foo file)",
    "{ grep foo file; }",
    "if true; then grep foo file; fi",
    "for f in *; do grep foo $f; done",
    "while grep foo file; do :; done",
    "find_it() { grep foo file; }; find_it",
    "$GREP foo file",
    "xargs grep foo",
    "command -v grep",
    "env -i grep foo",
    "git diff",
    "git push",
    "git",
    "git -C grep push",
    "cat <<EOF | grep foo\nx\nEOF",
    "grep 'foo file",
    "grep $(foo file",
    "echo grep",
    "echo 'x; grep foo file'",
    "# grep foo file",
    "python -c 'import sys; sys.exit(1)'",
    "sudo grep foo file",
]


@pytest.mark.parametrize("command", NO_MATCH)
def test_code_1_of_a_search_or_comparison_is_no_match(command: str) -> None:
    assert is_no_match(command, "")


@pytest.mark.parametrize("command", FAILURES)
def test_code_1_of_anything_else_or_in_doubt_is_a_failure(command: str) -> None:
    assert not is_no_match(command, "")


def test_a_cd_that_failed_before_a_search_is_a_failure() -> None:
    output = "bash: line 1: cd: nowhere: No such file or directory"
    assert not is_no_match("cd nowhere && grep foo file", output)


def test_a_very_long_command_is_not_looked_at() -> None:
    assert not is_no_match("grep foo " + "x" * 20_000, "")


@given(st.text(alphabet="ab'\"\\$(){}`<>|&;# \n2!=[]"))
def test_any_text_is_judged_without_an_exception(command: str) -> None:
    assert is_no_match(command, "") in (True, False)


def test_deep_nesting_is_no_recursion() -> None:
    assert not is_no_match("$(" * 8000, "")


def test_words_lose_their_quotes_and_redirections() -> None:
    assert simple_commands("a 'b c'\"d\" >e 2>&1 | f\\ g") == [(";", ["a", "b cd"]), ("|", ["f g"])]
