"""Skills over the wire: entries, digests, directories, files. Source: extension io.modelcontextprotocol/skills."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.links import ROOT
from tests.wire import LEGACY, MODERN

if TYPE_CHECKING:
    from tests.wire import Connect, Wire

LATEST = LEGACY[-1]
WITH_EXTENSIONS = pytest.mark.revisions(LATEST, MODERN)
IN_PROCESS = pytest.mark.transports("in-process")
EVERYWHERE = pytest.mark.transports("in-process", "stdio", "frozen", "http", "http-frozen")
METHODS = ("skills/list", "skills/get", "resources/directory/read")

HERE = ROOT / "tools/conformance/skills/wire-reading"
SKILL = "skill://wire-reading/SKILL.md"


def content_of(wire: Wire, uri: str) -> bytes:
    [content] = wire.result("resources/read", {"uri": uri})["contents"]
    assert content["uri"] == uri
    return content["text"].encode() if "text" in content else base64.b64decode(content["blob"])


def files_below(wire: Wire, uri: str) -> list[str]:
    """By reading directories only."""
    found: list[str] = []
    for item in wire.result("resources/directory/read", {"uri": uri})["resources"]:
        assert item["uri"] == f"{uri}/{item['name']}" or item["uri"] == SKILL
        found += files_below(wire, item["uri"]) if item.get("mimeType") == "inode/directory" else [item["uri"]]
    return found


@EVERYWHERE
@WITH_EXTENSIONS
@pytest.mark.requirement("skills-extension:entries")
def test_each_file_of_a_listed_skill_is_read_with_the_digest_and_size_of_its_entry(connect: Connect) -> None:
    wire = connect()
    [entry] = wire.result("skills/list")["skills"]
    assert entry["uri"] == SKILL
    assert entry["frontmatter"]["metadata"] == {"version": "1.0", "tags": ["fixture", "json-rpc"]}
    read = {item["uri"]: content_of(wire, item["uri"]) for item in entry["resources"]}
    assert read == {
        f"skill://wire-reading/{path.relative_to(HERE)}": path.read_bytes()
        for path in HERE.rglob("*")
        if path.is_file()
    }
    for item in entry["resources"]:
        content = read[item["uri"]]
        assert item["digest"] == "sha256:" + hashlib.sha256(content).hexdigest()
        assert item["size"] == len(content)
    assert wire.result("skills/get", {"uri": SKILL})["skill"] == entry
    assert sorted(files_below(wire, "skill://wire-reading")) == sorted(read)


@IN_PROCESS
@pytest.mark.requirement("skills-extension:entries")
def test_skills_are_resources_for_clients_of_every_revision(connect: Connect, revision: str) -> None:
    wire = connect()
    listed = {item["uri"]: item for item in wire.result("resources/list")["resources"]}
    assert listed[SKILL]["name"] == "wire-reading"
    assert listed[SKILL]["mimeType"] == "text/markdown"
    assert "which side broke which rule" in listed[SKILL]["description"]
    assert content_of(wire, SKILL) == (HERE / "SKILL.md").read_bytes()


@IN_PROCESS
@WITH_EXTENSIONS
@pytest.mark.requirement("skills-extension:entries")
def test_results_say_how_long_they_are_good_where_the_revision_does(connect: Connect, revision: str) -> None:
    wire = connect()
    for method, params in (("skills/list", {}), ("skills/get", {"uri": SKILL})):
        fresh = {"ttlMs", "cacheScope"} & wire.result(method, params).keys()
        assert fresh == ({"ttlMs", "cacheScope"} if revision == MODERN else set())
    assert "nextCursor" not in wire.result("skills/list")


BAD = {
    "skills/get": {
        "skill://nope/SKILL.md": "No skill is served at skill://nope/SKILL.md.",
        "skill://wire-reading": "No skill is served",
        "skill://wire-reading/references/example.json": "No skill is served",
        "skill://wire-reading/../wire-reading/SKILL.md": "No skill is served",
        "SKILL.md": "No skill is served",
        "": "No skill is served",
        "file:///etc/passwd": "No skill is served",
    },
    "resources/directory/read": {
        SKILL: "is a file",
        "skill://wire-reading/": "No directory",
        "skill://wire-reading/..": "No directory",
        "skill://wire-reading/references/..": "No directory",
        "skill://wire-reading/%2e%2e": "No directory",
        "skill://wire-reading/references?x": "No directory",
        "skill://": "No skill",
        "skill://../conformance/skills/wire-reading": "No skill",
        "test://static-text": "No skill",
    },
    "resources/read": {
        "skill://wire-reading": "is a directory",
        "skill://wire-reading/references": "is a directory",
        "skill://wire-reading/../../state.py": "is no file of that skill",
        "skill://wire-reading/%2e%2e/%2e%2e/state.py": "is no file of that skill",
        "skill://wire-reading/..%2f..%2fstate.py": "is no file of that skill",
        "skill://wire-reading//etc/passwd": "is no file of that skill",
        "skill://wire-reading/%00": "is no file of that skill",
        "skill://wire-reading/SKILL.md%00.png": "is no file of that skill",
        "skill://wire-reading/SKILL.md#top": "is no file of that skill",
        "skill://wire-reading/%ff%fe": "is no file of that skill",
        "skill://nope/SKILL.md": "No skill is served",
        "skill:///SKILL.md": "No skill is served",
        "skill://" + "x" * 100_000: "No skill is served",
    },
}


@IN_PROCESS
@WITH_EXTENSIONS
@pytest.mark.requirement("skills-extension:bad-uris")
@pytest.mark.parametrize("method", BAD)
def test_uri_that_leads_elsewhere_is_refused(connect: Connect, revision: str, method: str) -> None:
    wire = connect()
    code = -32002 if method == "resources/read" and revision != MODERN else -32602
    for uri, why in BAD[method].items():
        error = wire.error(method, {"uri": uri})
        assert (error["code"], why in error["message"]) == (code, True), (uri, error)
        assert len(error["message"]) < 400


NO_URIS: tuple[Any, ...] = (None, 7, [SKILL], {})


@IN_PROCESS
@WITH_EXTENSIONS
@pytest.mark.requirement("skills-extension:bad-uris")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        *((method, {"uri": bad}) for method in METHODS[1:] for bad in NO_URIS),
        *((method, {}) for method in METHODS[1:]),
        ("skills/list", {"cursor": "nobody"}),
        ("skills/list", {"cursor": 7}),
        ("resources/directory/read", {"uri": "skill://wire-reading", "cursor": "x"}),
        ("resources/list", {"cursor": "x"}),
    ],
    ids=str,
)
def test_request_of_another_shape_is_invalid(connect: Connect, method: str, params: dict[str, Any]) -> None:
    assert connect().error(method, params)["code"] == -32602


@IN_PROCESS
@pytest.mark.requirement("skills-extension:declared")
@pytest.mark.parametrize("method", METHODS)
def test_methods_are_unknown_where_the_extension_is_not_declared(connect: Connect, revision: str, method: str) -> None:
    assert connect("sum").error(method, {"uri": SKILL})["code"] == -32601
    if revision not in (LATEST, MODERN):
        assert connect().error(method, {"uri": SKILL})["code"] == -32601


@IN_PROCESS
@pytest.mark.revisions(MODERN)
@pytest.mark.requirement("skills-extension:declared")
def test_server_without_skills_does_not_declare_them(connect: Connect) -> None:
    extensions = connect("sum").result("server/discover")["capabilities"]["extensions"]
    assert "io.modelcontextprotocol/skills" not in extensions
    with_skills = connect("schemas").result("server/discover")["capabilities"]["extensions"]
    assert with_skills["io.modelcontextprotocol/skills"] == {"directoryRead": True}


@IN_PROCESS
@pytest.mark.revisions(MODERN)
@pytest.mark.requirement("skills-extension:entries")
def test_skills_of_all_toolsets_are_listed(connect: Connect) -> None:
    wire = connect("sum", "schemas", "conformance")
    assert [entry["frontmatter"]["name"] for entry in wire.result("skills/list")["skills"]] == ["echo", "wire-reading"]
