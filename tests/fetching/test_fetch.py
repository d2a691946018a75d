"""One document over HTTP: what is followed, what is refused, and that nothing is without a bound."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import tracemalloc
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scorpio.address_policy import ALLOW, DENY, DIRECT, Policy
from scorpio.fetch import Document, FetchFailure, Trust, fetch
from scorpio.gate import Gate
from scorpio.web_address import parse
from tests.certificates import Authority
from tests.web_site import Request, answer, redirect

if TYPE_CHECKING:
    from collections.abc import Callable

    from scorpio.gate import Resolve
    from tests.web_site import Site

EVENT_S_MAX = 30.0


def get(url: str, *, mode: str = DIRECT, resolve: Resolve | None = None, **bounds: int) -> Document:
    return asyncio.run(_get(url, mode, resolve, **bounds))


async def _get(url: str, mode: str, resolve: Resolve | None = None, **bounds: int) -> Document:
    address = parse(url)
    gate = Gate(Policy(mode, address.host, address.port), resolve)
    async with asyncio.timeout(EVENT_S_MAX):
        return await fetch(address, gate, Trust(), {"User-Agent": "tests"}, **bounds)


def failure(url: str, **options: object) -> str:
    with pytest.raises(FetchFailure) as failed:
        get(url, **options)  # type: ignore[arg-type]
    assert str(failed.value).endswith((".", "?"))
    return str(failed.value)


def names(**known: list[str]) -> Resolve:
    async def resolve(name: str) -> list[str]:
        if name.replace(".", "_") in known:
            return known[name.replace(".", "_")]
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    return resolve


def test_a_document_comes_with_its_status_type_and_final_address(site: Site) -> None:
    site.pages["/a"] = redirect("b?c=1", 301)
    site.pages["/b"] = answer("<p>hello</p>", kind="Text/HTML; charset=utf-8")
    document = get(site.url("/a"))
    assert (document.status, document.media_type, document.body) == (200, "text/html", b"<p>hello</p>")
    assert (document.address.url, document.redirects) == (site.url("/b?c=1"), 1)
    assert site.requests[0].headers["host"] == f"127.0.0.1:{site.port}"
    assert site.requests[0].headers["user-agent"] == "tests"


def test_a_cookie_goes_back_to_its_own_host_only(open_site: Callable[..., Site]) -> None:
    first, second = open_site(), open_site()
    first.pages["/"] = answer("", status=302, headers={"Location": "/again", "Set-Cookie": "a=1; Path=/; HttpOnly"})
    first.pages["/again"] = redirect(second.url("/", host="localhost"))
    second.pages["/"] = answer("done")
    get(first.url(), mode=ALLOW)
    assert first.requests[1].headers["cookie"] == "a=1"
    assert "cookie" not in second.requests[0].headers


def test_five_redirects_are_followed_and_no_more(site: Site) -> None:
    for number in range(7):
        site.pages[f"/{number}"] = redirect(f"/{number + 1}")
    site.pages["/5"] = answer("the end")
    assert get(site.url("/0")).redirects == 5
    site.pages["/5"] = redirect("/6")
    assert "redirects more than 5 times" in failure(site.url("/0"))


def test_redirects_in_a_circle_end(site: Site) -> None:
    site.pages["/"] = redirect("/")
    assert "redirects more than 5 times" in failure(site.url())
    assert len(site.requests) == 6


@pytest.mark.requirement("fetch:direct")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_private_origin_is_refused_before_it_is_connected_to(
    open_site: Callable[..., Site], status: int
) -> None:
    named, other = open_site(), open_site()
    named.pages["/"] = redirect(other.url("/secret"), status)
    other.pages["/secret"] = answer("secret")
    said = failure(named.url())
    assert "was refused" in said
    assert "private address" in said
    assert other.connections == 0
    assert get(named.url(), mode=ALLOW).body == b"secret"


def test_a_redirect_to_the_same_place_under_another_name_is_refused(site: Site) -> None:
    site.pages["/"] = redirect(site.url("/x", host="localhost"))
    assert "private address" in failure(site.url())
    assert site.asked() == ["/"]


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/", "http://u:p@127.0.0.1/", "http://[/"])
def test_a_redirect_to_what_is_no_web_address_is_refused(site: Site, target: str) -> None:
    site.pages["/"] = redirect(target)
    assert "redirects to an address that is not fetched" in failure(site.url())


@pytest.mark.requirement("fetch:metadata")
def test_a_redirect_to_a_metadata_address_is_refused(site: Site) -> None:
    site.pages["/"] = redirect("http://169.254.169.254/latest/meta-data/")
    assert "cloud metadata address" in failure(site.url())


@pytest.mark.requirement("fetch:private")
def test_nothing_private_is_reached_under_deny(site: Site) -> None:
    site.pages["/"] = answer("x")
    for host in ("127.0.0.1", "localhost", "[::1]", "2130706433", "[::ffff:127.0.0.1]", "0.0.0.0"):
        assert "READDOCS_PRIVATE=deny" in failure(f"http://{host}:{site.port}/", mode=DENY)
    assert site.connections == 0


def test_localhost_is_this_machine_whatever_a_resolver_says(site: Site) -> None:
    site.pages["/"] = answer("here")
    lying = names(localhost=["8.8.8.8"], a_localhost=["8.8.8.8"])
    assert get(site.url(host="localhost"), resolve=lying).body == b"here"
    assert get(site.url(host="a.localhost"), resolve=lying).body == b"here"


def test_an_ipv6_address_is_fetched(open_site: Callable[..., Site]) -> None:
    site = open_site("::1")
    site.pages["/"] = answer("six")
    assert get(site.url()).body == b"six"
    assert site.requests[0].headers["host"] == f"[::1]:{site.port}"


# -- names


@pytest.mark.requirement("fetch:rebinding")
def test_a_public_name_that_leads_to_a_private_address_is_refused(site: Site) -> None:
    said = failure(site.url(host="public.example"), resolve=names(public_example=["127.0.0.1"]))
    assert "public.example (127.0.0.1) is a private address" in said
    assert site.connections == 0


def test_a_private_name_that_the_caller_wrote_is_fetched(site: Site) -> None:
    site.pages["/"] = answer("intranet")
    assert get(site.url(host="wiki.internal"), resolve=names(wiki_internal=["127.0.0.1"])).body == b"intranet"


def test_one_private_address_among_public_ones_refuses_the_name(site: Site) -> None:
    mixed = names(mixed_example=["8.8.8.8", "2606:4700::1111", "127.0.0.1"])
    assert "private address" in failure(site.url(host="mixed.example"), resolve=mixed)
    assert site.connections == 0


@pytest.mark.requirement("fetch:rebinding")
def test_a_name_that_changes_its_answer_is_resolved_once_and_the_judged_address_is_dialled(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer is public, every later one is this machine: none of them may be connected to."""
    monkeypatch.setattr("scorpio.gate.CONNECT_S_MAX", 0.3)
    answers = iter([["192.88.98.1"], ["127.0.0.1"], ["127.0.0.1"]])

    async def changing(name: str) -> list[str]:
        return next(answers)

    async def twice() -> list[str]:
        gate = Gate(Policy(DIRECT, "rebind.example", site.port), changing)
        said = []
        for _ in range(2):
            try:
                await gate.connect("rebind.example", site.port)
            except Exception as fault:  # noqa: BLE001 # what is said of it is the point
                said.append(str(fault))
        return said

    said = asyncio.run(twice())
    assert all("No connection to rebind.example" in each for each in said)
    assert len(said) == 2
    assert next(answers) == ["127.0.0.1"], "the resolver was asked once"
    assert site.connections == 0


