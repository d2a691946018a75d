"""The interactive client: a line is a command; what it shows comes from the server.

`help` lists the commands. A line that is no command goes to the server's `echo` tool where it has one.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from scorpio.client import arguments
from scorpio.client.answers import choices, plain
from scorpio.client.client import Client, Message
from scorpio.client.dialog import Lines, ProgressLine
from scorpio.client.failures import LinkFailure, RpcFailure
from scorpio.client.render import Renderer, table
from scorpio.client.shapes import an_object, names, objects
from scorpio.protocol.meta import LOG_LEVELS

LINE_TOOL = "echo"
"""Of any server: what a line that is no command goes to. From the seed of the xmpp agent."""


LISTS = ("tools", "prompts", "resources")


class Command(NamedTuple):
    usage: str
    does: str
    run: Callable[[Repl, list[str]], Awaitable[None]]


class Usage(Exception):
    """The line lacks something. A sentence."""


class Repl:
    """One session at a terminal, or the lines of a pipe."""

    def __init__(self, client: Client, lines: Lines, renderer: Renderer) -> None:
        self._client = client
        self._lines = lines
        self._show = renderer
        self._progress = ProgressLine()
        self.tools: dict[str, Message] = {}
        self.prompts: dict[str, Message] = {}
        self.resources: list[Message] = []
        self._stale: set[str] = set(LISTS)
        self._running: asyncio.Task[None] | None = None
        self.failed = False
        """The last command failed: what a pipe's exit status tells."""

    # -- what the client hears

    def notified(self, method: str, params: Message) -> None:
        if method == "notifications/message":
            data = params.get("data")
            said = data if type(data) is str else json.dumps(data, ensure_ascii=False)
            self.say(f"[{params.get('level')}] {params.get('logger') or ''} {said}".replace("  ", " "))
        elif method == "notifications/resources/updated":
            self.say(f"[changed] {params.get('uri')}")
        elif method.endswith("/list_changed") and method.split("/")[1] in LISTS:
            self._stale.add(method.split("/")[1])
            self.say(f"[changed] the list of {method.split('/')[1]}")

    def say(self, text: str) -> None:
        """Of the client itself, not of a result."""
        self._progress.clear()
        sys.stderr.write(plain(text) + "\n")

    # -- the loop

    async def run(self) -> int:
        """Until `exit` or the end of input. Exit status: 1 when the last command of a pipe failed, 3: the link did."""
        try:
            await self._refresh()
            if self._lines.interactive:
                message = "Type a message or" if LINE_TOOL in self.tools else "Type"
                self.say(f'Connected! {message} "help" for commands.')
            while True:
                try:
                    line = await self._lines.ask(self._prompt() if self._lines.interactive else "", completing=True)
                except KeyboardInterrupt:
                    continue
                if line is None or line.strip() in ("exit", "quit"):
                    break
                await self._line(line)
        except LinkFailure as failure:
            self.say(f"scorpio: {failure}")
            return 3
        return int(self.failed and not self._lines.interactive)

    def _prompt(self) -> str:
        return f"{LINE_TOOL}> " if LINE_TOOL in self.tools else "mcp> "

    async def _line(self, line: str) -> None:
        try:
            words = shlex.split(line)
        except ValueError:
            words = line.split()
        if not words:
            return
        self.failed = False
        command = COMMANDS.get(words[0])
        try:
            if command is not None:
                await self._cancellable(command.run(self, _raw_json(line, words)[1:]))
            elif LINE_TOOL in self.tools:
                await self._cancellable(self._call(LINE_TOOL, {_first(self.tools[LINE_TOOL]): line}))
            elif words[0] in self.tools:
                await self._cancellable(self._tool(_raw_json(line, words)))
            else:
                raise Usage(f"{words[0]!r} is no command and no tool. help lists the commands.")
            await self._refresh()
        except (Usage, arguments.ArgumentFault) as fault:
            self.failed = True
            self.say(str(fault))
        except RpcFailure as failure:
            self.failed = True
            said = "" if failure.data is None else f" {json.dumps(failure.data, ensure_ascii=False)}"
            self.say(f"Error {failure.code}: {failure}{said}")
        except asyncio.CancelledError:
            self.failed = True
            self.say("Cancelled.")

    async def _cancellable(self, work: Awaitable[None]) -> None:
        """Ctrl-C ends the call, not the client."""
        import signal

        loop = asyncio.get_running_loop()
        self._running = asyncio.ensure_future(_awaited(work))
        try:
            if self._lines.interactive:
                loop.add_signal_handler(signal.SIGINT, self._running.cancel)
            await self._running
        finally:
            if self._lines.interactive:
                loop.remove_signal_handler(signal.SIGINT)
            self._progress.clear()

    async def _refresh(self) -> None:
        """The lists that have changed, for completion and for the commands."""
        stale, self._stale = self._stale, set()
        for kind in sorted(stale):
            try:
                items = await self._client.all(f"{kind}/list", kind)
            except RpcFailure:
                items = []
            if kind == "tools":
                self.tools = {str(item.get("name")): item for item in items}
            elif kind == "prompts":
                self.prompts = {str(item.get("name")): item for item in items}
            else:
                self.resources = items

    # -- commands

    async def _help(self, words: list[str]) -> None:
        for command in COMMANDS.values():
            self._show.text(f"  {command.usage:<34} {command.does}")
        self._show.text("  exit, quit                         end")
        if LINE_TOOL in self.tools:
            self._show.text(f"Any other line goes to the tool {LINE_TOOL}.")

    async def _list_tools(self, words: list[str]) -> None:
        if words:
            self._show.json(self._known(self.tools, words[0], "tool"))
        else:
            self._table(list(self.tools.values()))

    async def _tool(self, words: list[str]) -> None:
        if not words:
            raise Usage("call NAME [name=value …]. tools lists the names.")
        tool = self._known(self.tools, words[0], "tool")
        schema = an_object(tool.get("inputSchema"))
        given = arguments.of_words(words[1:], schema)
        await self._call(words[0], await self._complete(given, schema))

    async def _complete(self, given: Message, schema: Message) -> Message:
        """Ask for what is required and missing, on a terminal."""
        properties = an_object(schema.get("properties"))
        for name in names(schema.get("required")):
            if name in given or not self._lines.interactive:
                continue
            field = an_object(properties.get(name))
            if field.get("description"):
                self.say(f"{name}: {field['description']}")
            for value, title in choices(field):
                self.say(f"  {value} {title if title != str(value) else ''}")
            said = await self._lines.ask(f"{name}> ")
            if said is None:
                raise Usage(f"Not called: {name} is needed.")
            given |= arguments.of_words([f"{name}={said}"], schema)
        return given

    async def _call(self, name: str, given: Message) -> None:
        result = await self._client.request("tools/call", {"name": name, "arguments": given}, self._progress.update)
        self._progress.clear()
        if result.get("isError"):
            self.failed = True
            self.say("The tool reports an error:")
        self._show.tool_result(result, name)

    async def _list_prompts(self, words: list[str]) -> None:
        self._table(list(self.prompts.values()))

    async def _prompt_get(self, words: list[str]) -> None:
        if not words:
            raise Usage("prompt NAME [name=value …]. prompts lists the names.")
        self._known(self.prompts, words[0], "prompt")
        fields = {
            "properties": {
                str(argument.get("name")): {"type": "string"}
                for argument in objects(self.prompts[words[0]].get("arguments"))
            }
        }
        given = arguments.of_words(words[1:], fields)
        result = await self._client.request(
            "prompts/get", {"name": words[0], "arguments": given}, self._progress.update
        )
        for message in objects(result.get("messages")):
            self.say(f"{message.get('role')}:")
            self._show.block(message.get("content"), words[0])

    async def _list_resources(self, words: list[str]) -> None:
        templates = await self._client.all("resources/templates/list", "resourceTemplates")
        self._table([*self.resources, *templates])

    async def _read(self, words: list[str]) -> None:
        if not words:
            raise Usage("read URI. resources lists them.")
        result = await self._client.request("resources/read", {"uri": words[0]}, self._progress.update)
        for item in objects(result.get("contents")):
            self._show.resource(item)

    async def _subscribe(self, words: list[str]) -> None:
        if not words:
            raise Usage("subscribe URI. resources lists them.")
        await self._client.subscribe(words[0])
        self.say(f"Changes of {words[0]} are shown from now on.")

    async def _unsubscribe(self, words: list[str]) -> None:
        if not words:
            raise Usage("unsubscribe URI.")
        await self._client.subscribe(words[0], wanted=False)

    async def _raw(self, words: list[str]) -> None:
        if not words:
            raise Usage('raw METHOD [{"json": …}].')
        self._show.json(await self._client.request(words[0], arguments.of_words(words[1:], {}), self._progress.update))

    async def _log(self, words: list[str]) -> None:
        if not words or words[0] not in LOG_LEVELS:
            raise Usage(f"log LEVEL, one of {', '.join(LOG_LEVELS)}.")
        await self._client.set_log_level(words[0])

    async def _ping(self, words: list[str]) -> None:
        await self._client.request("ping" if self._client.revision.era == "legacy" else "server/discover", {})
        self._show.text("It answers.")

    async def _info(self, words: list[str]) -> None:
        self.say(f"Protocol {self._client.revision.name}")
        self._show.json(self._client.server)

    # -- what commands share

    def _known(self, table_of: dict[str, Message], name: str, kind: str) -> Message:
        if name in table_of:
            return table_of[name]
        import difflib

        near = difflib.get_close_matches(name, table_of, 3)
        raise Usage(f"No {kind} {name!r}." + (f" Near it: {', '.join(near)}." if near else ""))

    def _table(self, items: list[Message]) -> None:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        self._show.text(table(items, width).rstrip("\n") or "The server has none.")

    def completions(self, text: str) -> Iterable[str]:
        """Words that may stand where the last word of `text` is."""
        words = text.split(" ")
        if len(words) == 1:
            return [*COMMANDS, "exit", "quit", *self.tools]
        first = words[0]
        if first in ("call", "tools") and len(words) == 2:
            return self.tools
        if first == "prompt" and len(words) == 2:
            return self.prompts
        if first in ("read", "subscribe", "unsubscribe"):
            return [str(item.get("uri")) for item in self.resources]
        if first == "log":
            return LOG_LEVELS
        name = words[1] if first == "call" else first
        return _argument_words(self.tools.get(name) or {}, words[-1])


