"""A server or a room that means no good: the agent leaves it, says why, and the tools go on answering."""

from __future__ import annotations

import base64
import gc
import re
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from tests.process.commands import wait_until
from tests.toolsets.xmpp.fake_server import DECLARATION, HEADER, ROOT, SASL, USER, Connection, FakeServer
from tests.wire import MODERN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.toolsets.xmpp.agent import Agent
    from tests.wire import Connect

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
BOMB = f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]>'
LASTING = re.compile(r" Next attempt in \d{3} s\.$")


@pytest.fixture
def fake_server() -> Iterator[Callable[..., FakeServer]]:
    """`fake_server(script)`; what went wrong in a script fails the test."""
    made: list[FakeServer] = []

    def make(script: Callable[[Connection], None], address: str = "127.0.0.1") -> FakeServer:
        made.append(FakeServer(script, address))
        return made[-1]

    yield make
    for each in made:
        each.close()
        assert each.faults == []


def sent_in_the_room(*data: str | bytes) -> Callable[[Connection], None]:
    def script(connection: Connection) -> None:
        connection.enter()
        for each in data:
            connection.send(each)
        assert connection.gone()

    return script


def after_the_header(data: str | bytes) -> Callable[[Connection], None]:
    def script(connection: Connection) -> None:
        connection.expect("<stream:stream[^>]*>")
        connection.send(data)
        assert connection.gone()

    return script


@pytest.mark.requirement("xmpp:hostile-server")
@pytest.mark.parametrize(
    ("script", "what"),
    [
        (after_the_header(f"{DECLARATION}{BOMB}{ROOT}"), "a document type"),
        (after_the_header(b"<?xml version='1.0' encoding='utf-16'?>" + BOMB.encode("utf-16")), "a document type"),
        (after_the_header(BOMB.encode("utf-16")), "a document type|what is not XML"),
        (after_the_header(b" " * 5000), "a document type or something else"),
        (after_the_header("HTTP/1.1 400 Bad Request\r\n\r\n"), "what is not XML"),
        (sent_in_the_room(f"{BOMB}<message>&l9;</message>"), "what is not XML"),
        (sent_in_the_room("<message><body>&unknown;</body></message>"), "what is not XML"),
        (sent_in_the_room("<message><body>\0</body></message>"), "what is not XML"),
        (sent_in_the_room(b"<message><body>\xff\xfe</body></message>"), "what is not XML"),
        (sent_in_the_room("<message><body>", "x" * 10_000_000), "a stanza of more than 512 KiB"),
        (sent_in_the_room("<message ", *(f"a{n}='{'y' * 1000}' " for n in range(10_000))), "a stanza of more than"),
        (sent_in_the_room(" " * 2_000_000), "a stanza of more than 512 KiB"),
        (sent_in_the_room("<a>" * 100_000), "elements in elements, 256 deep"),
    ],
    ids=[
        *("entity bomb", "utf-16 declared", "utf-16", "white space", "http", "bomb later", "entity", "nul", "bytes"),
        *("10 MB of text", "10 MB of attributes", "2 MB of nothing", "depth"),
    ],
)
def test_what_no_server_sends_ends_the_connection_and_is_told(
    fake_server: Callable[..., FakeServer],
    agent: Callable[..., Agent],
    script: Callable[[Connection], None],
    what: str,
) -> None:
    server = fake_server(script)
    dog = agent(server.service)
    error = dog.until(lambda status: "closed from here" in status.get("error", ""), "left")["error"]
    assert re.search(f"^The connection to {server.service} was closed from here: it sent ({what})", error)
    assert LASTING.search(error)
    assert dog.server.call("echo", {"message": "alive"}, "e")["result"]["content"][0]["text"] == "Echo: alive"
    assert dog.server.peak_bytes() < 150_000_000


@pytest.mark.requirement("xmpp:hostile-server")
def test_another_host_that_the_server_names_is_not_asked(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    other = fake_server(lambda connection: None)

    def script(connection: Connection) -> None:
        connection.expect("<stream:stream[^>]*>")
        ns = "urn:ietf:params:xml:ns:xmpp-streams"
        where = f"<see-other-host xmlns='{ns}'>127.0.0.1:{other.port}</see-other-host>"
        connection.send(f"{HEADER}<stream:error>{where}</stream:error>")
        assert connection.gone()

    said = agent(fake_server(script).service).refusal()
    assert "it sends this agent to another host, which is not followed" in said
    assert other.connections == 0


@pytest.mark.requirement("xmpp:hostile-server")
@pytest.mark.parametrize(
    ("rounds", "what"),
    [("4294967295", "a login of 4294967295 rounds"), ("0", "a login of 0 rounds"), ("x", "what could not be read")],
)
def test_a_login_that_would_take_for_ever_is_refused(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent], rounds: str, what: str
) -> None:
    def script(connection: Connection) -> None:
        connection.mechanisms("SCRAM-SHA-256", "SCRAM-SHA-1")
        first = base64.b64decode(connection.expect("<auth [^>]*>([^<]*)</auth>")[1]).decode()
        nonce = first.rpartition("r=")[2]
        assert len(nonce) == 32
        challenge = base64.b64encode(f"r={nonce}abc,s=c2FsdA==,i={rounds}".encode()).decode()
        connection.send(f"<challenge xmlns='{SASL}'>{challenge}</challenge>")
        assert connection.gone()

    assert f"it sent {what}" in agent(fake_server(script).service).refusal()


