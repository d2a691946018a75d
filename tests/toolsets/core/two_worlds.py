"""Reads pages in a network of its own, on whose other side every address of the world answers and is listened to.

Run as a program in fresh namespaces (`unshare --net --mount`): reads a JSON object from stdin, writes one to stdout.
Pages are read by the executable, where one is named, with a resolver of ours in place of this machine's; else in this
process. The far side has a namespace of its own too, so that its addresses are not this machine's: public ones,
private ones and those of metadata services. It says of every connection and datagram which address it came to.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

CLONE_NEWNET = 0x40000000

PUBLIC, OTHER_PUBLIC = "93.184.216.34", "93.184.216.35"
PRIVATE, OTHER_PRIVATE = "10.0.0.1", "10.0.0.2"
METADATA = "169.254.169.254"
FAR_ADDRESSES = (
    *(PUBLIC, OTHER_PUBLIC, PRIVATE, OTHER_PRIVATE, METADATA, "169.254.170.2", "168.63.129.16", "100.100.100.200"),
    *("192.0.0.192", "192.168.1.1", "172.16.0.1", "100.64.0.1"),
    *(
        "fd00:ec2::254",
        "fd12::1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "2a00:1::5efe:a9fe:a9fe",
    ),
    "2606:2800:220::1",
)
NEAR_ADDRESSES = ("93.184.216.1", "2606:2800:220::2")
NAMES = {
    "public.example": [PUBLIC],
    "private.example": [PRIVATE],
    "metadata.example": [METADATA],
    "mixed.example": [PUBLIC, METADATA],
    "wiki.internal": [PRIVATE],
}
STUN_PORT, DNS_PORT, DNS_A = 3478, 53, 1
WEB_PORTS = (80, 8080)
ALLOW, UNGUARDED = "allow", "unguarded"
"""What lets everything through, and that without the preference which keeps WebRTC from the network."""

PAGE = "<!doctype html><title>far</title><body><h1>Far</h1><p>{text}</p>{more}</body>"
ENOUGH = "Words that make this page long enough to be read without waiting for its scripts. " * 5

ROUTES = {
    "img": "new Image().src = at('img'); add('img', {src: at('img')})",
    "iframe": "add('iframe', {src: at('iframe')})",
    "script": "add('script', {src: at('script')})",
    "stylesheet": "add('link', {rel: 'stylesheet', href: at('stylesheet')})",
    "style-import": "add('style', {textContent: `@import url(${at('style-import')});`})",
    "font": "add('style', {textContent: `@font-face{font-family:f;src:url(${at('font')})} body{font-family:f}`})",
    "background": "document.body.style.backgroundImage = `url(${at('background')})`",
    "fetch": "fetch(at('fetch'), {mode: 'no-cors'})",
    "fetch-post": "fetch(at('fetch-post'), {mode: 'no-cors', method: 'POST', body: 'x'})",
    "fetch-keepalive": "fetch(at('fetch-keepalive'), {mode: 'no-cors', keepalive: true})",
    "xhr": "{ const x = new XMLHttpRequest(); x.open('GET', at('xhr')); x.send() }",
    "beacon": "navigator.sendBeacon(at('beacon'), 'x')",
    "websocket": "new WebSocket(at('websocket').replace('http', 'ws'))",
    "eventsource": "new EventSource(at('eventsource'))",
    "webtransport": "new WebTransport(at('webtransport').replace('http:', 'https:')).ready.catch(() => 0)",
    "webrtc": "{ const p = new RTCPeerConnection({iceServers: [{urls: `stun:${target}:3478`}]}); "
    "p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)) }",
    "webrtc-turn": "{ const p = new RTCPeerConnection({iceServers: [{urls: `turn:${target}:80?transport=tcp`, "
    "username: 'a', credential: 'b'}]}); p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)) "
    "}",
    "object": "add('object', {data: at('object')})",
    "embed": "add('embed', {src: at('embed')})",
    "video": "add('video', {src: at('video'), preload: 'auto', autoplay: true, muted: true})",
    "audio": "add('audio', {src: at('audio'), preload: 'auto'})",
    "track": "add('video', {innerHTML: `<track default src='${at('track')}'>`})",
    "worker": "new Worker(URL.createObjectURL(new Blob([`importScripts('${at('worker')}')`])))",
    "worker-fetch": "new Worker(URL.createObjectURL(new Blob([`fetch('${at('worker-fetch')}', {mode: 'no-cors'})`])))",
    "import": "import(at('import')).catch(() => 0)",
    "modulepreload": "add('link', {rel: 'modulepreload', href: at('modulepreload')})",
    "preload": "add('link', {rel: 'preload', as: 'fetch', href: at('preload')})",
    "prefetch": "add('link', {rel: 'prefetch', href: at('prefetch')})",
    "preconnect": "add('link', {rel: 'preconnect', href: at('preconnect')})",
    "icon": "add('link', {rel: 'icon', href: at('icon')})",
    "manifest": "add('link', {rel: 'manifest', href: at('manifest')})",
    "speculation": "add('script', {type: 'speculationrules', "
    "textContent: JSON.stringify({prefetch: [{source: 'list', urls: [at('speculation')]}]})})",
    "form": "{ const f = add('form', {action: at('form'), method: 'POST', target: 'inner'}); f.submit() }",
    "popup": "window.open(at('popup'))",
    "link-ping": "add('a', {href: '#', ping: at('link-ping')}).click()",
    "frame-refresh": "add('iframe', {srcdoc: `<meta http-equiv=refresh content='0;url=${at('frame-refresh')}'>`})",
    "frame-location": "add('iframe', {srcdoc: `<script>location='${at('frame-location')}'<\\/script>`})",
    "svg-image": "add('div', {innerHTML: `<svg><image href='${at('svg-image')}'/></svg>`})",
    "redirected-fetch": "fetch('/redirect?to=' + encodeURIComponent(at('redirected-fetch')), {mode: 'no-cors'})",
    "redirected-script": "add('script', {src: '/redirect?to=' + encodeURIComponent(at('redirected-script'))})",
    "redirected-frame": "add('iframe', {src: '/redirect?to=' + encodeURIComponent(at('redirected-frame'))})",
}
"""What a page may do to reach another address, each under a path of its own."""


def routes_page(target: str) -> str:
    script = "".join(f"try {{ {code} }} catch (fault) {{}}\n" for code in ROUTES.values())
    return PAGE.format(
        text=ENOUGH,
        more=f"""<iframe name=inner srcdoc="x"></iframe><script>
        const target = {json.dumps(target)}, at = route => `http://${{target}}/route/${{route}}`;
        const add = (tag, values) => document.body.appendChild(Object.assign(document.createElement(tag), values));
        {script}</script>""",
    )


class Far:
    """The other side."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.arrived: list[tuple[str, str]] = []

    def note(self, address: str, path: str) -> None:
        with self.lock:
            self.arrived.append((address.removeprefix("::ffff:"), path))

    def listen(self) -> None:
        for port in WEB_PORTS:
            for family, any_address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                listener = socket.socket(family, socket.SOCK_STREAM)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((any_address, port))
                listener.listen(256)
                threading.Thread(target=self.accept, args=(listener,), daemon=True).start()
        for address in FAR_ADDRESSES:
            if ":" not in address:
                stun = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                stun.bind((address, STUN_PORT))
                threading.Thread(target=self.hear, args=(stun, address), daemon=True).start()

    def hear(self, stun: socket.socket, address: str) -> None:
        while True:
            stun.recvfrom(2048)
            self.note(address, "/route/webrtc")

    def accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        with connection:
            address = connection.getsockname()[0]
            head = b""
            connection.settimeout(10)
            try:
                while b"\r\n\r\n" not in head:
                    chunk = connection.recv(65536)
                    if not chunk:
                        break
                    head += chunk
                path = head.split(b" ")[1].decode("latin-1") if head.count(b" ") >= 2 else "(connected)"
                self.note(address, path)
                connection.sendall(answer_to(path, address))
            except OSError:
                self.note(address, "(connected)")


