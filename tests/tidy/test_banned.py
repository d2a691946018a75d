"""Calls and constructions that are not used here, each with what to use in its place."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator

import pytest

from tests.tidy import sources
from tests.tidy.sources import dotted

Fault = tuple[int, str]

CALLS = {
    "eval": "parse the text (json, ast.literal_eval)",
    "exec": "import a module",
    "os.system": "scorpio.process.spawn for commands, subprocess.run([…]) in build/",
    "os.popen": "scorpio.process.spawn for commands, subprocess.run([…]) in build/",
}
SERVING_CALLS = {
    "print": "scorpio.log for the server's lines, sys.stdout.write in a command; stdout belongs to the wire",
    "time.sleep": "await an event, or wait on a descriptor with a timeout",
}
"""Banned in scorpio/ and tools/ only."""

ALLOWED = {
    # Where the call is the point of the module, or a wait that nothing announces the end of.
    "scorpio/client/render.py": {"print"},
    "tools/conformance/test_stray_output/handler.py": {"print"},
    "scorpio/process.py": {"time.sleep"},  # 1 ms, from the end of a socket to the end of its process
    "scorpio/transports/stdio.py": {"time.sleep"},  # the last bound before os._exit
    "scorpio/transports/http/serve.py": {"time.sleep"},  # likewise
}

REVISION = re.compile(r"\d{4}-\d\d-\d\d")
REVISION_NAMES = re.compile(r"(^|[._])(revision|protocol_?version)$", re.IGNORECASE)
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)

MUTABLE_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
MUTABLE_TYPES = {"list", "dict", "set", "bytearray", "deque", "defaultdict", "OrderedDict", "Counter", "SimpleQueue"}


def banned_calls(path: str, tree: ast.Module) -> Iterator[Fault]:
    serving = path.startswith(("scorpio/", "tools/"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        instead = CALLS.get(name) or (SERVING_CALLS.get(name) if serving else None)
        if instead and name not in ALLOWED.get(path, ()):
            yield node.lineno, f"{name}() is banned; use {instead}."
        if any(k.arg == "shell" and not _is_false(k.value) for k in node.keywords):
            yield node.lineno, "shell=True is banned; pass a list of arguments."


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def compared_revisions(path: str, tree: ast.Module) -> Iterator[Fault]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare) or not any(isinstance(operator, ORDER) for operator in node.ops):
            continue
        if any(map(_is_revision, (node.left, *node.comparators))):
            yield node.lineno, "Revisions have no order; ask a field of Revision (protocol/revisions.py), or add one."


def _is_revision(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and REVISION.fullmatch(node.value) is not None
    return REVISION_NAMES.search(dotted(node)) is not None


def module_state(path: str, tree: ast.Module) -> Iterator[Fault]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_mutable(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (target.id for target in targets if isinstance(target, ast.Name)):
                if name != name.upper() and name != "__all__":
                    yield node.lineno, f"{name} is state at module level; its owner is an object, or it is a CONSTANT."
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Global):
            names = ", ".join(inner.names)
            yield inner.lineno, f"global {names} is banned; state has an owner: Peer, a toolset's State, an object."


def _is_mutable(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return dotted(value.func).rpartition(".")[2] in MUTABLE_TYPES
    return isinstance(value, MUTABLE_DISPLAYS)


def named_tools(path: str, tree: ast.Module, names: frozenset[str]) -> Iterator[Fault]:
    """Strings that hold a tool's name: any word of a text for names with a capital, else the whole string."""
    prose = sources.docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in prose and isinstance(node.value, str | bytes):
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            capitals = {word for word in re.findall(r"[A-Za-z0-9_]+", text) if word != word.lower()}
            for name in sorted(names & (capitals | {text})):
                yield node.lineno, f"names the tool {name}; scorpio/ knows no tool: say it in tool.json (`x-scorpio`)."


def tool_names() -> frozenset[str]:
    descriptors = [name for name in sources.files() if re.fullmatch(r"tools/[^/]+/[^/]+/tool\.json", name)]
    return frozenset(json.loads(sources.text(name))["name"] for name in descriptors)


Rule = Callable[[str, ast.Module], Iterator[Fault]]


@pytest.mark.parametrize(
    ("rule", "tops"),
    [
        (banned_calls, ("scorpio", "tools", "build")),
        (compared_revisions, ("scorpio", "tools", "build", "tests")),
        (module_state, ("scorpio", "tools", "build")),
    ],
    ids=["calls", "revisions", "state"],
)
def test_no_source_does_what_is_banned(rule: Rule, tops: tuple[str, ...]) -> None:
    found = [
        f"{path}:{line}: {text}"
        for path in sources.python_files(*tops)
        for line, text in rule(path, sources.tree(path))
    ]
    assert not found, "\n".join(found)


def test_the_program_knows_no_tool_by_name() -> None:
    names = tool_names()
    assert "sum" in names
    found = [
        f"{path}:{line}: {text}"
        for path in sources.python_files("scorpio")
        for line, text in named_tools(path, sources.tree(path), names)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (banned_calls, "print(1)"),
        (banned_calls, "import time\ntime.sleep(1)"),
        (banned_calls, "eval('1')"),
        (banned_calls, "subprocess.run('ls', shell=True)"),
        (banned_calls, "os.system('ls')"),
        (compared_revisions, "peer.revision >= '2025-06-18'"),
        (compared_revisions, "a < protocol_version"),
        (module_state, "cache = {}"),
        (module_state, "cache: dict[str, int] = dict()"),
        (module_state, "def f():\n    global cache"),
        (lambda path, tree: named_tools(path, tree, frozenset({"KillBgTask"})), "a = 'Use KillBgTask first.'"),
        (lambda path, tree: named_tools(path, tree, frozenset({"sum"})), "a = 'sum'"),
    ],
)
def test_a_breach_is_found(rule: Rule, line: str) -> None:
    assert len(list(rule("scorpio/any.py", ast.parse(line)))) == 1


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (banned_calls, "subprocess.run(['ls'], shell=False)"),
        (compared_revisions, "peer.revision == '2025-06-18'"),
        (module_state, "TABLE = {}"),
        (module_state, "def f():\n    cache = {}"),
        (lambda path, tree: named_tools(path, tree, frozenset({"Bash", "sum"})), '"""Bash."""\na = "the sum of bash"'),
    ],
)
def test_what_is_allowed_is_not_a_breach(rule: Rule, line: str) -> None:
    assert list(rule("scorpio/any.py", ast.parse(line))) == []
