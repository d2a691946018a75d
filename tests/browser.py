"""A real Chromium for tests of web pages: driven over its debugging pipe, keys and clicks as a person makes them."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

WAIT_S = 20.0
"""For something to appear on a page; on a loaded machine a page needs two."""

FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--mute-audio"),
    *("--hide-scrollbars", "--force-prefers-reduced-motion"),
)


class Browser:
    """One Chromium with one page. `close` leaves nothing behind."""

    def __init__(self, profile: Path, width: int = 1280, height: int = 860) -> None:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        if program is None:
            raise FileNotFoundError("chromium")
        command_read, self._write_fd = os.pipe()
        self._read_fd, answer_write = os.pipe()
        arguments = [program, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank"]
        script = f'exec 3<&{command_read} 4>&{answer_write}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *arguments],
            pass_fds=(command_read, answer_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(command_read)
        os.close(answer_write)
        self._held = b""
        self._last_id = 0
        self.events: list[dict[str, Any]] = []
        """What the page did: console messages, exceptions, violations of its policy."""
        targets = self._send("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self._send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def do(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the DevTools protocol to the page."""
        return self._send(method, self._session, **params)

    def open(self, url: str) -> None:
        self.do("Page.navigate", url=url)

    def value(self, expression: str) -> Any:
        """Of a JavaScript expression; promises are awaited. An exception in it fails the test."""
        answer = self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Until the expression is true; its value. The page tells when it changes, so nothing is slept away."""
        watched = f"""new Promise((resolve, reject) => {{
            const look = () => {{
                let value; try {{ value = ({expression}); }} catch (error) {{ value = null; }}
                if (value) {{ observer.disconnect(); clearTimeout(timer); resolve(Object(value) === value || value); }}
            }};
            const observer = new MutationObserver(look);
            observer.observe(document, {{subtree: true, childList: true, attributes: true, characterData: true}});
            const timer = setTimeout(() => {{ observer.disconnect(); resolve(null); }}, {int(WAIT_S * 1000)});
            look();
        }})"""
        end_s = time.monotonic() + WAIT_S
        while time.monotonic() < end_s:
            try:
                value = self.value(watched)
            except AssertionError:
                continue  # the page was left in the middle
            assert value, f"never true: {expression}\n{self.value('document.body.innerText')}"
            return value
        raise AssertionError(f"never true: {expression}")

    def click(self, selector: str) -> None:
        """In the middle of the element, after it has appeared."""
        box = json.loads(
            self.wait_for(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            if (!element) return null;
            element.scrollIntoView({{block: 'center'}});
            const box = element.getBoundingClientRect();
            return JSON.stringify([box.x + box.width / 2, box.y + box.height / 2]);
        }})()""")
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.do("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Into what has the focus."""
        self.do("Input.insertText", text=text)

    def press(self, key: str, *, code: int, text: str = "", modifiers: int = 0) -> None:
        keys = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.do("Input.dispatchKeyEvent", type="keyDown", **keys, **({"text": text} if text else {}))
        self.do("Input.dispatchKeyEvent", type="keyUp", **keys)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.do("Page.captureScreenshot", format="png")["data"]))

    def requests(self) -> list[str]:
        """Every address the page asked for so far."""
        self._pump(0)
        return [
            event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"
        ]

    def faults(self) -> list[str]:
        """Exceptions and errors of the page so far."""
        self._pump(0)
        found = []
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(event["params"]["exceptionDetails"])[:500])
            elif (
                event["method"] == "Log.entryAdded"
                and event["params"]["entry"]["level"] == "error"
                and (
                    event["params"]["entry"]["source"]
                    != "network"  # an HTTP status above 399, which the page tells itself
                )
            ):
                found.append(json.dumps(event["params"]["entry"])[:500])
        return found

    def close(self) -> None:
        try:
            self._send("Browser.close")
            self._process.wait(5)
        except (OSError, subprocess.TimeoutExpired, AssertionError):
            os.killpg(self._process.pid, 9)
            self._process.wait()
        os.close(self._write_fd)
        os.close(self._read_fd)

    # -- the pipe

    def _send(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": params} | (
            {"sessionId": session} if session else {}
        )
        os.write(self._write_fd, json.dumps(message).encode() + b"\0")
        while True:
            for answer in self._pump(WAIT_S + 10):
                if answer.get("id") == self._last_id:
                    assert "error" not in answer, answer["error"]
                    result: dict[str, Any] = answer["result"]
                    return result

    def _pump(self, wait_s: float) -> list[dict[str, Any]]:
        """Answers that are there; events go to `events`."""
        if b"\0" not in self._held:
            readable, _, _ = select.select([self._read_fd], [], [], wait_s)
            if not readable:
                assert wait_s == 0, "the browser does not answer"
                return []
            chunk = os.read(self._read_fd, 1 << 20)
            assert chunk, "the browser has ended"
            self._held += chunk
        *whole, self._held = self._held.split(b"\0")
        answers: list[dict[str, Any]] = []
        for part in whole:
            message = json.loads(part)
            (answers if "id" in message else self.events).append(message)
        return answers
