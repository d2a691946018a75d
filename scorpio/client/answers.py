"""What a server asks its client, answered: by the person at the terminal, or by nobody.

Elicitation forms are asked field by field; sampling shows the messages and takes a text; roots are the directory the
client runs in.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from scorpio.client.client import Message, unknown_method
from scorpio.client.failures import Refusal

Ask = Callable[[str], Awaitable[str | None]]
"""Puts a line to the person; None when they decline (Ctrl-D, Ctrl-C)."""

TRIES_MAX = 5
"""Answers to one field that do not fit it; then it counts as declined."""

USER_REFUSED = -1
"""Source: MCP client/sampling, "Error Handling"."""


def roots() -> Message:
    return {"roots": [{"uri": Path.cwd().as_uri(), "name": os.path.basename(os.getcwd()) or "/"}]}


class Nobody:
    """For use in a pipe: nothing is declared that only a person could answer."""

    def __init__(self) -> None:
        self.capabilities: Message = {"roots": {"listChanged": False}}

    async def answer(self, method: str, params: Message) -> Message:
        if method == "roots/list":
            return roots()
        raise unknown_method(method)


class Terminal:
    """One question at a time, whatever asks."""

    def __init__(self, ask: Ask, say: Callable[[str], None]) -> None:
        questions: Message = {"sampling": {}, "elicitation": {"form": {}, "url": {}}}
        self.capabilities: Message = {"roots": {"listChanged": False}, **questions}
        self._ask = ask
        self._say = say
        self._one = asyncio.Lock()

    async def answer(self, method: str, params: Message) -> Message:
        if method == "roots/list":
            return roots()
        async with self._one:
            if method == "elicitation/create":
                self._say(f"The server asks: {plain(str(params.get('message', '')))}")
                return await (self._address(params) if params.get("mode") == "url" else self._form(params))
            if method == "sampling/createMessage":
                return await self._sample(params)
        raise unknown_method(method)

    async def _form(self, params: Message) -> Message:
        schema = params.get("requestedSchema")
        properties = schema.get("properties") if type(schema) is dict else None
        required = (schema.get("required") if type(schema) is dict else None) or []
        content: Message = {}
        for name, field in (properties if type(properties) is dict else {}).items():
            value, given = await self._field(name, field if type(field) is dict else {}, name in required)
            if not given:
                return {"action": "decline"}
            if value is not None:
                content[name] = value
        if not properties:
            said = await self._ask("Enter accepts, Ctrl-D declines> ")
            return {"action": "decline"} if said is None else {"action": "accept", "content": {}}
        return {"action": "accept", "content": content}

    async def _field(self, name: str, field: Message, required: bool) -> tuple[Any, bool]:
        """(value, True); None for a field left empty. (None, False): declined."""
        options = choices(field.get("items") if field.get("type") == "array" else field)
        title = plain(str(field.get("title") or name))
        described = f" ({plain(str(field['description']))})" if field.get("description") else ""
        self._say(f"{title}{described}{'' if required else ', may be left empty'}")
        for number, (_, option) in enumerate(options, 1):
            self._say(f"  {number}. {plain(option)}")
        default = f" [{json.dumps(field['default'], ensure_ascii=False)}]" if "default" in field else ""
        for _ in range(TRIES_MAX):
            said = await self._ask(f"{name}{default}> ")
            if said is None:
                return None, False
            if not said.strip() and "default" in field:
                return field["default"], True
            if not said.strip() and not required:
                return None, True
            try:
                return value_of(said, field, options), True
            except ValueError as fault:
                self._say(f"That does not fit: {fault}.")
        return None, False

    async def _address(self, params: Message) -> Message:
        self._say(f"It wants you to open {plain(str(params.get('url')))}")
        said = await self._ask("Enter when you have opened it, Ctrl-D declines> ")
        return {"action": "decline" if said is None else "accept"}

    async def _sample(self, params: Message) -> Message:
        self._say("The server asks your model. You are the model:")
        if params.get("systemPrompt"):
            self._say(f"  system: {plain(str(params['systemPrompt']))}")
        for message in params.get("messages") or []:
            content = message.get("content") if type(message) is dict else None
            for block in content if type(content) is list else [content]:
                text = block.get("text") or f"[{block.get('type')}]" if type(block) is dict else "?"
                self._say(f"  {message.get('role')}: {plain(str(text))}")
        said = await self._ask("answer> ")
        if said is None:
            raise Refusal(USER_REFUSED, "The user rejected the sampling request")
        content = {"type": "text", "text": said}
        return {"role": "assistant", "model": "a person at a terminal", "stopReason": "endTurn", "content": content}


def choices(field: Any) -> list[tuple[Any, str]]:
    """(value, title) where a schema lists its values."""
    if type(field) is not dict:
        return []
    if type(field.get("enum")) is list:
        given = field.get("enumNames")
        names: list[Any] = given if type(given) is list else []
        return [(value, str(names[i]) if i < len(names) else str(value)) for i, value in enumerate(field["enum"])]
    for key in ("oneOf", "anyOf"):
        variants = field.get(key)
        if type(variants) is list and variants and all(type(each) is dict and "const" in each for each in variants):
            return [(each["const"], str(each.get("title", each["const"]))) for each in variants]
    return []


def value_of(said: str, field: Message, options: list[tuple[Any, str]]) -> Any:
    """What a person typed, as the field's type. Raises ValueError with the reason."""
    kind = field.get("type")
    if kind == "array":
        return [_chosen(part.strip(), options) for part in said.split(",") if part.strip()]
    if options:
        return _chosen(said.strip(), options)
    if kind == "boolean":
        word = said.strip().lower()
        if word not in ("y", "yes", "true", "1", "n", "no", "false", "0"):
            raise ValueError("answer yes or no")
        return word in ("y", "yes", "true", "1")
    if kind in ("integer", "number"):
        try:
            number = int(said) if kind == "integer" else float(said)
        except ValueError:
            raise ValueError(f"it must be {'a whole number' if kind == 'integer' else 'a number'}") from None
        if "minimum" in field and number < field["minimum"]:
            raise ValueError(f"the least is {field['minimum']}")
        if "maximum" in field and number > field["maximum"]:
            raise ValueError(f"the most is {field['maximum']}")
        return number
    if len(said) < field.get("minLength", 0) or len(said) > field.get("maxLength", sys.maxsize):
        raise ValueError(
            f"it must have {field.get('minLength', 0)} to {field.get('maxLength', 'any number of')} characters"
        )
    return said


def _chosen(said: str, options: list[tuple[Any, str]]) -> Any:
    if said.isascii() and said.isdigit() and 1 <= int(said) <= len(options):
        return options[int(said) - 1][0]
    for value, title in options:
        if said in (str(value), title):
            return value
    raise ValueError(f"answer with a number from 1 to {len(options)}")


def plain(text: str) -> str:
    """Text of a server, without what would steer the terminal."""
    return "".join(character if character.isprintable() or character in "\n\t" else "�" for character in text)
