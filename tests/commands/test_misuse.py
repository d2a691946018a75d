"""What people do wrong, and what machines do to them: a sentence, a status, and never a traceback. Source: cli.md."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lacking import lacking

BOUND_S = 60.0
LOOKS_LIKE_PYTHON = ("Traceback", "Exception ignored", "never retrieved", 'File "', "fault of scorpio itself")

WRONG_CALLS = {
    "an unknown command": ("bogus", "scorpio: There is no command 'bogus'."),
    "a misspelt command": ("tool", "scorpio: There is no command 'tool'. Did you mean tools?"),
    "an unknown option": ("--bogus", "scorpio: There is no option --bogus."),
    "a misspelt option": ("http --prot 1", "scorpio http: There is no option --prot. Did you mean --port?"),
    "a shortened option": ("tools --tool sum", "scorpio tools: There is no option --tool. Did you mean --toolsets?"),
    "a word too many": ("doctor now", "scorpio doctor: 'now' is too much."),
    "an option without its value": ("tools --toolsets", "scorpio tools: --toolsets needs a value."),
    "a value for a switch": ("tools --json=yes", "scorpio tools: --json takes no value, not 'yes'."),
    "a port that is a word": ("http --port x", "scorpio http: --port takes a number from 0 to 65535, not 'x'."),
    "a port too high": ("http --port 65536", "scorpio http: --port takes a number from 0 to 65535, not '65536'."),
    "no number of seconds": (
        "wait --timeout nan",
        "scorpio wait: --timeout takes a number of seconds, 0 or more, not 'nan'.",
    ),
    "a call of nothing": ("call", "scorpio call: tool is missing."),
    "two servers at once": ("call x --server a --url b", "scorpio call: --url and --server exclude each other."),
    "config without a task": ("config", "scorpio config: One of --dump, --get, --set is needed."),
    "half a setting": ("config --set TOOLS", "scorpio config: --set needs 2 values."),
    "a level there is not": (
        "config --level wrong --dump",
        "scorpio config: --level is one of user, project, not 'wrong'.",
    ),
    "a shell there is not": ("completions tcsh", "scorpio completions: shell is one of bash, zsh, fish, not 'tcsh'."),
    "a client without a name": ("install --client", "scorpio install: --client needs one value or more."),
    "an unknown option behind a URL": (
        "client http://127.0.0.1:9/mcp --hedaer x",
        "scorpio client URL: There is no option --hedaer. Did you mean --header?",
    ),
    "a word behind a URL": ("client http://127.0.0.1:9/mcp tools", "scorpio client URL: 'tools' is too much."),
}
"""The words, and the sentence; the right form follows it."""

REFUSED = {
    "a toolset there is not": ("tools --toolsets nope", 2, "There is no toolset 'nope'."),
    "a toolset twice": ("tools --toolsets sum,sum", 2, "The toolset 'sum' is named twice."),
    "a client there is not": ("install --client emacs", 2, "No client is called emacs."),
    "a key there is not": ("config --get NOPE", 1, "there is no key 'NOPE'"),
    "a value that is none": ("config --set BG_SURVIVE maybe", 1, "must be true or false"),
    "arguments that are not JSON": ("""call sum '{"a":1' --toolsets sum""", 2, "is not JSON"),
    "arguments without a name": ("call sum 1 2 --toolsets sum", 2, "'1' is not NAME=VALUE."),
    "arguments of another kind": ("call sum a=x b=y --toolsets sum", 1, ""),
    "bytes that are no text": ("call sum a=\udcff --toolsets sum", 3, "lone surrogate"),
    "a tool there is not": ("call Nope --toolsets sum", 3, "Unknown tool"),
    "a revision there is not": ("call sum --toolsets sum --protocol 1999", 3, "There is no protocol revision 1999."),
    "a quote that stays open": ("""call x --server "sh -c 'x" """, 2, "has a quote that is not closed."),
    "an empty server": ("call x --server ''", 2, "--server needs the COMMAND that starts a server."),
    "a server that is a folder": ("call x --server /tmp", 3, "/tmp cannot be started: Permission denied."),
    "a server that is no program": ("call x --server /etc/passwd", 3, "cannot be started"),
    "a server that ends at once": ("call x --server true", 3, "The server has ended with status 0."),
    "a server that says one word": ("call x --server 'echo hello'", 3, "The server has ended with status 0."),
    "a server that never stops": ("call x --server yes", 3, "yes is no MCP server"),
    "a server that repeats us": ("call x --server cat", 3, "The server answered with error -32601"),
    "a server that sends rubbish": (
        """call x --server "sh -c 'read a; echo [[1],null,{}]; echo {\\\\\\"method\\\\\\":7,\\\\\\"id\\\\\\":[]}'" """,
        3,
        "The server has ended",
    ),
    "an address that is a word": ("call x --url nowhere", 2, "'nowhere' is no URL of a server."),
    "an address of another kind": ("client ftp://x", 2, "'ftp://x' is no URL of a server."),
    "an address without a host": ("call x --url http://", 2, "'http://' is no URL of a server."),
    "a port that cannot be": ("call x --url http://h:99999/", 2, "is no URL of a server."),
    "an address where nobody is": ("client http://127.0.0.1:9/mcp", 3, "does not answer (Connection refused)."),
    "a header that is none": ("client http://127.0.0.1:9 --header x", 2, "--header 'x' is not NAME: VALUE."),
    "a header for a program": ("client --header 'a: b' cat", 2, "--header is for a server at a URL"),
    "toolsets of a stranger": ("client --toolsets sum cat", 2, "--toolsets is for this program's own server"),
    "a client of nothing": ("client ''", 2, "The server's COMMAND is empty."),
    "a client of no program": ("client /none", 3, "/none cannot be started: No such file or directory."),
    "a file of tokens that is not there": ("http --token-file /none", 2, "no such file or directory."),
    "a name that has no address": ("http --host none.invalid --port 0", 1, "--host none.invalid"),
    "an address that is not ours": ("http --host 203.0.113.1 --port 0", 1, "203.0.113.1"),
    "an origin that is none": ("http --allow-origin example --port 0", 2, "an origin is like"),
    "questions that are none": ("answer /etc/passwd", 1, ""),
}
"""Words for a shell, exit status, what is said."""

SURROUNDINGS = {
    "stdout closed": ("$S tools >&-", 0, ""),
    "stderr closed": ("$S bogus 2>&-", 2, ""),
    "stdin closed": ("$S client --toolsets sum <&-", 0, ""),
    "all closed": ("$S tools <&- >&- 2>&-", 0, ""),
    "a full disk": ("$S tools >/dev/full", 1, "scorpio: The output cannot be written: No space left on device.\n"),
    "a full disk for help": ("$S --help >/dev/full", 1, "The output cannot be written: No space left on device."),
    "a full disk for a result": ("$S call sum a=1 b=2 --toolsets sum >/dev/full", 1, "cannot be written"),
    "a reader that goes": ("$S tools | true; exit ${PIPESTATUS[0]}", 0, ""),
    "a reader that goes from help": ("$S --help | true; exit ${PIPESTATUS[0]}", 0, ""),
    "a reader that goes from a client": ("echo tools | $S client --toolsets sum | true; exit ${PIPESTATUS[1]}", 0, ""),
    "a reader of errors that goes": ("$S bogus 2>&1 | true; exit ${PIPESTATUS[0]}", 2, ""),
    "no HOME": ("env -u HOME $S tools", 0, ""),
    "nothing in the environment": ("env -i SCORPIO_CACHE_DIR=$SCORPIO_CACHE_DIR $S --version", 0, ""),
    "a HOME that is not there": ("HOME=/none $S tools", 0, ""),
    "a HOME that takes nothing": ("HOME=/proc $S config --set TOOLS true", 1, "/proc/.scorpio/scorpio-env.txt"),
    "a HOME that takes no program": ("HOME=/proc $S install", 1, "The program could not be copied to /proc"),
    "a state directory that is a file": ("SCORPIO_HOME=/etc/passwd $S wait --timeout 0", 1, "is not a directory."),
    "a directory that is gone": ('mkdir d; cd d; rmdir "$PWD"; $S tools', 0, ""),
    "a project that is gone": (
        'mkdir d; cd d; rmdir "$PWD"; $S config --set TOOLS true --level project',
        1,
        "scorpio: the current directory is gone",
    ),
    "one column": ("COLUMNS=1 LINES=1 $S --help", 0, ""),
    "columns that are a word": ("COLUMNS=x $S tools", 0, ""),
    "a locale there is not": ("LC_ALL=xx_YY $S tools", 0, ""),
    "a history that is a folder": (
        "mkdir -p .scorpio/client-history; SCORPIO_HOME=$PWD/.scorpio $S client --toolsets sum </dev/null",
        0,
        "",
    ),
}
"""Lines for bash, where $S is the executable."""


@pytest.fixture
def bash(
    executable: str, environment: dict[str, str], tmp_path: Path
) -> Callable[[str], subprocess.CompletedProcess[str]]:
    def bash(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line], env=environment | {"S": executable}, cwd=tmp_path, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="surrogateescape", timeout=BOUND_S, check=False,
        )  # fmt: skip

    return bash


Bash = Callable[[str], "subprocess.CompletedProcess[str]"]


def shows_no_python(said: str) -> bool:
    return not any(mark in said for mark in LOOKS_LIKE_PYTHON)


def test_there_are_more_misuses_than_were_asked_for() -> None:
    assert len(WRONG_CALLS) + len(REFUSED) + len(SURROUNDINGS) >= 40


@pytest.mark.requirement("cli:no-traceback")
@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_gets_one_sentence_and_the_right_form(bash: Bash, name: str) -> None:
    words, sentence = WRONG_CALLS[name]
    done = bash(f"$S {words}")
    first, _, form = done.stderr.partition("\n")
    assert (done.returncode, done.stdout, first) == (2, "", sentence)
    assert form.startswith("usage: scorpio")
    assert max(map(len, form.splitlines())) <= 80


@pytest.mark.requirement("cli:no-traceback")
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_said_in_a_sentence(bash: Bash, name: str) -> None:
    words, status, said = REFUSED[name]
    done = bash(f"$S {words}")
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert shows_no_python(done.stderr)


@pytest.mark.requirement("cli:no-traceback")
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_odd_surroundings_are_no_reason_for_a_traceback(bash: Bash, name: str) -> None:
    line, status, said = SURROUNDINGS[name]
    done = bash(line)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert shows_no_python(done.stderr)


@pytest.mark.requirement("cli:no-traceback")
def test_a_home_that_is_read_only_leaves_everything_working_that_writes_nothing(
    executable: str, environment: dict[str, str], tmp_path: Path
) -> None:
    bwrap = shutil.which("bwrap") or lacking("bwrap is not here: no read-only home can be made")
    (tmp_path / ".scorpio").mkdir()
    command = [bwrap, "--bind", "/", "/", "--dev", "/dev", "--ro-bind", str(tmp_path), str(tmp_path), executable]
    for words, status in (
        ("tools", 0), ("config --dump", 0), ("call Bash command=true", 0), ("client", 0),
        ("config --set TOOLS true", 1), ("install", 1), ("wait --timeout 0", 1),
    ):  # fmt: skip
        done = subprocess.run(
            [*command, *words.split()], env=environment, cwd="/", stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=BOUND_S, check=False,
        )  # fmt: skip
        assert (words, done.returncode, shows_no_python(done.stderr)) == (words, status, True), done.stderr
        assert status == 0 or "Read-only file system" in done.stderr or "read-only" in done.stderr


@pytest.mark.requirement("cli:no-traceback")
@pytest.mark.parametrize(("columns", "lines"), [(1, 1), (2, 2), (10, 3)])
def test_the_client_works_at_a_tiny_terminal(
    executable: str, environment: dict[str, str], tmp_path: Path, columns: int, lines: int
) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        os.execve(executable, [executable, "client", "--toolsets", "sum"], environment | {"TERM": "xterm"})
    seen = ""
    typed = False
    while select.select([terminal], [], [], BOUND_S)[0]:
        try:
            chunk = os.read(terminal, 65536).decode("utf-8", "replace")
        except OSError:
            break
        if not chunk:
            break
        if "\x1b[6n" in chunk:  # prompt_toolkit asks where the cursor is, and draws once it knows
            os.write(terminal, b"\x1b[1;1R")
        seen += chunk
        if not typed and "for commands." in seen:
            typed = True
            os.write(terminal, b"tools\rsum a=1 b=2\rexit\r")
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert (os.waitstatus_to_exitcode(status), shows_no_python(seen)) == (0, True), seen


@pytest.mark.requirement("cli:no-traceback")
def test_ctrl_c_ends_a_command_without_a_word_of_python(
    executable: str, environment: dict[str, str], tmp_path: Path
) -> None:
    waiting = subprocess.Popen(
        [executable, "wait"], env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    assert waiting.stderr is not None
    said = waiting.stderr.readline()  # it waits now
    waiting.send_signal(signal.SIGINT)
    said += waiting.communicate(timeout=BOUND_S)[1]
    assert (waiting.returncode, shows_no_python(said)) == (130, True), said


@pytest.mark.parametrize("words", ["", "serve", "http", "tools", "call", "client", "install", "uninstall", "doctor",
                                   "config", "wait", "completions"])  # fmt: skip
def test_help_fits_eighty_columns_on_however_wide_a_terminal(bash: Bash, words: str) -> None:
    done = bash(f"COLUMNS=300 $S {words} --help")
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