def test_a_name_that_does_not_exist_is_told_as_such() -> None:
    assert failure("http://no-such-host.invalid/", resolve=names()) == (
        "There is no host no-such-host.invalid. Check its spelling."
    )


def test_a_closed_port_is_told_as_such(site: Site) -> None:
    site.close()
    assert "connection refused" in failure(site.url())


def test_a_port_of_another_service_is_not_connected_to() -> None:
    assert "Port 22 is not one that web servers use" in failure("http://127.0.0.1:22/")


# -- bodies


def deflated(data: bytes) -> bytes:
    maker = zlib.compressobj(wbits=-15)
    return maker.compress(data) + maker.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("x-gzip", gzip.compress(b"hello", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", deflated(b"hello")),
        ("identity", b"hello"),
    ],
)
def test_a_compressed_body_is_unpacked(site: Site, encoding: str, body: bytes) -> None:
    site.pages["/"] = answer(body, headers={"Content-Encoding": encoding})
    assert get(site.url()).body == b"hello"


def test_a_body_in_chunks_after_early_hints_is_joined(site: Site) -> None:
    site.pages["/"] = (
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"
    )
    document = get(site.url())
    assert (document.status, document.body) == (200, b"hello")
    assert "link" not in document.headers


def test_a_body_without_a_length_ends_with_its_connection(site: Site) -> None:
    site.pages["/"] = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello"
    assert get(site.url()).body == b"hello"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "closed the connection without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "closed the connection without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal", "broke off after 3 bytes"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", "broke off after"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not answer in HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "does not answer in HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nx", "compressed with br"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip", "it is not gzip as its headers say"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"a" * 100_000 + b"\r\n\r\n", "headers"),
    ],
)
def test_a_damaged_answer_is_told_as_such(site: Site, data: bytes, words: str) -> None:
    site.pages["/"] = data
    assert words in failure(site.url())


