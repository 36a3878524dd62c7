"""Writes what an engine produces: text as it comes, at most twenty times a second; everything else at once."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from pydantic import JsonValue

from turnwise.engines.protocol import MessageEnd, RawRow, TextDelta, ToolCalled, ToolReturned
from turnwise.errors import TurnFenced, Unavailable
from turnwise.fcmp.events import EventData, MessageFinal, OutputStatus, ToolCall, ToolResult
from turnwise.fcmp.jsonvalue import json_text
from turnwise.store import Store
from turnwise.store.records import AuditEntry, LiveMessage, Output, TurnContext

LIVE_TEXT_INTERVAL_SEC = 0.05
LIVE_TEXT_DELAY_SEC = 0.01
"""Nobody sees that text is so late, and a message that is complete by then is written only once."""
RETRY_SEC = (0.1, 0.5, 1.0, 2.0, 5.0)

T = TypeVar("T")

log = structlog.get_logger()


class TurnWriter:
    def __init__(self, store: Store, turn: TurnContext) -> None:
        self._store = store
        self._run_id = turn.run_id
        self._attempt = turn.attempt
        self._engine = turn.input.engine
        self._ordinal = 0
        self._messages = 0
        self._text: list[str] = []
        self._shown_at = 0.0
        self._showing: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._audit: list[AuditEntry] = []
        self._last_message: MessageFinal | None = None

    async def write(self, output: TextDelta | MessageEnd | ToolCalled | ToolReturned | RawRow) -> None:
        async with self._one_at_a_time:
            match output:
                case RawRow(data):
                    # Kept until the next write: an audit row alone is not worth a transaction.
                    self._audit.append(AuditEntry(source=self._engine, event="engine.raw", data=data))
                case TextDelta(text):
                    self._text.append(text)
                    self._show_soon()
                case MessageEnd():
                    await self._publish(self._take_message(OutputStatus.COMPLETED))
                case ToolCalled(call_id, name, arguments):
                    await self._publish(ToolCall(call_id=call_id, name=name, arguments=arguments))
                case ToolReturned(call_id, name, status, result):
                    await self._publish(ToolResult(call_id=call_id, name=name, status=status, result=result))

    async def finish(self, status: OutputStatus) -> MessageFinal | None:
        """Publishes what is still unwritten when the turn ends; returns the turn's last message."""
        async with self._one_at_a_time:
            if self._text:
                await self._publish(self._take_message(status))
            elif self._audit:
                audit = self._take_audit()
                await self._persist(lambda: self._store.write_output(self._run_id, self._attempt, [], audit))
            return self._last_message

    async def store(self, value: JsonValue) -> str:
        """Keeps a large value out of Temporal's history; returns its reference."""
        return await self._persist(lambda: self._store.put_blob(json_text(value)))

    async def _publish(self, data: EventData) -> None:
        outputs, audit = [self._numbered(data)], self._take_audit()
        await self._persist(lambda: self._store.write_output(self._run_id, self._attempt, outputs, audit))

    def _show_soon(self) -> None:
        """All the text there is by then: an engine that pauses has nothing left that nobody sees."""
        if self._showing is None:
            due = max(self._shown_at + LIVE_TEXT_INTERVAL_SEC, time.monotonic() + LIVE_TEXT_DELAY_SEC)
            self._showing = asyncio.create_task(self._show(due))

    async def _show(self, due: float) -> None:
        await asyncio.sleep(due - time.monotonic())
        async with self._one_at_a_time:
            self._showing = None
            if not self._text:
                return
            self._shown_at = time.monotonic()
            live = LiveMessage(message_id=self._message_id(), text="".join(self._text))
            with contextlib.suppress(TurnFenced):  # whatever the turn writes next is told so, too
                await self._persist(lambda: self._store.write_live_text(self._run_id, self._attempt, live))

    def _take_message(self, status: OutputStatus) -> MessageFinal:
        message = MessageFinal(message_id=self._message_id(), text="".join(self._text), status=status)
        self._text = []
        self._messages += 1
        self._last_message = message
        return message

    def _take_audit(self) -> list[AuditEntry]:
        audit, self._audit = self._audit, []
        return audit

    def _message_id(self) -> str:
        return f"m{self._attempt}.{self._messages + 1}"

    def _numbered(self, data: EventData) -> Output:
        self._ordinal += 1
        return Output(ordinal=self._ordinal, data=data)

    async def _persist(self, write: Callable[[], Awaitable[T]]) -> T:
        """A database that is away for a while holds the turn up; it does not fail it. Every write may be repeated."""
        for pause in itertools.chain(RETRY_SEC, itertools.repeat(RETRY_SEC[-1])):
            try:
                return await write()
            except Unavailable as error:
                log.warning("turn.write_delayed", run_id=self._run_id, attempt=self._attempt, reason=str(error))
                await asyncio.sleep(pause)
        raise AssertionError("unreachable")