def answer_to(path: str, address: str) -> bytes:
    parts = urlsplit(path)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    target = query.get("to", "")
    body, extra = PAGE.format(text=f"{ENOUGH} I am {address}.", more=""), ""
    if parts.path == "/redirect":
        extra = f"Location: {target}\r\n"
    elif parts.path == "/chain":
        left = int(query["left"])
        extra = f"Location: {target if not left else f'/chain?left={left - 1}&to={target}'}\r\n"
    elif parts.path == "/refresh":
        body = f'<meta http-equiv="refresh" content="0; url={target}">'
    elif parts.path == "/location":
        body = f"<title>x</title><body><script>location = {json.dumps(target)}</script>"
    elif parts.path == "/submit":
        body = f'<body><form action="{target}" method="POST"></form><script>document.forms[0].submit()</script>'
    elif parts.path == "/routes":
        body = routes_page(target)
    status = "302 Found" if extra else "200 OK"
    data = body.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(data)}\r\n{extra}"
    return f"{head}Access-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n".encode() + data


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL)


def become_far(orders: int, answers: int) -> None:
    """The child: a namespace of its own, every address, and the list of what arrived for whoever asks."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    os.write(answers, b"ready\n")
    os.read(orders, 1)  # the other end is here now
    for address in FAR_ADDRESSES:
        nodad = ("nodad",) if ":" in address else ()
        ip("addr", "add", f"{address}/{128 if ':' in address else 32}", "dev", "there0", *nodad)
    ip("link", "set", "there0", "up")
    ip("link", "set", "lo", "up")
    ip("route", "add", "default", "dev", "there0")
    ip("-6", "route", "add", "default", "dev", "there0")
    far = Far()
    far.listen()
    os.write(answers, b"listening\n")
    while os.read(orders, 1):
        with far.lock:
            arrived, far.arrived = far.arrived, []
        os.write(answers, json.dumps(arrived).encode() + b"\n")
    os._exit(0)


class FarSide:
    def __init__(self) -> None:
        orders, self._order = os.pipe()
        self._answers, answers = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(self._order)
            become_far(orders, answers)
        os.close(orders)
        os.close(answers)
        self._lines = os.fdopen(self._answers)
        assert self._lines.readline() == "ready\n"
        ip("link", "add", "here0", "type", "veth", "peer", "name", "there0")
        ip("link", "set", "there0", "netns", str(pid))
        ip("link", "set", "lo", "up")
        for address in NEAR_ADDRESSES:
            nodad = ("nodad",) if ":" in address else ()
            ip("addr", "add", f"{address}/{128 if ':' in address else 32}", "dev", "here0", *nodad)
        ip("link", "set", "here0", "up")
        ip("route", "add", "default", "dev", "here0")
        ip("-6", "route", "add", "default", "dev", "here0")
        os.write(self._order, b"x")
        assert self._lines.readline() == "listening\n"

    def arrived(self) -> list[list[str]]:
        os.write(self._order, b"?")
        found: list[list[str]] = json.loads(self._lines.readline())
        return found


class Names:
    """`rebind-N.example` is public when it is asked for the first time, and a metadata address ever after."""

    def __init__(self) -> None:
        self._asked: set[str] = set()

    def addresses(self, name: str) -> list[str]:
        if name.startswith("rebind"):
            first = name not in self._asked
            self._asked.add(name)
            return [PUBLIC] if first else [METADATA]
        return NAMES.get(name, [])

    async def resolve(self, name: str) -> list[str]:
        found = self.addresses(name)
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return found

    def serve(self, folder: str) -> None:
        """Be the resolver of this namespace: DNS on UDP (RFC 1035), addresses of version 4 only."""
        configuration = Path(folder, "resolv.conf")
        configuration.write_text("nameserver 127.0.0.1\n")
        subprocess.run(["mount", "--bind", configuration, "/etc/resolv.conf"], check=True)
        listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listener.bind(("127.0.0.1", DNS_PORT))
        threading.Thread(target=self._answer_all, args=(listener,), daemon=True).start()

    def _answer_all(self, listener: socket.socket) -> None:
        while True:
            query, client = listener.recvfrom(2048)
            listener.sendto(self.answer(query), client)

    def answer(self, query: bytes) -> bytes:
        """Flags: an answer, recursion available, no such name where none is known. 0xC00C: the name of the question."""
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii"))
            at += 1 + query[at]
        (kind,) = struct.unpack_from(">H", query, at + 1)
        name = ".".join(labels).lower()
        known = name in NAMES or name.startswith("rebind")
        found = [address for address in self.addresses(name) if ":" not in address] if kind == DNS_A else []
        head = query[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, len(found), 0, 0)
        records = [struct.pack(">HHHIH", 0xC00C, DNS_A, 1, 0, 4) + socket.inet_aton(address) for address in found]
        return head + query[12 : at + 5] + b"".join(records)


class InProcess:
    def __init__(self, home: str, mode: str, names: Names) -> None:
        from tests.toolsets.core.local_core import LocalCore
        from tools.core.read_docs import browser_program
        from tools.core.read_docs.pages import Pages

        if mode == UNGUARDED:
            browser_program.PREFERENCES = "{}"
        self._core = LocalCore(f"{home}/{mode}", home, readdocs_private=ALLOW if mode == UNGUARDED else mode)
        self._core.state._pages = Pages(self._core.settings, names.resolve)

    def read(self, arguments: dict[str, Any]) -> tuple[str, bool]:
        result = self._core.call("ReadDocs", arguments)
        return result.content[0]["text"], result.is_error

    def close(self) -> None:
        self._core.close()


class Executable:
    def __init__(self, program: str, home: str, mode: str) -> None:
        environment = {**os.environ, "HOME": home, "SCORPIO_HOME": f"{home}/{mode}", "SCORPIO_READDOCS_PRIVATE": mode}
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        client = {"name": "worlds", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def read(self, arguments: dict[str, Any]) -> tuple[str, bool]:
        result = self._ask("tools/call", {"name": "ReadDocs", "arguments": arguments})
        return result["content"][0]["text"], result["isError"]

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(30) == 0

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._send({"id": 1, "method": method, "params": params})
        assert self._process.stdout
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == 1:
                result: dict[str, Any] = message["result"]
                return result
        raise EOFError("the executable ended")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def main() -> None:
    asked = json.load(sys.stdin)
    far = FarSide()
    names = Names()
    home, program = asked["home"], asked["executable"]
    if program:
        names.serve(home)
    results = []
    for mode, reads in asked["reads"]:
        inside = not program or mode == UNGUARDED  # which the executable cannot be
        reader = InProcess(home, mode, names) if inside else Executable(program, home, mode)
        for arguments in reads:
            text, failed = reader.read(arguments)
            results.append([mode, arguments, text, failed, far.arrived()])
        reader.close()
        results.append([mode, None, "", False, far.arrived()])
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
