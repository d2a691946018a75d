"""Which commands only read, judged by their text: the last resort where no kernel sandbox works.

Refuses whatever it does not know: expansions, substitutions, redirections to files, any program and any option that is
not in the tables. Not a security boundary: the machine's own programs are trusted to be what their names say.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Judge = Callable[[Sequence[str]], bool]

TOKEN = re.compile(
    r"""(?P<blank>[ \t]+)
    | (?P<separator>&&|\|\||[;|\n])
    | (?P<nowhere>(?:2>&1|1>&2|>&2|(?:[12]?|&)>>?[ ]?/dev/null)(?=[\s;|]|$))
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"$`\\]|\\.)*)"
    | (?P<plain>[\w@%+=:,./^~-]+)
    | (?P<glob>[*?\[\]]+)""",
    re.VERBOSE,
)
BETWEEN_WORDS = ("blank", "separator", "nowhere")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ANY_ARGUMENTS = _words(
    "cat head tail wc ls pwd grep egrep fgrep stat du df diff cmp comm cut tr nl rev tac fold expand unexpand paste "
    "join basename dirname realpath readlink which echo true false uname whoami id groups printenv ps uptime free "
    "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum od hexdump strings jq seq nproc cal "
    "column tsort nm readelf objdump size getconf locale arch cd"
)
"""Programs without an option that writes, or runs another program."""

NO_ARGUMENTS = frozenset(("hostname", "env", "lsblk", "mount", "umask"))
"""Without arguments they tell; with some they set."""

DATE_READS = ("-u", "--utc", "-R", "-I", "-Iseconds", "--iso-8601")

SORT_WRITES = ("-o", "--o", "-T", "--t", "--comp")
TREE_WRITES = ("-o",)
FILE_WRITES = ("-C", "--c")
RIPGREP_RUNS = ("--pre", "--hostname-bin", "-z", "--search-zip")
FIND_READS = _words(
    "-name -iname -path -ipath -wholename -regex -iregex -regextype -type -xtype -size -empty -newer -anewer -cnewer "
    "-mtime -mmin -atime -amin -ctime -cmin -perm -user -group -uid -gid -nouser -nogroup -links -inum -samefile "
    "-maxdepth -mindepth -depth -mount -xdev -prune -print -print0 -printf -ls -quit -not -and -or -a -o -true -false "
    "-readable -writable -executable -L -P -H -follow -lname -ilname -fstype"
)
GIT_READS = _words(
    "log show diff status rev-parse rev-list ls-files ls-tree cat-file blame annotate describe shortlog grep "
    "whatchanged merge-base name-rev for-each-ref show-ref count-objects diff-tree diff-index diff-files cherry"
)
GIT_WRITES = ("--output", "-o", "--ext-diff", "--textconv", "-O", "--open-files-in-pager")
GIT_LISTS = {
    "branch": ("-a", "-r", "-v", "-vv", "--all", "--remotes", "--list", "--show-current", "--verbose"),
    "tag": ("-l", "--list", "-n"),
    "remote": ("-v", "--verbose"),
    "stash": ("list",),
    "worktree": ("list",),
    "config": ("--list", "-l"),
}
GIT_LIST_ALONE = ("branch", "tag", "remote")
GIT_OPTIONS = ("--no-pager", "--no-optional-locks", "--literal-pathspecs")

SED_PRINTS = re.compile(r"(\d+|\$)(,(\d+|\$))?p")


class _Refused(Exception):
    """Why the text is not known to be read-only, as a clause."""


def refusal(command: str) -> str:
    """Why this command may not run, a sentence; empty when it is known only to read."""
    try:
        for words in _simple_commands(command):
            _judge(words)
    except _Refused as refused:
        return (
            f"No kernel sandbox works here, so only commands that are known to be read-only run: {refused}. "
            "Use plain commands such as cat, ls, grep, find, git log or git diff, joined by | or &&."
        )
    return ""


def _simple_commands(command: str) -> list[list[str]]:
    """The words of each simple command. A word with an unquoted `*`, `?` or `[` in it gets a NUL before it."""
    commands: list[list[str]] = [[]]
    word: str | None = None
    at = 0
    while at < len(command):
        found = TOKEN.match(command, at)
        if found is None or (found.lastgroup == "nowhere" and word is not None):
            raise _Refused(f"{command[at : at + 12]!r} is shell syntax that is not followed")
        at = found.end()
        kind, text = str(found.lastgroup), found[str(found.lastgroup)]
        if kind not in BETWEEN_WORDS:
            if kind == "double":
                text = re.sub(r"\\(.)", r"\1", text)
            word = (word or "") + ("\0" + text if kind == "glob" else text)
            continue
        if word is not None:
            commands[-1].append(word)
            word = None
        if kind == "separator":
            commands.append([])
    if word is not None:
        commands[-1].append(word)
    return [words for words in commands if words]


def _judge(words: Sequence[str]) -> None:
    name, *arguments = words
    globbed = any("\0" in word for word in words)  # a file may be named like an option
    if name in ANY_ARGUMENTS and "\0" not in name:
        return
    judge = JUDGES.get(name) or (_none if name in NO_ARGUMENTS else None)
    if judge is None:
        raise _Refused(f"{_shown(name)} is not one of them")
    if globbed:
        raise _Refused(f"patterns such as * are not expanded for {name}; name the files")
    if not judge(arguments):
        raise _Refused(f"{_shown(' '.join(words))} has an option that is not known only to read")


def _shown(text: str) -> str:
    return repr(text.replace("\0", "")[:60])


def _without(*writing: str) -> Judge:
    """No argument is one of these options, a long one with `=`, or an abbreviation; no cluster of letters has one."""
    letters = {option[1] for option in writing if len(option) == 2}

    def judge(arguments: Sequence[str]) -> bool:
        for argument in arguments:
            if argument.startswith("--"):
                name = argument.partition("=")[0]
                if any(name.startswith(option) or (name != "--" and option.startswith(name)) for option in writing):
                    return False
            elif argument.startswith("-") and letters & set(argument[1:]):
                return False
        return True

    return judge


def _none(arguments: Sequence[str]) -> bool:
    return not arguments


def _date(arguments: Sequence[str]) -> bool:
    return all(argument.startswith("+") or argument in DATE_READS for argument in arguments)


def _find(arguments: Sequence[str]) -> bool:
    return all(not argument.startswith("-") or argument in FIND_READS for argument in arguments)


def _sed(arguments: Sequence[str]) -> bool:
    """Only `sed -n 10,20p FILE…`."""
    return (
        len(arguments) >= 2
        and arguments[0] == "-n"
        and SED_PRINTS.fullmatch(arguments[1]) is not None
        and not any(argument.startswith("-") for argument in arguments[2:])
    )


def _git(arguments: Sequence[str]) -> bool:
    rest = list(arguments)
    while rest and (rest[0] in GIT_OPTIONS or rest[0] == "-C"):
        del rest[: 2 if rest[0] == "-C" else 1]
    if not rest:
        return False
    name, *options = rest
    if name in GIT_LISTS:
        return all(option in GIT_LISTS[name] for option in options) and (bool(options) or name in GIT_LIST_ALONE)
    return name in GIT_READS and _without(*GIT_WRITES)(options)


JUDGES: dict[str, Judge] = {
    "date": _date,
    "find": _find,
    "sed": _sed,
    "git": _git,
    "sort": _without(*SORT_WRITES),
    "tree": _without(*TREE_WRITES),
    "file": _without(*FILE_WRITES),
    "rg": _without(*RIPGREP_RUNS),
}

OUTWARD = re.compile(
    r"(?:^|[;&|(\n])\s*(?:sudo\s+|env\s+|\w+=\S*\s+)*(?P<what>"
    r"git\s+(?:-\S+\s+(?:\S+\s+)?)*?push|(?:npm|pnpm|yarn|cargo|gem|poetry|uv)\s+publish|twine\s+upload"
    r"|docker\s+(?:image\s+)?push|gh\s+(?:pr|issue|release|repo)\s+(?:create|merge|close|comment|edit|delete)"
    r"|kubectl\s+(?:apply|delete|create|patch|scale)|(?:terraform|tofu|pulumi)\s+(?:apply|destroy|up)|ssh|scp|rsync)\b"
)


def outward(command: str) -> str:
    """The words of a command that would change something elsewhere, as far as its text shows it; else empty.

    Stops nobody who means to: it makes a refusal readable, and says it before the network does something.
    """
    found = OUTWARD.search(command)
    return " ".join(found["what"].split()) if found else ""
