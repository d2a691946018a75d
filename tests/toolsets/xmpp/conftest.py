"""Rooms for tests: a Prosody a worker, a room a test, agents and other people in it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.lacking import lacking
from tests.toolsets.xmpp.agent import Agent
from tests.toolsets.xmpp.chatter import Chatter
from tests.toolsets.xmpp.prosody import DOMAIN, PASSWORD, ROOMS, Certificate, Prosody, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.server_process import ServerProcess

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def _prosody_program() -> None:
    if not program():
        lacking("There is no prosody. Debian's package has it.")


@pytest.fixture(scope="session")
def prosody(_prosody_program: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prosody]:
    """In plain text, for all tests of a worker: never stopped by one of them."""
    server = Prosody(tmp_path_factory.mktemp("prosody")).start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return Certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def tls_prosody(
    _prosody_program: None, certificate: Certificate, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prosody]:
    """As `prosody`, with TLS and a certificate that nobody has signed."""
    server = Prosody(tmp_path_factory.mktemp("prosody"), certificate=certificate, hashed=True).start()
    yield server
    server.stop()


@pytest.fixture
def own_prosody(_prosody_program: None, tmp_path: Path) -> Iterator[Prosody]:
    """One that a test may stop and start."""
    server = Prosody(tmp_path / "prosody").start()
    yield server
    server.stop()


@pytest.fixture
def room() -> str:
    """Nobody was ever in it."""
    return f"room{next(NUMBERS)}@{ROOMS}"


@pytest.fixture
def xmpp_environ(environ: dict[str, str], room: str) -> Callable[..., dict[str, str]]:
    """`xmpp_environ(prosody.service, XMPP_USERNAME="catbot")`: what an agent is configured with."""

    def make(service: str, **others: str) -> dict[str, str]:
        account = {
            "XMPP_SERVICE": service,
            "XMPP_DOMAIN": DOMAIN,
            "XMPP_USERNAME": "dogbot",
            "XMPP_PASSWORD": PASSWORD,
            "MUC_ROOM": room,
        }
        return {**environ, **account, **others}

    return make


@pytest.fixture
def agent(
    start: Callable[..., ServerProcess], xmpp_environ: Callable[..., dict[str, str]]
) -> Iterator[Callable[..., Agent]]:
    """`agent(prosody.service, MCP_BOT_NICKNAME="Rex")`: a server of the xmpp toolset, after its handshake.

    Fails a test whose agent wrote to stderr what the toolset did not write: a library's complaint, a traceback.
    """
    made: list[Agent] = []

    def make(service: str, **others: str) -> Agent:
        made.append(Agent(start("xmpp", environ=xmpp_environ(service, **others))))
        return made[-1]

    yield make
    for each in made:
        lines = each.server.stderr().splitlines()
        assert [line for line in lines if not line.startswith("[Server] xmpp: ")] == []


@pytest.fixture
def chatter(prosody: Prosody) -> Iterator[Callable[..., Chatter]]:
    """`chatter("alice")`, or of another Prosody: `chatter("alice", own_prosody)`."""
    made: list[Chatter] = []

    def make(user: str = "alice", at: Prosody = prosody) -> Chatter:
        made.append(Chatter(at, user))
        return made[-1]

    yield make
    for each in made:
        each.close()
