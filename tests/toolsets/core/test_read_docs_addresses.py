"""What a page, a redirect or a spelling may reach, seen from the other side of the network: see two_worlds.py.

The executable reads all pages in a network of its own; the tests look up what arrived where. Everything that must not
arrive is shown to arrive where the policy allows it, except for what the browser never sends.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lacking import lacking
from tests.links import executable_under_test
from tests.toolsets.core import two_worlds
from tests.toolsets.core.two_worlds import METADATA, OTHER_PRIVATE, PRIVATE, PUBLIC, ROUTES, UNGUARDED

WORLD_S_MAX = 110
WAIT_MS = 500
"""For what a page asks for: it takes 100 ms on a machine that does nothing else."""

ARRIVES_MS = 2500
"""The same where a test says that something did arrive: on a machine that does much else."""

ONWARD_MS = 1000
"""For a page that sends its reader on once it is there; without it the answer may be the page itself."""

METADATA_SPELLINGS = (
    *("169.254.169.254", "2852039166", "0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "0251.0376.0251.0376", "025177524776"),
    *(
        "169.254.43518",
        "169.16689662",
        "169.254.169.254.",
        "①⑥⑨.②⑤④.①⑥⑨.②⑤④",
        "１６９．２５４．１６９．２５４",
        "169。254。169。254",
    ),
    *("%31%36%39.254.169.254", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[0:0:0:0:0:ffff:a9fe:a9fe]"),
    *("[64:ff9b::169.254.169.254]", "[64:ff9b:1::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[2a00:1::5efe:a9fe:a9fe]"),
    *("[fd00:ec2::254]", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "[::169.254.169.254]"),
    *("metadata.example", "mixed.example"),
)
NOT_ROUTABLE = ("[::169.254.169.254]",)
"""No host answers at these, so that nothing can arrive under any policy."""

WAYS = ("redirect", "chain?left=2&x=", "refresh", "location", "submit")
"""How a page sends its reader on: /redirect?to=… and so on."""

NEVER_SENT = {
    "background",
    "icon",
    "img",
    "svg-image",
    "popup",
    "link-ping",
    "preconnect",
    "speculation",
    "manifest",
    "track",
}
"""Pictures are not loaded, pop-ups are blocked, and the rest a browser asks for only where a person looks."""

ENCRYPTED = {"webtransport"}
"""QUIC to a server that does not speak it: switched off, so that nothing arrives under any policy."""


def way(kind: str, target: str, start: str = "public.example") -> str:
    path, _, query = kind.partition("?")
    return f"http://{start}/{path}?{query and query + '&'}to=http://{target}/secret"


def routes(start: str, target: str, wait_ms: int = WAIT_MS) -> dict[str, Any]:
    return {"url": f"http://{start}/routes?to={target}", "wait_ms": wait_ms}


OPEN = routes("public.example", METADATA, ARRIVES_MS)
OWN = routes(PRIVATE, PRIVATE, ARRIVES_MS)
REBINDING = routes("rebind-1.example", "rebind-1.example", ARRIVES_MS)


def spelled(host: str) -> dict[str, Any]:
    return {"url": f"http://{host}/{METADATA_SPELLINGS.index(host)}"}  # one path each: a cache would answer the second


def onward(targets: tuple[str, ...]) -> list[dict[str, Any]]:
    waits: tuple[dict[str, int], ...] = ({}, {"wait_ms": ONWARD_MS})
    return [{"url": way(kind, target), **wait} for target in targets for kind in WAYS for wait in waits]


Reads = list[tuple[str, list[dict[str, Any]]]]


def _reads() -> Reads:
    pages = [routes("public.example", target) for target in (METADATA, PRIVATE)]
    spellings = [spelled(host) for host in METADATA_SPELLINGS]
    routable = [spelled(host) for host in METADATA_SPELLINGS if host not in NOT_ROUTABLE]
    own = [OWN, *(routes(PRIVATE, target) for target in (OTHER_PRIVATE, f"{PRIVATE}:8080"))]
    rebinding = [REBINDING, {"url": "http://rebind-1.example/again"}]
    names = [{"url": f"http://{host}/"} for host in ("private.example", "wiki.internal", PRIVATE, "[fd12::1]")]
    return [
        ("direct", [*pages, *onward((METADATA, PRIVATE)), *spellings, *own, *rebinding, *names]),
        ("deny", [pages[1], *spellings, *names, OWN]),
        ("allow", [OPEN, *onward((METADATA,)), *routable, names[0]]),
        (UNGUARDED, [OPEN]),
    ]


class World:
    """What was answered and what arrived, by policy and call."""

    def __init__(self, results: list[list[Any]]) -> None:
        self._results = {(mode, json.dumps(asked)): (text, failed, seen) for mode, asked, text, failed, seen in results}

    def text(self, mode: str, asked: dict[str, Any]) -> str:
        return str(self._results[mode, json.dumps(asked)][0])

    def failed(self, mode: str, asked: dict[str, Any]) -> bool:
        return bool(self._results[mode, json.dumps(asked)][1])

    def arrived(self, mode: str, asked: dict[str, Any] | None) -> set[tuple[str, str]]:
        """(address, path) of every connection and datagram that the other side saw in this call."""
        return {(address, path) for address, path in self._results[mode, json.dumps(asked)][2]}

    def paths(self, mode: str, asked: dict[str, Any], address: str) -> set[str]:
        return {path for at, path in self.arrived(mode, asked) if at == address}

    def reached(self, mode: str) -> set[str]:
        """Every address that anything of a policy arrived at."""
        return {at for (each, _), (_, _, seen) in self._results.items() if each == mode for at, _ in seen}


def read_in_a_world(reads: Reads, home: Path) -> str:
    if sys.platform != "linux" or not shutil.which("ip") or not shutil.which("unshare"):
        lacking("needs Linux, ip and unshare")
    unshare = (
        ["unshare", "--net", "--mount"]
        if os.geteuid() == 0
        else ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    )
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody make a network namespace")
    order = {"home": str(home), "reads": reads, "executable": executable_under_test()}
    done = subprocess.run(
        [*unshare, sys.executable, two_worlds.__file__],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=WORLD_S_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Read once in a run: each half by the worker that comes to it first, the other half is waited for."""
    own = tmp_path_factory.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    direct, *others = _reads()
    halves: dict[str, Reads] = {"direct": [direct], "others": others}
    results: dict[str, list[list[Any]]] = {}
    for way in (fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_EX):
        for name in [name for name in halves if name not in results]:
            with (common / f"world-{name}.json").open("a+") as file:
                try:
                    fcntl.flock(file, way)
                except BlockingIOError:
                    continue
                file.seek(0)
                said = file.read()
                if not said:
                    said = read_in_a_world(halves[name], tmp_path_factory.mktemp("world"))
                    file.write(said)
                results[name] = json.loads(said)
    return World([*results["direct"], *results["others"]])


