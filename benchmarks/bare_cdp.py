"""A browser driven by nothing but the DevTools protocol on two pipes: what loading a page costs at the least.

One tab that goes from page to page, or a tab and a profile for each; load event awaited, document read, nothing else.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SWITCHES = ("--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run")
READ_BYTES = 1 << 20


def program() -> str | None:
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def sandbox() -> list[str]:
    return ["--no-sandbox"] if os.geteuid() == 0 else []


class Bare:
    def __init__(self, folder: Path, *, fresh: bool) -> None:
        """`fresh`: every page gets a tab and a profile of its own."""
        found = program()
        assert found is not None
        self._fresh = fresh
        self._profile = tempfile.mkdtemp(dir=folder)
        self._ids = itertools.count(1)
        self._held = b""
        self._events: list[dict[str, Any]] = []
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        pipes = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = [found, *SWITCHES, *sandbox(), f"--user-data-dir={self._profile}"]
        self._process = subprocess.Popen(
            ["sh", "-c", pipes, "sh", *command],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._session = "" if fresh else self._tab({})[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(30)
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def load(self, url: str) -> tuple[float, str]:
        """(milliseconds, the document)."""
        start_s = time.perf_counter()
        context = self._call("Target.createBrowserContext")["browserContextId"] if self._fresh else ""
        session = self._tab({"browserContextId": context})[0] if context else self._session
        self._call("Page.navigate", session, url=url)
        while self._message().get("method") != "Page.loadEventFired":
            pass
        script = "document.documentElement.outerHTML"
        read = self._call("Runtime.evaluate", session, expression=script, returnByValue=True)
        took_ms = (time.perf_counter() - start_s) * 1000
        if context:
            self._call("Target.disposeBrowserContext", browserContextId=context)
        return took_ms, str(read["result"]["value"])

    def _tab(self, place: dict[str, str]) -> tuple[str, str]:
        target = self._call("Target.createTarget", url="about:blank", **place)["targetId"]
        session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable", session)
        return session, target

    def _call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        id_ = next(self._ids)
        message = {"id": id_, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._to, json.dumps(message).encode() + b"\0")
        seen: list[dict[str, Any]] = []
        while (answer := self._message()).get("id") != id_:
            seen.append(answer)
        self._events = seen
        result: dict[str, Any] = answer["result"]
        return result

    def _message(self) -> dict[str, Any]:
        """The next one; what came before an answer is told first."""
        if self._events:
            return self._events.pop(0)
        while b"\0" not in self._held:
            chunk = os.read(self._from, READ_BYTES)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self._held += chunk
        line, _, self._held = self._held.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message
