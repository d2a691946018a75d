"""A server that wants a log-in, and the authorization server it names: both at one port."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

RESOURCE = "/.well-known/oauth-protected-resource"
OAUTH = "/.well-known/oauth-authorization-server"
TOOL = {"name": "greet", "inputSchema": {"type": "object"}}


class OAuthSite:
    """`with OAuthSite() as site`; its attributes may be changed while it runs."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        """(method, path, headers) of every request."""
        self.tokens: set[str] = set()
        """Those that let in."""
        self.visits = 0
        self.grants: list[str] = []
        self.expires_in = 3600
        self.metadata_at = OAUTH
        self.pkce = ["S256"]
        self.moved_to = ""
        """Where requests to /mcp are sent; "" for nowhere."""
        self._challenges: dict[str, str] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.origin}/mcp"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def paths(self) -> list[str]:
        return [path for _, path, _ in self.asked]

    # -- pages

    def get(self, path: str, query: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        if path == f"{RESOURCE}/mcp":
            return 200, {}, {"resource": self.url, "authorization_servers": [self.origin], "scopes_supported": ["use"]}
        if path == self.metadata_at:
            ends = {name: f"{self.origin}/{name.partition('_')[0]}" for name in ENDS}
            return 200, {}, {"issuer": self.origin, "code_challenge_methods_supported": self.pkce, **ends}
        if path == "/authorization":
            self.visits += 1
            code = f"code-{self.visits}"
            self._challenges[code] = query["code_challenge"]
            answer = urlencode({"code": code, "state": query["state"]})
            return 302, {"Location": f"{query['redirect_uri']}?{answer}"}, {}
        return 404, {}, {}

    def post(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], Any]:
        if path == "/registration":
            return 201, {}, {"client_id": "client-1", "token_endpoint_auth_method": "none"}
        if path == "/token":
            return self._token(dict(parse_qsl(body.decode())))
        if path == "/mcp" and self.moved_to:
            return 307, {"Location": self.moved_to}, {}
        if path == "/mcp" and headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            return 401, {"WWW-Authenticate": f'Bearer resource_metadata="{self.origin}{RESOURCE}/mcp"'}, {}
        return self._message(json.loads(body)) if path == "/mcp" else (404, {}, {})

    def _token(self, form: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        self.grants.append(form["grant_type"])
        if form["grant_type"] == "authorization_code":
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != self._challenges.pop(form["code"], ""):
                return 400, {}, {"error": "invalid_grant"}
        elif form.get("refresh_token") != f"refresh-secret-{self._count}":
            return 400, {}, {"error": "invalid_grant"}
        self._count += 1
        token = f"access-secret-{self._count}"
        self.tokens = {token}
        more = {"refresh_token": f"refresh-secret-{self._count}", "expires_in": self.expires_in}
        return 200, {}, {"access_token": token, "token_type": "Bearer", **more}

    def _message(self, message: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        if "id" not in message:
            return 202, {}, None
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "serverInfo": {"name": "site", "version": "1"},
            },
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": "hello"}]},
        }
        if message["method"] not in results:
            return 200, {}, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}}
        return 200, {}, {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}

    def _handler(site) -> type[BaseHTTPRequestHandler]:  # noqa: N805 `self` is the handler's
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._serve("GET")

            def do_POST(self) -> None:
                self._serve("POST")

            def _serve(self, method: str) -> None:
                parts = urlsplit(self.path)
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(headers.get("content-length", "0")))
                with site._lock:
                    site.asked.append((method, parts.path, headers))
                    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                    get = method == "GET"
                    status, more, value = site.get(parts.path, query) if get else site.post(parts.path, headers, body)
                text = b"" if value is None else json.dumps(value).encode()
                self.send_response(status)
                more |= {"Content-Type": "application/json", "Content-Length": str(len(text))}
                for name, each in more.items():
                    self.send_header(name, each)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments: object) -> None:
                pass

        return Handler


ENDS = ("authorization_endpoint", "token_endpoint", "registration_endpoint")


def visit(url: str) -> int:
    """What a browser does with the page: follows it to the end. The status there."""
    try:
        with urllib.request.urlopen(url, timeout=10) as page:
            return int(page.status)
    except urllib.error.HTTPError as error:
        return error.code