@pytest.mark.requirement("readdocs:routes")
@pytest.mark.parametrize("target", [METADATA, PRIVATE], ids=["metadata", "private"])
@pytest.mark.parametrize("route", ROUTES)
def test_no_route_of_a_public_page_reaches_what_it_must_not(world: World, route: str, target: str) -> None:
    page = routes("public.example", target)
    assert f"/route/{route}" not in world.paths("direct", page, target)
    if target == PRIVATE:
        assert f"/route/{route}" not in world.paths("deny", page, target)


@pytest.mark.parametrize("route", sorted(ROUTES.keys() - NEVER_SENT - ENCRYPTED - {"webrtc", "webrtc-turn"}))
def test_a_route_that_is_allowed_is_seen_to_arrive(world: World, route: str) -> None:
    assert f"/route/{route}" in world.paths("allow", OPEN, METADATA)


@pytest.mark.requirement("readdocs:routes")
def test_webrtc_sends_nothing_because_of_a_preference_and_not_by_chance(world: World) -> None:
    assert "/route/webrtc" in world.paths(UNGUARDED, OPEN, METADATA)
    assert "/route/webrtc" not in world.paths("allow", OPEN, METADATA)
    assert "/route/webrtc" not in world.paths("direct", routes("public.example", METADATA), METADATA)


