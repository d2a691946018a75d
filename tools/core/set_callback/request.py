"""What one call of SetCallback wants, checked: every fault is told at once. Changes nothing."""

from __future__ import annotations

from scorpio.tool import ToolFailure
from tools.core.callback import FOR_EVER
from tools.core.limits import (
    CALLBACK_DELAY_S_MAX,
    CALLBACK_MESSAGE_CHARS_MAX,
    CALLBACK_REPEATS_DEFAULT,
    CALLBACK_REPEATS_MAX,
    CALLBACK_SLOTS_MAX,
)
from tools.core.output_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tools.core._catalog import SetCallbackArguments

ACTIONS = ("set", "list", "cancel")
ACTION_CHARS_SHOWN = 80
NUMBER_SHOWN_MAX = 10**18


class Request:
    """Raises ToolFailure for what cannot be done."""

    __slots__ = ("action", "delay_s", "fires", "message", "slot")

    def __init__(self, arguments: SetCallbackArguments) -> None:
        self.action = arguments["action"].strip().lower()
        self.message = arguments.get("message", "").strip()
        self.delay_s = arguments.get("delay_seconds", 0)
        repeats = arguments.get("repeat_count", CALLBACK_REPEATS_DEFAULT)
        self.fires = 1 if repeats == 0 else repeats
        """Times it fires in all; FOR_EVER."""
        self.slot = arguments.get("callback_id")
        """None: all."""
        faults = []
        if self.action not in ACTIONS:
            shown = one_line(arguments["action"], ACTION_CHARS_SHOWN)
            raise ToolFailure(f'No action "{shown}". There are {", ".join(ACTIONS)}.')
        if self.action == "set":
            faults = [*self._message_faults(), *_delay_faults(arguments), *self._repeat_faults()]
        if self.action == "cancel" and self.slot is not None and not 0 <= self.slot < CALLBACK_SLOTS_MAX:
            faults.append(f"callback_id must be 0 to {CALLBACK_SLOTS_MAX - 1}, not {_number(self.slot)}.")
        if faults:
            raise ToolFailure("\n".join(faults))

    def _message_faults(self) -> list[str]:
        most = CALLBACK_MESSAGE_CHARS_MAX
        if not self.message:
            return [f"set needs a message of 1 to {most} characters: what you want to be told."]
        if len(self.message) <= most:
            return []
        size = f"message has {len(self.message)} characters; a callback's has at most {most}."
        return [f"{size} Write it to a file and name the file."]

    def _repeat_faults(self) -> list[str]:
        if self.fires == FOR_EVER or 1 <= self.fires <= CALLBACK_REPEATS_MAX:
            return []
        return [f"repeat_count must be 0 to {CALLBACK_REPEATS_MAX}, or {FOR_EVER} for ever, not {_number(self.fires)}."]


def _delay_faults(arguments: SetCallbackArguments) -> list[str]:
    delay_s = arguments.get("delay_seconds")
    if delay_s is None:
        return [f"set needs delay_seconds, 1 to {CALLBACK_DELAY_S_MAX}."]
    if not 1 <= delay_s <= CALLBACK_DELAY_S_MAX:
        return [f"delay_seconds must be 1 to {CALLBACK_DELAY_S_MAX}, not {_number(delay_s)}."]
    return []


def _number(value: int) -> str:
    return str(value) if abs(value) <= NUMBER_SHOWN_MAX else "a number of that size"