@pytest.mark.requirement("fetch:bounds")
def test_a_body_over_the_bound_is_refused_and_one_of_the_bound_is_not(site: Site) -> None:
    site.pages["/exact"] = answer(b"x" * 1000)
    site.pages["/over"] = answer(b"x" * 1001)
    assert len(get(site.url("/exact"), bytes_max=1000).body) == 1000
    assert "larger than 1000 bytes" in failure(site.url("/over"), bytes_max=1000)


@pytest.mark.requirement("fetch:bounds")
def test_an_endless_body_is_refused_once_it_is_too_large(site: Site) -> None:
    def endless(request: Request) -> None:
        request.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            request.send(b"x" * 65536)

    site.pages["/"] = endless
    assert "larger than 10 MB" in failure(site.url())


@pytest.mark.requirement("fetch:bounds")
def test_a_gzip_bomb_is_refused_in_bounded_memory(site: Site) -> None:
    layer = gzip.compress(bytes(1024 * 1024), 9) * 64
    site.pages["/"] = answer(layer, headers={"Content-Encoding": "gzip"})
    maker = zlib.compressobj(9, wbits=31)
    bomb = b"".join(maker.compress(bytes(1024 * 1024)) for _ in range(128)) + maker.flush()
    site.pages["/one"] = answer(bomb, headers={"Content-Encoding": "gzip"})
    tracemalloc.start()
    try:
        assert "larger than 10 MB" in failure(site.url("/one"))
        assert len(get(site.url()).body) <= 1024 * 1024
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_of_a_long_error_only_the_beginning_is_read(site: Site) -> None:
    site.pages["/"] = answer(b"x" * 5_000_000, status=500)
    document = get(site.url())
    assert document.status == 500
    assert len(document.body) < 1_000_000


def test_the_body_of_a_redirect_is_not_waited_for(site: Site) -> None:
    def moved(request: Request) -> None:
        request.send(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 1000000000\r\n\r\n")
        request.connection.recv(1)

    site.pages["/"] = moved
    site.pages["/there"] = answer("arrived")
    assert get(site.url()).body == b"arrived"


def test_a_fetch_that_is_cancelled_closes_its_connection(site: Site) -> None:
    asked, closed = threading.Event(), threading.Event()

    def drip(request: Request) -> None:
        request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx")
        asked.set()
        assert request.connection.recv(1) == b""
        closed.set()

    site.pages["/"] = drip

    async def cancelled() -> None:
        task = asyncio.ensure_future(_get(site.url(), DIRECT))
        await asyncio.to_thread(asked.wait, EVENT_S_MAX)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert closed.wait(EVENT_S_MAX)


# -- TLS


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    made = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.path))
    return made


def test_a_server_that_is_vouched_for_is_fetched(open_site: Callable[..., Site], authority: Authority) -> None:
    site = open_site(context=authority.context())
    site.pages["/"] = answer("private, but not from you")
    assert get(site.url()).body == b"private, but not from you"


@pytest.mark.requirement("fetch:certificates")
@pytest.mark.parametrize(
    ("host", "days", "words"),
    [("127.0.0.1", -1, "expired"), ("elsewhere.example", 1, "match"), ("127.0.0.1", 3, "not yet")],
)
def test_a_certificate_that_does_not_hold_is_refused(
    open_site: Callable[..., Site], authority: Authority, host: str, days: int, words: str
) -> None:
    site = open_site(context=authority.context(host, days=days))
    site.pages["/"] = answer("x")
    said = failure(site.url())
    assert "cannot be trusted" in said
    assert words in said
    assert site.requests == []


def test_an_authority_that_nobody_knows_is_refused(open_site: Callable[..., Site], tmp_path: Path) -> None:
    site = open_site(context=Authority(tmp_path).context())
    assert "cannot be trusted" in failure(site.url())


def test_a_server_that_speaks_no_tls_is_told_as_such() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        assert "does not speak TLS" in failure(f"https://127.0.0.1:{listener.getsockname()[1]}/")
        thread.join(EVENT_S_MAX)
