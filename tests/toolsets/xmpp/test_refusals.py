"""Why the agent is not in its room: each reason a clear error in xmppStatus and in xmppSend's answer, never a hang."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

import pytest

from tests.toolsets.xmpp.prosody import DOMAIN, Certificate, Prosody, free_ports

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.toolsets.xmpp.agent import Agent
    from tests.toolsets.xmpp.chatter import Chatter

NEXT = re.compile(r" Next attempt in \d+ s\.| Trying again now\.")


def assert_says(dog: Agent, reason: str) -> None:
    """Both tools say it, and it stands on stderr."""
    assert NEXT.sub("", dog.refusal()) == reason
    status = dog.status()
    assert NEXT.sub("", status.pop("error")) == reason
    assert (status["connected"], status["lastIncoming"]) == (False, None)
    assert f"[Server] xmpp: {reason}\n" in dog.server.stderr()


@pytest.mark.requirement("xmpp:refused")
def test_wrong_password_is_a_clear_error(prosody: Prosody, agent: Callable[..., Agent]) -> None:
    dog = agent(prosody.service, XMPP_PASSWORD="meow-11")
    assert_says(
        dog,
        f"{prosody.service} rejected the user name or the password of dogbot@{DOMAIN}. "
        "Check XMPP_USERNAME, XMPP_DOMAIN and XMPP_PASSWORD.",
    )
    assert "Next attempt in " in dog.refusal()
    assert "meow-11" not in dog.server.stderr()


@pytest.mark.requirement("xmpp:refused")
def test_unknown_host_is_a_clear_error(agent: Callable[..., Agent]) -> None:
    service = "xmpp://no-such-host.invalid:5222"
    said = f"The host 'no-such-host.invalid' of {service} is not known: it has no address. Check XMPP_SERVICE."
    assert_says(agent(service), said)


@pytest.mark.requirement("xmpp:refused")
def test_port_where_nobody_listens_is_a_clear_error(agent: Callable[..., Agent]) -> None:
    service = f"xmpp://localhost:{free_ports(1)[0]}"
    assert_says(agent(service), f"Nothing listens at {service}: connection refused. Is the XMPP server running?")


@pytest.mark.requirement("xmpp:refused")
def test_domain_that_the_server_does_not_serve_is_a_clear_error(prosody: Prosody, agent: Callable[..., Agent]) -> None:
    dog = agent(prosody.service, XMPP_DOMAIN="elsewhere.example")
    assert_says(dog, f"{prosody.service} closed the connection: it does not serve this domain: check XMPP_DOMAIN.")


@pytest.mark.requirement("xmpp:never-waits")
def test_a_server_that_never_answers_holds_nobody_up(agent: Callable[..., Agent]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        service = f"xmpp://localhost:{silent.getsockname()[1]}"
        dog = agent(service)
        said = f"Not connected yet: connecting to {service}."
        assert dog.refusal() == said
        assert dog.status()["error"] == said
        dog.server.close_stdin()
        assert dog.server.status() == 0


@pytest.mark.requirement("xmpp:tls")
@pytest.mark.parametrize("scheme", ["xmpp", "xmpps"])
def test_a_certificate_that_does_not_verify_is_a_clear_error(
    tls_prosody: Prosody, agent: Callable[..., Agent], scheme: str
) -> None:
    service = tls_prosody.service if scheme == "xmpp" else tls_prosody.tls_service
    before = len(tls_prosody.lines)
    assert_says(
        agent(service),
        f"The certificate of {service} does not verify for {DOMAIN}: self-signed certificate. "
        "It needs one that this machine trusts; XMPP_TLS_VERIFY=false accepts any, which is for tests only.",
    )
    assert not [line for line in tls_prosody.lines[before:] if "Authenticated" in line]


@pytest.mark.requirement("xmpp:tls")
@pytest.mark.parametrize("scheme", ["xmpp", "xmpps"])
def test_a_certificate_that_is_trusted_lets_it_in(
    tls_prosody: Prosody, certificate: Certificate, agent: Callable[..., Agent], scheme: str
) -> None:
    service = tls_prosody.service if scheme == "xmpp" else tls_prosody.tls_service
    agent(service, SSL_CERT_FILE=str(certificate.path)).send("in private")


@pytest.mark.requirement("xmpp:tls")
@pytest.mark.parametrize("scheme", ["xmpp", "xmpps"])
def test_any_certificate_does_where_verification_is_switched_off(
    tls_prosody: Prosody, agent: Callable[..., Agent], scheme: str
) -> None:
    service = tls_prosody.service if scheme == "xmpp" else tls_prosody.tls_service
    agent(service, XMPP_TLS_VERIFY="false").send("trusting")


@pytest.mark.requirement("xmpp:tls")
@pytest.mark.usefixtures("_prosody_program")
def test_a_trusted_certificate_of_another_name_is_refused(tmp_path: Path, agent: Callable[..., Agent]) -> None:
    other = Certificate(tmp_path, "other.example")
    server = Prosody(tmp_path / "other", certificate=other).start()
    try:
        said = agent(server.service, SSL_CERT_FILE=str(other.path)).refusal()
    finally:
        server.stop()
    assert f"does not verify for {DOMAIN}: Hostname mismatch" in said


@pytest.mark.requirement("xmpp:tls")
def test_tls_on_a_port_without_it_is_a_clear_error(prosody: Prosody, agent: Callable[..., Agent]) -> None:
    service = f"xmpps://localhost:{prosody.port}"
    said = agent(service).until(lambda status: "TLS" in status["error"], "refused")["error"]
    assert NEXT.sub("", said).endswith("Does that port speak xmpp:// (STARTTLS) instead?")


@pytest.mark.requirement("xmpp:refused")
def test_a_room_for_members_only_is_a_clear_error(
    prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    chatter("owner").join(room, "owner").configure(room, membersonly="1")
    said = f"The room {room} did not let this agent in: it is for members only (registration-required)."
    assert_says(agent(prosody.service), said)


@pytest.mark.requirement("xmpp:refused")
def test_a_room_that_has_banned_it_is_a_clear_error(
    prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    owner = chatter("owner").join(room, "owner")
    owner.item(room, f"jid='dogbot@{DOMAIN}' affiliation='outcast'")
    said = f"The room {room} did not let this agent in: this account is banned from it (forbidden)."
    assert_says(agent(prosody.service), said)


@pytest.mark.requirement("xmpp:refused")
def test_a_room_with_a_password_is_a_clear_error(
    prosody: Prosody, room: str, agent: Callable[..., Agent], chatter: Callable[..., Chatter]
) -> None:
    owner = chatter("owner").join(room, "owner")
    owner.configure(room, passwordprotectedroom="1", roomsecret="sesame")
    why = "it has a password, and this agent has none to give (not-authorized)"
    assert_says(agent(prosody.service), f"The room {room} did not let this agent in: {why}.")


@pytest.mark.requirement("xmpp:refused")
def test_a_room_of_no_service_is_a_clear_error(prosody: Prosody, agent: Callable[..., Agent]) -> None:
    said = agent(prosody.service, MUC_ROOM="room@nowhere.invalid").refusal()
    assert said.startswith("The room room@nowhere.invalid did not let this agent in: ")


@pytest.mark.requirement("xmpp:configuration")
@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("XMPP_SERVICE", "", "Not configured: XMPP_SERVICE missing in the configuration."),
        ("XMPP_PASSWORD", "", "Not configured: XMPP_PASSWORD missing in the configuration."),
        ("MUC_ROOM", "", "Not configured: MUC_ROOM missing in the configuration."),
        ("MUC_ROOM", "general", "MUC_ROOM must be ROOM@SERVICE, such as general@conference.xmpp, not 'general'."),
        (
            "XMPP_SERVICE",
            "https://dogbot:secret-7@localhost",
            "XMPP_SERVICE must be xmpp://HOST:PORT (STARTTLS) or xmpps://HOST:PORT (TLS from the start).",
        ),
    ],
)
def test_what_the_configuration_lacks_is_named(agent: Callable[..., Agent], key: str, value: str, said: str) -> None:
    service = value if key == "XMPP_SERVICE" else "xmpp://localhost:1"
    dog = agent(service, **({} if key == "XMPP_SERVICE" else {key: value}))
    assert_says(dog, said)
    assert "secret-7" not in dog.server.stderr()
