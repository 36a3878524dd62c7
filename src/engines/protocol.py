"""What an engine is: it takes a turn and yields what happens in it, ending with a question, an answer or a failure.

An engine holds no state of a run between turns. What it needs to go on later it gives as the `handle` of its question,
and gets back with the next turn, perhaps weeks later and in another process.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from turnwise.descriptors import ToolDescriptor, ToolOutcome
from turnwise.errors import TURN_FAILED
from turnwise.fcmp.events import ToolStatus
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.questions import Question
from turnwise.store.records import TurnContext


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the message being written."""

    text: str


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """The message being written is complete."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    call_id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class ToolReturned:
    call_id: str
    name: str
    status: ToolStatus
    result: JsonValue


@dataclass(frozen=True, slots=True)
class RawRow:
    """Something of the engine's own, for the audit trail only."""

    data: JsonObject


@dataclass(frozen=True, slots=True)
class Ask:
    """Ends the turn: the run waits for the user."""

    question: Question
    handle: JsonValue = None
    usage: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """Ends the run well. A message still being written is its last one."""

    usage: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fail:
    """Ends the run with an error that the engine foresaw; an exception counts as one that it did not."""

    message: str
    code: str = TURN_FAILED
    usage: JsonObject = field(default_factory=dict)


Ending = Ask | Done | Fail
TurnOutput = TextDelta | MessageEnd | ToolCalled | ToolReturned | RawRow | Ending


class TurnTools(Protocol):
    """The tools that a turn has. Calling one never raises: what goes wrong is a failed outcome."""

    def descriptors(self) -> list[ToolDescriptor]:
        """Those that may be called."""
        ...

    def knows(self, name: str) -> bool:
        """Whether there is such a tool, enabled or not."""
        ...

    async def call(self, name: str, arguments: JsonObject) -> ToolOutcome: ...


class TurnEngine(Protocol):
    @property
    def name(self) -> str: ...

    def check_options(self, options: JsonObject) -> None:
        """Raises EngineOptionsInvalid, saying why, for options that no turn could be run with."""

    async def validate_handle(self, handle: JsonValue) -> bool:
        """After a restart: whether a turn could still be continued from this handle."""
        ...

    def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        """Runs one turn. To be told to stop is to be canceled: clean up, kill what you started, and let it through."""