COMMANDS = {
    "help": Command("help", "these lines", Repl._help),
    "tools": Command("tools [NAME]", "what the server can do; one tool as JSON", Repl._list_tools),
    "call": Command("call NAME [name=value … | {json}]", "call a tool; asks for what is missing", Repl._tool),
    "prompts": Command("prompts", "its prompts", Repl._list_prompts),
    "prompt": Command("prompt NAME [name=value …]", "one of them, filled in", Repl._prompt_get),
    "resources": Command("resources", "its resources and templates", Repl._list_resources),
    "read": Command("read URI", "one of them", Repl._read),
    "subscribe": Command("subscribe URI", "hear of its changes", Repl._subscribe),
    "unsubscribe": Command("unsubscribe URI", "no more", Repl._unsubscribe),
    "raw": Command("raw METHOD [{json}]", "any request", Repl._raw),
    "log": Command("log LEVEL", "the least level of log messages", Repl._log),
    "ping": Command("ping", "is it alive?", Repl._ping),
    "info": Command("info", "what the server said of itself", Repl._info),
}


def _argument_words(tool: Message, word: str) -> list[str]:
    properties = an_object(an_object(tool.get("inputSchema")).get("properties"))
    name, equals, _ = word.partition("=")
    if equals:
        return [f"{name}={value}" for value, _ in choices(properties.get(name))]
    return [f"{name}=" for name in properties]


def _first(tool: Message) -> str:
    """The first argument of a tool: what a bare line is."""
    schema = an_object(tool.get("inputSchema"))
    return next(iter([*names(schema.get("required")), *an_object(schema.get("properties")), "message"]))


def _raw_json(line: str, words: list[str]) -> list[str]:
    """The words of a line; JSON stays as it was typed, quotes and all."""
    brace = line.find("{")
    if brace < 0:
        return words
    before = line[:brace].split()
    return [*before, line[brace:].strip()] if all("=" not in word for word in before) else words


async def _awaited(work: Awaitable[None]) -> None:
    await work
