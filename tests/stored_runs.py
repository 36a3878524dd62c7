"""Runs that are written straight into the store, as the workflow and its activities would, without Temporal."""

import uuid
from dataclasses import dataclass
from typing import Self

from pydantic import JsonValue

from turnwise.errors import RUN_CANCELED
from turnwise.fcmp.events import (
    AutoDecided,
    DiagnosticWarning,
    ErrorInfo,
    EventData,
    EventType,
    FcmpEvent,
    MessageFinal,
    ReplyAccepted,
)
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.questions import Kind, OpenQuestion, Policy
from turnwise.runs import RunInput
from turnwise.statechart import Event
from turnwise.store import Store
from turnwise.store.records import LiveMessage, Output, Resolution, RunView, TurnClosing, TurnContext
from turnwise.store.registration import Registration

INSTANT = "2026-01-02T03:04:05.678901Z"
CANCELED = ErrorInfo(code=RUN_CANCELED, message="The run was canceled.")
BROKEN = ErrorInfo(code="TURN_FAILED", message="It broke.")
AWKWARD = "NUL \0, a flag 🇺🇳, a family 👨‍👩‍👧‍👦, \u202eright to left, \ufffe, 'quotes\", back\\slash and \r\n lines"
HALF_A_CHARACTER = "\ud83d"
WARNING = DiagnosticWarning(code="SESSION_TIMEOUT_ELAPSED", message="Still waiting.")


def open_question(interaction_id: int = 1, **fields: JsonValue) -> OpenQuestion:
    basis: JsonObject = {"kind": Kind.OPEN_TEXT.value, "prompt": "Which colour?", "deadline": INSTANT}
    return OpenQuestion.model_validate({**basis, "interaction_id": interaction_id, **fields})


def reply(interaction_id: int = 1, response: JsonValue = "blue", reply_id: str = "r") -> ReplyAccepted:
    return ReplyAccepted(interaction_id=interaction_id, accepted_at=INSTANT, reply_id=reply_id, response=response)


def decision(interaction_id: int = 1) -> AutoDecided:
    return AutoDecided(interaction_id=interaction_id, policy=Policy.ENGINE_JUDGEMENT, decided_at=INSTANT, response=None)


def message(ordinal: int, text: str = "Hello") -> Output:
    return Output(ordinal=ordinal, data=MessageFinal(message_id=f"m{ordinal}", text=text))


def texts(log: list[FcmpEvent]) -> list[JsonValue]:
    return [event.data["text"] for event in log if event.type == EventType.MESSAGE_FINAL]


async def log_of(store: Store, run_id: str) -> list[FcmpEvent]:
    return [FcmpEvent.model_validate_json(event.body) for event in await store.events(run_id)]


Everything = tuple[RunView, list[FcmpEvent], list[JsonObject]]


async def everything(store: Store, run_id: str) -> Everything:
    """All that a reader can see of a run."""
    trail = [record.model_dump(mode="json") for record in await store.audit(run_id)]
    return await store.run(run_id), await log_of(store, run_id), trail


@dataclass
class StoredRun:
    store: Store
    run_id: str
    attempt: int = 0
    written: int = 0
    asked: int = 0

    @classmethod
    async def registered(cls, store: Store, run_input: RunInput | None = None, run_id: str | None = None) -> Self:
        run_id = run_id or f"run-{uuid.uuid4()}"
        await store.register(Registration(run_id=run_id, execution_id="first", input=run_input or RunInput()))
        return cls(store, run_id)

    @classmethod
    async def running(cls, store: Store, run_input: RunInput | None = None) -> Self:
        run = await cls.registered(store, run_input)
        await run.open_turn()
        return run

    @classmethod
    async def waiting(cls, store: Store, run_input: RunInput | None = None) -> Self:
        run = await cls.running(store, run_input)
        await run.ask()
        return run

    async def open_turn(self) -> TurnContext:
        self.attempt += 1
        return await self.store.open_turn(self.run_id, self.attempt)

    async def write(self, *data: EventData) -> None:
        outputs = [Output(ordinal=self.written + index, data=each) for index, each in enumerate(data, start=1)]
        self.written += len(data)
        await self.store.write_output(self.run_id, self.attempt, outputs, [])

    async def say(self, text: str) -> None:
        await self.write(MessageFinal(message_id=f"m{self.written + 1}", text=text))

    async def type(self, text: str, message_id: str = "live") -> None:
        """Shows the text of the message being written."""
        await self.store.write_live_text(self.run_id, self.attempt, LiveMessage(message_id=message_id, text=text))

    def closing(self, event: Event, error: ErrorInfo | None = None, usage: JsonObject | None = None) -> TurnClosing:
        return TurnClosing(run_id=self.run_id, attempt=self.attempt, event=event, error=error, usage=usage or {})

    async def close(self, event: Event, error: ErrorInfo | None = None, usage: JsonObject | None = None) -> None:
        await self.store.close_turn(self.closing(event, error, usage))

    async def ask(self, handle: JsonValue = None) -> None:
        self.asked += 1
        closing = self.closing(Event.TURN_NEEDS_INPUT)
        closing.question, closing.handle = open_question(self.asked), handle
        await self.store.close_turn(closing)

    async def answer(self, response: JsonValue = "blue") -> Resolution | None:
        return await self.store.resolve(self.run_id, reply(self.asked, response))

    async def succeed(self) -> None:
        await self.close(Event.TURN_SUCCEEDED)

    async def log(self) -> list[FcmpEvent]:
        return await log_of(self.store, self.run_id)
