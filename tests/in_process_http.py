"""The HTTP server of the program in this process: its loop in a thread, real sockets on a port that was free."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorpio.server.server import Server
    from scorpio.transports.http.hub import Bounds
    from scorpio.transports.http.serve import HttpServer

BOUND_S = 30.0


class InProcessHttp:
    """Serving once it is made. `options`: of HttpOptions, host and port aside."""

    def __init__(
        self,
        toolsets: Sequence[str],
        environ: Mapping[str, str],
        stderr_path: Path,
        *,
        bounds: Bounds | None = None,
        pages: Mapping[bytes, Any] | None = None,
        **options: Any,
    ) -> None:
        self.stderr_path = stderr_path
        self._log = stderr_path.open("wb")
        self._toolsets = toolsets
        self._environ = environ
        self._bounds = bounds
        self._pages = pages or {}
        self._options = options
        self._started = threading.Event()
        self._stopping: asyncio.Event
        self._faults: list[Exception] = []
        self.server: Server
        self.http: HttpServer
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(BOUND_S)
        if self._faults:
            self.wait(BOUND_S)
            raise self._faults[0]
        self.port = self.http.port

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._stopping.set)

    def wait(self, bound_s: float) -> int:
        self._thread.join(bound_s)
        assert not self._thread.is_alive(), "the HTTP server in this process did not end"
        self._log.close()
        return 0

    def stderr(self) -> str:
        return self.stderr_path.read_text("utf-8", "replace")

    def in_loop(self, function: Any) -> Any:
        """What `function()` gives, called where the server runs."""

        async def call() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(BOUND_S)

    def _run(self) -> None:
        try:
            self.loop.run_until_complete(self._serve())
        except Exception as fault:  # noqa: BLE001 raised again in the thread of the test
            self._faults.append(fault)
            self._started.set()
        finally:
            self.loop.run_until_complete(_end_tasks())
            self.loop.close()

    async def _serve(self) -> None:
        from scorpio.log import Log
        from scorpio.server.lanes import LoopLane
        from scorpio.server.server import Server
        from scorpio.settings import load
        from scorpio.state.home import Home, home_path
        from scorpio.toolset import Features, chosen
        from scorpio.transports.http.serve import HttpOptions, HttpServer

        self._stopping = asyncio.Event()
        home = Home(home_path(dict(self._environ)))
        settings = load(self._environ, home.root)
        features = Features(chosen(self._toolsets), hidden=settings.hidden_tools, tools=settings.tools)
        log = Log(settings.log_level, self._log.fileno())
        self.server = Server(features, settings, home, LoopLane(self.loop), log)
        self.server.warm()
        host = self._options.pop("host", "127.0.0.1")
        self.http = HttpServer(self.server, HttpOptions(host, 0, **self._options), self._pages, self._bounds)
        await self.http.start()
        self._started.set()
        await self._stopping.wait()
        await self.http.stop()
        self.server.close()


async def _end_tasks() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
