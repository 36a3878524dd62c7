"""Runs one turn: opens it in the store, plays the engine, writes what it produces, closes the turn."""

import asyncio
import contextlib
import contextvars
import time
from collections.abc import AsyncIterator, Callable, Coroutine

import structlog
from pydantic import BaseModel
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError

from turnwise import errors
from turnwise.activities.live_turn import LiveTurn
from turnwise.activities.presence import Presence
from turnwise.activities.reports import Reports, TurnKey
from turnwise.activities.slots import Slots
from turnwise.activities.writer import TurnWriter
from turnwise.engines import Engines
from turnwise.engines.protocol import Ask, Done, Fail
from turnwise.errors import (
    EngineOptionsInvalid,
    EngineUnknown,
    ProtocolSchemaViolation,
    TurnFenced,
    TurnInterrupted,
    TurnOwned,
)
from turnwise.fcmp.events import ErrorInfo
from turnwise.fcmp.questions import Question
from turnwise.runs import Recovery
from turnwise.store import Store
from turnwise.store.records import Asked, Canceled, Failed, Interrupted, Succeeded, TurnContext, TurnResult
from turnwise.store.registration import Registration
from turnwise.tools import Toolbox, Tools

HEARTBEAT_SEC = 0.4
ANNOUNCE_AFTER_SEC = 0.2
"""A turn that ends sooner tells its workflow only once, when it ends: one workflow task less."""
FORGOTTEN_SEC = 60.0
MAX_ERROR_LENGTH = 1000

log = structlog.get_logger()


class TurnRef(BaseModel):
    run_id: str
    attempt: int
    registration: Registration | None = None
    """With the first turn: the run itself, in case that nobody has brought it into the store yet."""

    @property
    def key(self) -> TurnKey:
        return self.run_id, self.attempt


class Turns:
    def __init__(
        self, store: Store, engines: Engines, tools: Tools, client: Client, presence: Presence, slots: Slots
    ) -> None:
        self._store = store
        self._slots = slots
        self._engines = engines
        self._tools = tools
        self._client = client
        self._presence = presence
        self._live: dict[TurnKey, LiveTurn] = {}
        self._reports = Reports(store)
        self._abandoning: dict[TurnKey, asyncio.Task[None]] = {}

    @activity.defn
    async def run_turn(self, ref: TurnRef) -> TurnResult:
        with self._slots.taken(ref.run_id):
            return await self._run_turn(ref)

    async def _run_turn(self, ref: TurnRef) -> TurnResult:
        async with _alongside(_heartbeat(), self._announce(ref)):
            try:
                if (report := self._reports.find(ref.key)) is not None:
                    return report
                turn = self._live.get(ref.key) or await self._open(ref)
                return await self._followed(ref, turn)
            except TurnInterrupted as error:
                return self._interrupted(error.message)
            except TurnOwned as error:
                if not self._presence.has_died(str(error.details["owner"])):
                    raise  # it lives, elsewhere; Temporal will ask again
                return self._interrupted("The worker that ran the turn is gone.")

    async def _open(self, ref: TurnRef) -> LiveTurn:
        await self._presence.settled.wait()
        reconciling = self._presence.recovery is Recovery.RECONCILE
        context = await self._store.open_turn(
            ref.run_id,
            ref.attempt,
            self._presence.worker_id,
            ref.registration,
            self._presence.restarted_at if reconciling else None,
        )
        writer = TurnWriter(self._store, context)
        turn = self._live[ref.key] = LiveTurn(self._play(context, writer), writer)
        return turn

    async def _followed(self, ref: TurnRef, turn: LiveTurn) -> TurnResult:
        try:
            result = await turn.result()
        except TurnFenced:
            self._live.pop(ref.key, None)
            raise
        except asyncio.CancelledError:
            details = activity.cancellation_details()
            if details is not None and (details.not_found or details.timed_out):
                # The server lost sight of us, or the workflow is gone. If it still wants the turn, it asks again soon.
                _after(FORGOTTEN_SEC, self._abandon, ref.key)
                raise
            wanted = details is not None and details.cancel_requested
            interrupted = self._interrupted("The worker stopped before the turn could finish.")
            result = await turn.stop(Canceled() if wanted else interrupted.ending)
            if isinstance(result.ending, Interrupted):
                result = interrupted
        self._store.observer.turn_ended(time.monotonic() - turn.started)
        self._report(ref.key, result)
        return result

    def _report(self, key: TurnKey, result: TurnResult) -> None:
        self._live.pop(key, None)
        self._reports.keep(key, result)

    def _abandon(self, key: TurnKey) -> None:
        turn = self._live.get(key)
        if turn is not None and turn.watchers == 0:
            self._abandoning[key] = asyncio.ensure_future(self._stop_abandoned(key, turn))

    async def _stop_abandoned(self, key: TurnKey, turn: LiveTurn) -> None:
        interrupted = self._interrupted("The worker lost its connection to Temporal for too long.")
        try:
            result = await turn.stop(interrupted.ending)
            self._report(key, interrupted if isinstance(result.ending, Interrupted) else result)
        except TurnFenced:
            self._live.pop(key, None)
        finally:
            del self._abandoning[key]

    def _interrupted(self, message: str) -> TurnResult:
        error = ErrorInfo(code=errors.ORCHESTRATOR_RESTART_INTERRUPTED, message=message)
        return TurnResult(ending=Interrupted(error=error), redrive=self._presence.recovery is Recovery.REDRIVE)

    async def _play(self, turn: TurnContext, writer: TurnWriter) -> TurnResult:
        try:
            engine = self._engines[turn.input.engine]
            toolbox = Toolbox(self._tools, turn.tools)
            async with contextlib.aclosing(engine.run_turn(turn, toolbox)) as outputs:
                async for output in outputs:
                    match output:
                        case Ask(question, handle, usage):
                            asked = Asked(question=_readable(question), handle=handle)
                            return TurnResult(ending=asked, usage=usage)
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


def _readable(question: Question) -> Question:
    """As its workflow will read it: an engine may have built one that nobody can."""
    return Question.model_validate_json(question.model_dump_json())


def _failed(code: str, message: str) -> Failed:
    return Failed(error=ErrorInfo(code=code, message=message[:MAX_ERROR_LENGTH]))


def _after(seconds: float, work: Callable[[TurnKey], object], key: TurnKey) -> None:
    """In a context of its own: the activity's would be kept alive by it, with all that hangs on it."""
    asyncio.get_running_loop().call_later(seconds, work, key, context=contextvars.Context())


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
