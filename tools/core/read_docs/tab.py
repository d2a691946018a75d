"""One tab, in a profile and behind a proxy of its own.

Dialogs, pop-ups and downloads are refused here. Knows no addresses: what may be reached is its gate's business, which
its proxy asks; without a gate nothing may.
"""

from __future__ import annotations

import asyncio

from scorpio.policy_proxy import PolicyProxy
from tools.core.read_docs.cdp import CdpFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.gate import Gate
    from tools.core.read_docs.cdp import Cdp, Listener

WORLD = "scorpio"
VIEW = {"width": 1280, "height": 3000, "deviceScaleFactor": 1, "mobile": False}
"""Tall, so that what loads or appears when it is scrolled into view does so at once."""


class Tab:
    """Belongs to one event loop."""

    __slots__ = ("_context", "_listener", "_session", "_target", "cdp", "crashed", "pages_count", "proxy", "version")

    def __init__(self, cdp: Cdp, proxy: PolicyProxy) -> None:
        self.cdp = cdp
        self.proxy = proxy
        self.crashed = False
        self.pages_count = 0
        self.version = ""
        """Such as "Chromium 156"."""
        self._context = self._target = self._session = ""
        self._listener: Listener | None = None

    @classmethod
    async def open(cls, cdp: Cdp, version: dict[str, str]) -> Tab:
        """`version`: what Browser.getVersion says. Raises CdpFailure, OSError."""
        tab = cls(cdp, PolicyProxy())
        await tab.proxy.open()
        try:
            await tab._create(version)
        except BaseException:
            tab.disconnect()
            if tab._context:
                cdp.send("Target.disposeBrowserContext", browserContextId=tab._context)
            raise
        return tab

    async def _create(self, version: dict[str, str]) -> None:
        send = self.cdp.send
        proxy = f"http://127.0.0.1:{self.proxy.port}"
        created = await send(
            "Target.createBrowserContext", disposeOnDetach=True, proxyServer=proxy, proxyBypassList="<-loopback>"
        )
        self._context = created["browserContextId"]
        # With a window of its own, although nobody sees it: in a target without one nothing is ever drawn, so that
        # requestAnimationFrame and its like wait for ever.
        made = await send("Target.createTarget", url="about:blank", browserContextId=self._context, background=True)
        self._target = made["targetId"]
        attached = await send("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        self.cdp.listeners[self._session] = self._heard
        name, _, number = version["product"].partition("/")
        self.version = f"{name.replace('Headless', '')} {number.partition('.')[0]}"
        agent = version["userAgent"].replace("HeadlessChrome", "Chrome")
        await asyncio.gather(
            self.send("Page.enable"),
            self.send("Network.enable", maxTotalBufferSize=0, maxResourceBufferSize=0, maxPostDataSize=0),
            self.send("Inspector.enable"),
            self.send("Emulation.setUserAgentOverride", userAgent=agent),
            self.send("Emulation.setDeviceMetricsOverride", **VIEW),
            self.send("Emulation.setFocusEmulationEnabled", enabled=True),
            send("Browser.setDownloadBehavior", behavior="deny", browserContextId=self._context),
        )

    def send(self, method: str, **params: Any) -> asyncio.Future[dict[str, Any]]:
        return self.cdp.send(method, self._session, **params)

    @property
    def frame(self) -> str:
        """The main frame, which has the target's name."""
        return self._target

    def assign(self, gate: Gate, listener: Listener) -> None:
        """From here the tab belongs to one call."""
        self.pages_count += 1
        self.proxy.assign(gate)
        self._listener = listener

    def _heard(self, method: str, params: dict[str, Any]) -> None:
        if method in ("Inspector.targetCrashed", "closed"):
            self.crashed = True
        elif method == "Page.javascriptDialogOpening":
            leaving = params.get("type") == "beforeunload"
            self.send("Page.handleJavaScriptDialog", accept=leaving)
        if self._listener is not None:
            self._listener(method, params)

    def world(self) -> asyncio.Future[int]:
        """A world of scripts of our own in the document that is there now; fails with CdpFailure."""
        world = asyncio.ensure_future(self._made_world())
        world.add_done_callback(lambda made: None if made.cancelled() else made.exception())  # perhaps nobody waits
        return world

    async def _made_world(self) -> int:
        made = await self.send("Page.createIsolatedWorld", frameId=self.frame, worldName=WORLD)
        return int(made["executionContextId"])

    async def evaluate(self, world: int, expression: str) -> Any:
        """Raises CdpFailure: the page has gone on to another document, or the script failed."""
        answer = await self.send(
            "Runtime.evaluate", expression=expression, contextId=world, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"].get("exception", {})
            raise CdpFailure(f"failed: {thrown.get('description') or answer['exceptionDetails'].get('text')}")
        return answer["result"].get("value")

    def disconnect(self) -> None:
        """Nothing goes in or out any more."""
        self.proxy.close()
        self._listener = None

    def release(self) -> None:
        """Nothing goes in or out until it is assigned to another call."""
        self.proxy.release()
        self._listener = None

    async def empty(self, origin: str) -> None:
        """Its page ends, and all that the page could have kept: as in a fresh tab, but for the process it runs in.

        For pages that had no frames of other sites, whose storage is not `origin`'s. Raises CdpFailure.
        """
        blank = asyncio.get_running_loop().create_future()
        self._listener = lambda method, _: _reached(blank, method)
        await self.send("Page.navigate", url="about:blank")  # first: a page that is alive could write again
        await blank
        self._listener = None
        await asyncio.gather(
            self.send("Storage.clearDataForOrigin", origin=origin, storageTypes="all"),
            self.cdp.send("Storage.clearCookies", browserContextId=self._context),
            self.send("Network.clearBrowserCache"),
            self.send("Page.resetNavigationHistory"),
            self.send("Runtime.evaluate", expression="window.name = ''"),
        )

    async def close(self) -> None:
        """Raises CdpFailure."""
        self.cdp.listeners.pop(self._session, None)
        await self.cdp.send("Target.disposeBrowserContext", browserContextId=self._context)


def _reached(blank: asyncio.Future[None], method: str) -> None:
    if blank.done():
        return
    if method == "Page.loadEventFired":
        blank.set_result(None)
    elif method in ("Inspector.targetCrashed", "closed"):
        blank.set_exception(CdpFailure("crashed"))
