"""The password is in no log, no answer, no process list and no command's environment."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.toolsets.xmpp.prosody import PASSWORD, Prosody

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server_process import ServerProcess

ENCODED = base64.b64encode(f"\0dogbot\0{PASSWORD}".encode()).decode()


def heard_of(server: ServerProcess) -> str:
    """All that can be seen of a server from outside, once everything that it has was asked for."""
    seen = [Path(f"/proc/{server.pid}/cmdline").read_text(), *_threads(server.pid)]
    requests: list[tuple[str, dict[str, Any]]] = [
        ("xmppSend", {"message": "hello"}),
        ("xmppStatus", {}),
        ("tools/list", {}),
        ("resources/list", {}),
        ("resources/read", {"uri": "xmpp://room/last"}),
        ("prompts/list", {}),
        ("tools/call", {"name": "Bash", "arguments": {"command": "env; set; ps axww; cat /proc/self/environ"}}),
    ]
    seen += [json.dumps(server.request(method, params)) for method, params in requests]
    server.close_stdin()
    seen.append(server.rest().decode())
    server.status()
    return "\n".join([*seen, server.stderr()])


def _threads(pid: int) -> list[str]:
    return [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/comm")]


@pytest.mark.requirement("xmpp:password")
@pytest.mark.parametrize("verify", ["true", "false"])
@pytest.mark.parametrize("prefix", ["", "SCORPIO_"])
def test_the_password_is_seen_nowhere(
    prosody: Prosody,
    tls_prosody: Prosody,
    start: Callable[..., ServerProcess],
    xmpp_environ: Callable[..., dict[str, str]],
    verify: str,
    prefix: str,
) -> None:
    environ = xmpp_environ(tls_prosody.service if verify == "false" else prosody.service)
    environ |= {"LOG_LEVEL": "debug", "XMPP_TLS_VERIFY": verify}
    environ[f"{prefix}XMPP_PASSWORD"] = environ.pop("XMPP_PASSWORD")
    server = start("core,xmpp", environ=environ).open()
    seen = heard_of(server)
    assert '"sent": true' in seen
    assert "GIT_PAGER" in seen
    assert PASSWORD not in seen
    assert ENCODED not in seen


@pytest.mark.requirement("xmpp:password")
def test_a_password_that_is_rejected_is_seen_nowhere_either(
    prosody: Prosody, start: Callable[..., ServerProcess], xmpp_environ: Callable[..., dict[str, str]]
) -> None:
    environ = xmpp_environ(prosody.service, LOG_LEVEL="debug", XMPP_PASSWORD="meow-meow-3\x00\u00ad")
    environ["XMPP_PASSWORD"] = "meow-meow-3"
    seen = heard_of(start("core,xmpp", environ=environ).open())
    assert "rejected the user name or the password" in seen
    assert "meow-meow-3" not in seen


@pytest.mark.requirement("xmpp:password")
def test_a_password_that_cannot_be_sent_is_told_without_it(
    prosody: Prosody, start: Callable[..., ServerProcess], xmpp_environ: Callable[..., dict[str, str]]
) -> None:
    environ = xmpp_environ(prosody.service, XMPP_PASSWORD="meow\u0007meow")
    seen = heard_of(start("core,xmpp", environ=environ).open())
    assert "XMPP_PASSWORD holds a character that no password may" in seen
    assert "meow" not in seen