def test_the_answer_says_that_a_page_was_refused_something(world: World) -> None:
    text = world.text("direct", routes("public.example", METADATA))
    assert "Note: The page asked for what was refused: 169.254.169.254 is a cloud metadata address" in text


@pytest.mark.requirement("readdocs:routes")
@pytest.mark.parametrize("target", [METADATA, PRIVATE], ids=["metadata", "private"])
@pytest.mark.parametrize("wait", [{}, {"wait_ms": ONWARD_MS}], ids=["plain", "rendered"])
@pytest.mark.parametrize("kind", WAYS)
def test_no_way_of_sending_a_reader_on_reaches_what_it_must_not(
    world: World, kind: str, wait: dict[str, int], target: str
) -> None:
    asked = {"url": way(kind, target), **wait}
    assert world.paths("direct", asked, target) == set()
    assert world.failed("direct", asked)
    assert "was refused" in world.text("direct", asked)
    if target == METADATA:
        assert "/secret" in world.paths("allow", asked, target)
        assert f"I am {target}" in world.text("allow", asked)


@pytest.mark.requirement("fetch:metadata")
@pytest.mark.parametrize("host", METADATA_SPELLINGS)
def test_no_spelling_of_a_metadata_address_is_fetched(world: World, host: str) -> None:
    asked = spelled(host)
    for mode in ("direct", "deny"):
        assert world.failed(mode, asked)
        assert "metadata address" in world.text(mode, asked)
        assert world.arrived(mode, asked) == set()
    if host not in NOT_ROUTABLE:
        assert len(world.arrived("allow", asked)) == 1


@pytest.mark.requirement("fetch:metadata")
def test_nothing_at_all_arrived_at_a_metadata_address(world: World) -> None:
    allowed = {PUBLIC, PRIVATE, "fd12::1"}
    assert world.reached("direct") == allowed
    assert world.reached("deny") == {PUBLIC}


@pytest.mark.requirement("fetch:direct")
def test_a_private_page_reaches_its_own_origin_and_nothing_else_that_is_private(world: World) -> None:
    assert {"/route/fetch", "/route/script", "/route/iframe"} <= world.paths("direct", OWN, PRIVATE)
    assert world.paths("direct", routes(PRIVATE, OTHER_PRIVATE), OTHER_PRIVATE) == set()
    other_port = world.paths("direct", routes(PRIVATE, f"{PRIVATE}:8080"), PRIVATE)
    assert {path for path in other_port if path.startswith("/route/")} == set()
    assert world.arrived("deny", OWN) == set()
    assert world.failed("deny", OWN)


@pytest.mark.requirement("fetch:rebinding")
def test_a_name_that_changes_its_answer_does_not_lead_a_page_anywhere_else(world: World) -> None:
    """Public when the page is asked for, a metadata address ever after."""
    assert "/route/fetch" in world.paths("direct", REBINDING, PUBLIC)
    assert {address for address, _ in world.arrived("direct", REBINDING)} == {PUBLIC}
    again = {"url": "http://rebind-1.example/again"}
    assert world.arrived("direct", again) <= {(PUBLIC, "(connected)")}  # by the page before, seen when it closes
    assert "metadata address" in world.text("direct", again)


@pytest.mark.requirement("fetch:direct")
def test_names_are_private_by_what_they_are_and_not_by_what_they_resolve_to(world: World) -> None:
    public_name, private_name = {"url": "http://private.example/"}, {"url": "http://wiki.internal/"}
    assert "private.example (10.0.0.1) is a private address" in world.text("direct", public_name)
    assert f"I am {PRIVATE}" in world.text("direct", private_name)
    assert f"I am {PRIVATE}" in world.text("allow", public_name)
    for host in (PRIVATE, "[fd12::1]"):
        assert not world.failed("direct", {"url": f"http://{host}/"})
        assert "READDOCS_PRIVATE=deny" in world.text("deny", {"url": f"http://{host}/"})


def test_nothing_arrives_after_the_last_page_has_been_read(world: World) -> None:
    assert all(world.arrived(mode, None) == set() for mode in ("direct", "deny", "allow"))
