"""Whatever a server sends, the agent bears it or leaves: nothing escapes into the loop, and what is heard is text."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.toolsets.xmpp.fake_server import HEADER, SASL, USER
from tools.xmpp.configuration import Account

if TYPE_CHECKING:
    from tools.xmpp.occupant import Occupant

ROOM = "room@conference.xmpp"
FRAGMENTS = [
    *(
        "<message",
        "<presence",
        "<iq",
        "</message>",
        "</presence>",
        "</iq>",
        "/>",
        ">",
        " ",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
    ),
    *(
        f" from='{ROOM}/McpDebug'",
        f" from='{ROOM}/mallory'",
        f" from='{ROOM}'",
        " from='x@y/z'",
        " id='1'",
        " to='a@b'",
    ),
    *(" type='groupchat'", " type='error'", " type='unavailable'", " type='get'", " type='set'", " type='result'"),
    *(
        "<body>hello</body>",
        "<body/>",
        "<subject>s</subject>",
        "<delay xmlns='urn:xmpp:delay'/>",
        "<ping xmlns='urn:xmpp:ping'/>",
    ),
    *(f"<x xmlns='{USER}'>", "</x>", *(f"<status code='{code}'/>" for code in (110, 201, 210, 303, 307, 332))),
    *("<item nick='x'/>", "<item><reason>r</reason></item>", "<destroy/>", "<error><forbidden/></error>", "<error/>"),
    *("<stream:error/>", "<stream:features/>", "</stream:stream>", f"<challenge xmlns='{SASL}'>AAAA</challenge>"),
    *(f"<success xmlns='{SASL}'/>", f"<failure xmlns='{SASL}'/>", "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
    *("<stream:features><mechanisms xmlns='" + SASL + "'><mechanism>PLAIN</mechanism></mechanisms></stream:features>",),
    *("<stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/></stream:features>", "&amp;", "&x;", "\0"),
]
WHOLE = [
    f"<message from='{ROOM}/mallory' type='groupchat'><body>hello</body></message>",
    f"<presence from='{ROOM}/McpDebug'><x xmlns='{USER}'><status code='110'/></x></presence>",
]
CHUNKS = st.lists(
    st.sampled_from([each.encode() for each in FRAGMENTS + WHOLE * 5]) | st.binary(max_size=8), min_size=1, max_size=40
)


class Nowhere(asyncio.Transport):
    """A transport whose other end takes everything and hears nothing."""

    def write(self, data: Any) -> None:
        return

    def abort(self) -> None:
        return

    def close(self) -> None:
        return

    def is_reading(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return 0


async def served(chunks: list[bytes], logged_in: bool) -> list[tuple[str, str, str]]:
    """What was heard; raises what escaped."""
    from tools.xmpp.occupant import Memory, Occupant
    from tools.xmpp.stream import Stream

    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
    heard: list[tuple[str, str, str]] = []
    account = Account(
        {"XMPP_SERVICE": "xmpp://localhost", "XMPP_USERNAME": "a", "XMPP_PASSWORD": "b", "MUC_ROOM": ROOM}
    )
    occupants: list[Occupant] = []

    def take(stanza: ET.Element) -> None:
        occupants[0].take(stanza)

    stream = Stream(account, take)
    occupants.append(Occupant(stream, Memory(), lambda *said: heard.append(said)))
    stream.connection_made(Nowhere())
    if logged_in:
        stream.event("session_start")
        joining = asyncio.ensure_future(occupants[0].join(0.0))
        await asyncio.sleep(0)
        joining.add_done_callback(lambda task: task.cancelled() or task.exception())
    for chunk in [HEADER.encode(), *chunks]:
        stream.data_received(chunk)
        await asyncio.sleep(0)
    stream.connection_lost(None)
    await asyncio.wait_for(stream.ended, 30)
    assert faults == []
    return heard


@pytest.mark.requirement("xmpp:hostile-server")
@given(CHUNKS, st.booleans())
def test_any_stanzas_are_borne(chunks: list[bytes], logged_in: bool) -> None:
    heard = asyncio.run(served(chunks, logged_in))
    assert logged_in or heard == []
    assert all(address.startswith(ROOM) and body for _, address, body in heard)


@pytest.mark.requirement("xmpp:hostile-server")
def test_a_whole_message_among_them_is_heard() -> None:
    assert asyncio.run(served([WHOLE[0].encode()], True)) == [("mallory", f"{ROOM}/mallory", "hello")]