@pytest.mark.requirement("xmpp:hostile-server")
@pytest.mark.parametrize(
    ("success", "what"),
    [
        (f"<success xmlns='{SASL}'/>", "what could not be read"),
        (f"<success xmlns='{SASL}'>dj1BQUFB</success>", "no proof that it knows the password"),
        (f"<success xmlns='{SASL}'>ZT1vdGhlcg==</success>", "no proof that it knows the password"),
    ],
    ids=["unproven", "wrongly proven", "error"],
)
def test_a_server_that_does_not_know_the_password_is_not_believed(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent], success: str, what: str
) -> None:
    def script(connection: Connection) -> None:
        connection.mechanisms("SCRAM-SHA-1")
        first = base64.b64decode(connection.expect("<auth [^>]*>([^<]*)</auth>")[1]).decode()
        challenge = base64.b64encode(f"r={first.rpartition('r=')[2]}abc,s=c2FsdA==,i=4096".encode()).decode()
        connection.send(f"<challenge xmlns='{SASL}'>{challenge}</challenge>")
        connection.expect("<response [^>]*>([^<]*)</response>")
        connection.send(success)
        assert connection.gone()

    assert f"it sent {what}" in agent(fake_server(script).service).refusal()


@pytest.mark.requirement("xmpp:hostile-server")
def test_methods_that_are_not_worth_a_password_are_not_used(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    def script(connection: Connection) -> None:
        connection.mechanisms("DIGEST-MD5", "CRAM-MD5", "LOGIN", "ANONYMOUS", "EXTERNAL", "X-OAUTH2")
        assert connection.gone()

    assert "offers no way to log in that this agent uses" in agent(fake_server(script).service).refusal()


@pytest.mark.requirement("xmpp:refused")
def test_a_password_that_was_rejected_is_not_tried_in_another_way(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    def script(connection: Connection) -> None:
        connection.mechanisms("SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN")
        connection.expect("<auth .*?</auth>")
        connection.send(f"<failure xmlns='{SASL}'><not-authorized/></failure>")
        assert connection.rest() == ""

    dog = agent(fake_server(script).service)
    assert "rejected the user name or the password" in dog.refusal()
    assert LASTING.search(dog.status()["error"])


@pytest.mark.requirement("xmpp:tls")
def test_plain_text_is_not_spoken_beyond_this_machine(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    address = _own_address()
    if address.startswith("127."):
        pytest.skip("this machine has loopback only")

    def script(connection: Connection) -> None:
        connection.mechanisms("PLAIN", "SCRAM-SHA-1")
        assert connection.gone()

    server = fake_server(script, address)
    said = agent(server.service).refusal()
    assert said.startswith(f"{server.service} offers no STARTTLS, and plain text is for loopback only")


def _own_address() -> str:
    """Of the interface that would be used for the way out; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way_out:
        try:
            way_out.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(way_out.getsockname()[0])


@pytest.mark.requirement("xmpp:tls")
def test_what_is_said_before_tls_has_begun_is_not_heard(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent], room: str
) -> None:
    tls = "urn:ietf:params:xml:ns:xmpp-tls"

    def script(connection: Connection) -> None:
        connection.features(f"<starttls xmlns='{tls}'/>")
        connection.expect("<starttls[^>]*>")
        connection.room = room
        early = connection.message("from nobody")
        connection.send(f"<proceed xmlns='{tls}'/>{early}<presence from='{room}/McpDebug'/>{early}")
        connection.socket.recv(1)  # the beginning of TLS

    dog = agent(fake_server(script).service)
    status = dog.until(lambda status: "Not connected yet" not in status["error"], "lost")
    assert status["lastIncoming"] is None


@pytest.mark.requirement("xmpp:data-only")
def test_what_is_said_before_the_login_is_not_heard(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent], room: str
) -> None:
    def script(connection: Connection) -> None:
        connection.room = room
        early = connection.message("from nobody")
        connection.expect("<stream:stream[^>]*>")
        connection.send(f"{HEADER}{early}")
        mechanism = f"<mechanisms xmlns='{SASL}'><mechanism>PLAIN</mechanism></mechanisms>"
        connection.send(f"<stream:features>{mechanism}</stream:features>{early}")
        connection.expect("<auth .*?</auth>")
        connection.send(f"{early}<success xmlns='{SASL}'/>{early}")
        connection.expect("<stream:stream[^>]*>")

    dog = agent(fake_server(script).service)
    assert dog.until(lambda status: "was lost" in status["error"], "lost")["lastIncoming"] is None


@pytest.mark.requirement("xmpp:leaves")
def test_it_says_that_it_leaves(fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]) -> None:
    left = threading.Event()

    def script(connection: Connection) -> None:
        connection.enter()
        connection.expect('<presence[^>]*type="unavailable".*</stream:stream>')
        connection.send("</stream:stream>")
        left.set()

    dog = agent(fake_server(script).service)
    dog.in_room()
    dog.server.close_stdin()
    assert left.wait(30)
    assert dog.server.status() == 0


@pytest.mark.requirement("xmpp:hostile-server")
def test_a_server_that_asks_without_end_and_does_not_read_is_left(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    asked = "".join(f"<iq type='get' id='{n}'><query xmlns='jabber:iq:version'/></iq>" for n in range(1000))

    def script(connection: Connection) -> None:
        connection.enter()
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(200):
            connection.send(asked)

    error = agent(fake_server(script).service).until(lambda status: "questions" in status.get("error", ""), "left")
    assert "more questions than it reads answers" in error["error"]


@pytest.mark.requirement("xmpp:data-only")
def test_only_what_is_said_in_the_room_is_heard(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    def script(connection: Connection) -> None:
        connection.enter()
        others = [
            {"from": "elsewhere@conference.xmpp/mallory"},
            {"from": "dogbot@xmpp"},
            {"from": ""},
            {"type": "chat"},
            {"type": "headline"},
            {"type": "error"},
        ]
        for number, attributes in enumerate(others):
            connection.send(connection.message(f"not heard {number}", **attributes))
        connection.send("<message><result xmlns='urn:xmpp:mam:2'><forwarded xmlns='urn:xmpp:forward:0'>")
        connection.send(connection.message("forwarded") + "</forwarded></result></message>")
        connection.send(connection.message("heard"))
        connection.gone()

    dog = agent(fake_server(script).service)
    assert dog.hears("heard")["sender"] == "mallory"
    assert dog.server.stderr().count("message from") == 1


@pytest.mark.requirement("xmpp:data-only")
def test_what_would_be_invisible_is_shown_and_what_is_endless_is_cut(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    hidden = "a\u202eb\u200bc\U000e0041d\x9be&#13;f\ufeff"
    shown = "a\\u202eb\\u200bc\\U000e0041d\\u009be\\u000df\\ufeff"

    def script(connection: Connection) -> None:
        connection.enter()
        connection.send(connection.message(hidden, "mal\u202elory"))
        connection.expect("never|</stream:stream>")
        connection.gone()

    dog = agent(fake_server(script).service, LOG_LEVEL="debug")
    assert dog.hears(shown)["sender"] == "mal\\u202elory"
    assert f"[Server] xmpp: {shown}" in dog.server.stderr()
    dog.server.close_stdin()
    dog.server.status()


@pytest.mark.requirement("xmpp:data-only")
def test_a_long_message_is_cut_with_a_word_about_the_rest(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    dog = agent(fake_server(_saying("x" * 400_000)).service)
    assert dog.hears("x" * 8000 + "… (392000 more characters)")


def _saying(body: str) -> Callable[[Connection], None]:
    def script(connection: Connection) -> None:
        connection.enter()
        connection.send(connection.message(body))
        connection.gone()

    return script


@pytest.mark.requirement("xmpp:nickname")
def test_the_nickname_that_the_room_gives_is_the_one_that_counts(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    renamed = threading.Event()

    def script(connection: Connection) -> None:
        connection.log_in()
        connection.let_in("Rover", "210")
        renamed.wait(30)
        change = f"<x xmlns='{USER}'><item nick='Fido'/><status code='303'/><status code='110'/></x>"
        connection.send(f"<presence type='unavailable' from='{connection.room}/Rover'>{change}</presence>")
        connection.gone()

    dog = agent(fake_server(script).service)
    assert dog.in_room()["nickname"] == "Rover"
    renamed.set()
    assert dog.until(lambda status: status["nickname"] == "Fido", "renamed")["connected"] is True


@pytest.mark.requirement("xmpp:put-out")
@pytest.mark.parametrize(
    ("codes", "said"),
    [("301", "banned from"), ("321", "put out of"), ("332", "put out by the shutdown of"), ("", "put out of")],
)
def test_every_way_of_being_put_out_is_told(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent], room: str, codes: str, said: str
) -> None:
    def script(connection: Connection) -> None:
        connection.enter()
        status = "".join(f"<status code='{code}'/>" for code in ("110", codes) if code)
        reason = "<item><reason>enough\n\u202e</reason></item>"
        about = f"<x xmlns='{USER}'>{reason}{status}</x>"
        connection.send(f"<presence type='unavailable' from='{connection.room}/McpDebug'>{about}</presence>")
        connection.gone()

    dog = agent(fake_server(script).service)
    error = dog.until(lambda status: "This agent was" in status.get("error", ""), "out")["error"]
    assert error.startswith(f"This agent was {said} {room}: enough \\u202e.")


def _gone_before_features(connection: Connection) -> None:
    connection.expect("<stream:stream[^>]*>")
    connection.send(HEADER)


def _gone_before_login(connection: Connection) -> None:
    connection.mechanisms("SCRAM-SHA-1")
    connection.expect("<auth .*?</auth>")


def _gone_before_bind(connection: Connection) -> None:
    connection.mechanisms("PLAIN")
    connection.expect("<auth .*?</auth>")
    connection.send(f"<success xmlns='{SASL}'/>")
    connection.features("<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>")
    connection.expect("<iq .*?</iq>")


def _gone_before_it_is_in(connection: Connection) -> None:
    connection.log_in()
    connection.expect("<presence .*?</presence>")


def _gone_in_the_room(connection: Connection) -> None:
    connection.enter()


@pytest.mark.requirement("xmpp:reconnect")
@pytest.mark.parametrize(
    "script",
    [
        *(_gone_before_features, _gone_before_login, _gone_before_bind),
        *(_gone_before_it_is_in, _gone_in_the_room),
    ],
)
def test_a_server_that_goes_away_is_told_at_every_step_and_tried_again(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent], script: Callable[[Connection], None]
) -> None:
    server = fake_server(script)
    dog = agent(server.service)
    dog.until(lambda status: server.connections > 1, "tried again")
    assert f"[Server] xmpp: The connection to {server.service} was lost.\n" in dog.server.stderr()


@pytest.mark.requirement("xmpp:hostile-server")
def test_a_server_that_sends_byte_by_byte_is_understood(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    def script(connection: Connection) -> None:
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        whole = connection.send
        connection.send = lambda data: [whole(data[n : n + 1]) for n in range(len(data))]  # type: ignore[method-assign, assignment]
        connection.enter()
        connection.send(connection.message("slowly"))
        connection.gone()

    assert agent(fake_server(script).service).hears("slowly")["sender"] == "mallory"


@pytest.mark.requirement("xmpp:speaks")
def test_a_message_with_which_the_connection_ends_is_an_error(
    fake_server: Callable[..., FakeServer], agent: Callable[..., Agent]
) -> None:
    spoken = threading.Event()

    def script(connection: Connection) -> None:
        connection.enter()
        if not spoken.is_set():
            connection.expect("<message .*?</message>")
            spoken.set()
        else:
            connection.gone()

    server = fake_server(script)
    assert agent(server.service).refusal() == f"The connection to {server.service} was lost."


@pytest.mark.requirement("xmpp:hostile-server")
@pytest.mark.transports("in-process")
@pytest.mark.revisions(MODERN)
def test_a_server_that_sends_without_end_is_made_to_wait(
    fake_server: Callable[..., FakeServer],
    connect: Connect,
    environ: dict[str, str],
    xmpp_environ: Callable[..., dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tools.xmpp.stream.READ_BYTES_BURST", 500_000)
    monkeypatch.setattr("tools.xmpp.stream.READ_BYTES_PER_S", 1)
    stalled = threading.Event()

    def script(connection: Connection) -> None:
        connection.enter()
        connection.socket.settimeout(2.0)
        flood = connection.message("x").encode() * 1000
        try:
            for _ in range(1000):
                connection.socket.sendall(flood)
        except TimeoutError:
            stalled.set()

    environ |= xmpp_environ(fake_server(script).service)
    wire = connect("xmpp")
    assert stalled.wait(60)
    assert wire.call("xmppStatus")["structuredContent"]["connected"] is True


@pytest.mark.requirement("xmpp:reconnect")
@pytest.mark.transports("in-process")
@pytest.mark.revisions(MODERN)
@pytest.mark.parametrize("script", [_gone_before_bind, _gone_in_the_room])
def test_nothing_of_a_lost_connection_is_left_waiting(
    fake_server: Callable[..., FakeServer],
    connect: Connect,
    environ: dict[str, str],
    xmpp_environ: Callable[..., dict[str, str]],
    caplog: pytest.LogCaptureFixture,
    script: Callable[[Connection], None],
) -> None:
    server = fake_server(script)
    environ |= xmpp_environ(server.service)
    connect("xmpp")
    assert wait_until(lambda: server.connections > 1)
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
