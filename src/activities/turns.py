"""Runs one turn: opens it in the store, plays the engine, writes what it produces, closes the turn."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine

import structlog
from pydantic import BaseModel
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError

from turnwise import errors
from turnwise.activities.refusals import refusal
from turnwise.activities.writer import TurnWriter
from turnwise.cancellation import uninterrupted
from turnwise.engines import Engines
from turnwise.engines.protocol import Ask, Done, Fail
from turnwise.errors import EngineOptionsInvalid, EngineUnknown, ProtocolSchemaViolation, TurnFenced
from turnwise.fcmp.events import ErrorInfo, OutputStatus
from turnwise.fcmp.jsonvalue import json_bytes
from turnwise.store import Store
from turnwise.store.records import Asked, Canceled, Failed, Interrupted, Succeeded, TurnContext, TurnResult
from turnwise.store.registration import Registration

HEARTBEAT_SEC = 0.4
ANNOUNCE_AFTER_SEC = 0.2
"""A turn that ends sooner tells its workflow only once, when it ends: one workflow task less."""
STOP_GRACE_SEC = 10.0
MAX_ERROR_LENGTH = 1000
INLINE_MAX_BYTES = 16 * 1024

log = structlog.get_logger()


class TurnRef(BaseModel):
    run_id: str
    attempt: int
    registration: Registration | None = None
    """With the first turn: the run itself, in case that nobody has brought it into the store yet."""


class Turns:
    def __init__(self, store: Store, engines: Engines, client: Client) -> None:
        self._store = store
        self._engines = engines
        self._client = client

    @activity.defn
    async def run_turn(self, ref: TurnRef) -> TurnResult:
        async with _alongside(_heartbeat(), self._announce(ref)):
            try:
                turn = await self._store.open_turn(ref.run_id, ref.attempt, ref.registration)
                writer = TurnWriter(self._store, turn)
                result = await self._until_end(turn, writer)
                return await uninterrupted(_finished(result, writer))
            except TurnFenced as error:
                raise refusal(error) from error

    async def _until_end(self, turn: TurnContext, writer: TurnWriter) -> TurnResult:
        playing = asyncio.create_task(self._play(turn, writer))
        try:
            return await asyncio.shield(playing)
        except asyncio.CancelledError:
            return await uninterrupted(_stopped(playing))

    async def _play(self, turn: TurnContext, writer: TurnWriter) -> TurnResult:
        try:
            engine = self._engines[turn.input.engine]
            async with contextlib.aclosing(engine.run_turn(turn)) as outputs:
                async for output in outputs:
                    match output:
                        case Ask(question, handle, usage):
                            return TurnResult(ending=Asked(question=question, handle=handle), usage=usage)
                        case Done(usage):
                            return TurnResult(ending=Succeeded(message_id=None), usage=usage)
                        case Fail(message, code, usage):
                            return TurnResult(ending=_failed(code, message), usage=usage)
                        case _:
                            await writer.write(output)
            message = f"The engine '{engine.name}' ended its turn without a question, an answer or an error."
            return TurnResult(ending=_failed(errors.ENGINE_PROTOCOL_VIOLATION, message))
        except TurnFenced:
            raise
        except (EngineUnknown, EngineOptionsInvalid, ProtocolSchemaViolation) as error:
            return TurnResult(ending=_failed(error.code, error.message))
        except Exception as error:
            log.exception("turn.engine_failed", run_id=turn.run_id, attempt=turn.attempt)
            return TurnResult(ending=_failed(errors.TURN_FAILED, f"{type(error).__name__}: {error}"))

    async def _announce(self, ref: TurnRef) -> None:
        """Lets the workflow, and with it the Temporal UI, know that the turn is under way."""
        await asyncio.sleep(ANNOUNCE_AFTER_SEC)
        info = activity.info()
        handle = self._client.get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
        try:
            await handle.signal("turn_started", ref.attempt)
        except RPCError as error:
            log.warning("turn.not_announced", run_id=ref.run_id, attempt=ref.attempt, reason=error.message)


async def _stopped(playing: asyncio.Task[TurnResult]) -> TurnResult:
    """Tells the engine to stop and waits until it has. If it had come to an end by itself, that end is the truth."""
    playing.cancel()
    await asyncio.wait({playing}, timeout=STOP_GRACE_SEC)
    if playing.done() and not playing.cancelled():
        return playing.result()
    details = activity.cancellation_details()
    if details is not None and details.cancel_requested:
        return TurnResult(ending=Canceled())
    message = "The worker stopped before the turn could finish."
    return TurnResult(
        ending=Interrupted(error=ErrorInfo(code=errors.ORCHESTRATOR_RESTART_INTERRUPTED, message=message))
    )


async def _finished(result: TurnResult, writer: TurnWriter) -> TurnResult:
    """Writes the rest, and makes the result small enough for Temporal's history."""
    match result.ending:
        case Asked(question=question, handle=handle) as ending:
            await writer.finish(OutputStatus.COMPLETED)
            if len(json_bytes(handle)) > INLINE_MAX_BYTES:
                ending = Asked(question=question, handle_ref=await writer.store(handle))
            return TurnResult(ending=ending, usage=result.usage)
        case Succeeded():
            message = await writer.finish(OutputStatus.COMPLETED)
            if message is None:
                return result
            output = message.text if len(message.text.encode()) <= INLINE_MAX_BYTES else None
            return TurnResult(ending=Succeeded(message_id=message.message_id, output=output), usage=result.usage)
        case _:
            await writer.finish(OutputStatus.INTERRUPTED)
            return result


def _failed(code: str, message: str) -> Failed:
    return Failed(error=ErrorInfo(code=code, message=message[:MAX_ERROR_LENGTH]))


async def _heartbeat() -> None:
    while True:  # a turn that ends sooner costs the server nothing
        await asyncio.sleep(HEARTBEAT_SEC)
        activity.heartbeat()


@contextlib.asynccontextmanager
async def _alongside(*work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
