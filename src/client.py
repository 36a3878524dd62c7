"""The Python client: what a service imports to start runs, watch them, reply and cancel.

It works on Temporal and the store directly; the HTTP API is a thin layer over it.
"""

import asyncio
import contextlib
import hashlib
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta

from pydantic import JsonValue, ValidationError
from temporalio.client import (
    Client,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from turnwise.connection import connect_temporal
from turnwise.engines import Engines, default_engines
from turnwise.errors import (
    AlreadyAnswered,
    InteractionStale,
    NotWaiting,
    ReplyMalformed,
    ResponseInvalid,
    RunEnded,
    RunInputInvalid,
    TurnwiseError,
    Unavailable,
    first_fault,
)
from turnwise.fcmp.events import FcmpEvent, Mode, ReplyAccepted
from turnwise.fcmp.jsonvalue import JsonObject, json_bytes
from turnwise.runs import DEFAULT_SESSION_TIMEOUT_SEC, RunContent, RunInput
from turnwise.settings import Settings
from turnwise.statechart import TERMINAL, State
from turnwise.store import Store
from turnwise.store.records import AuditRecord, Interaction, RunPage, RunView, StoredEvent
from turnwise.store.registration import Registration
from turnwise.store.watching import Frame
from turnwise.workflows.replies import Receipt, Reply
from turnwise.workflows.run import RunWorkflow
from turnwise.workflows.visibility import initial_attributes, summary

INLINE_INPUT_MAX_BYTES = 16 * 1024
"""A larger prompt or script is stored once, and its reference goes through Temporal."""
RPC_TIMEOUT = timedelta(seconds=5)
REGISTRATION_LOOKS = 100
REGISTRATION_LOOK_SEC = 0.02

__all__ = ["Run", "Turnwise", "connect"]


@contextlib.asynccontextmanager
async def connect(settings: Settings | None = None) -> AsyncIterator["Turnwise"]:
    """A client on the Temporal server and the database that the environment names."""
    settings = settings or Settings()
    store = Store(settings.store_url)
    try:
        temporal = await connect_temporal(settings)
        await store.open()
        yield Turnwise(temporal, store, default_engines(), task_queue=settings.task_queue)
    finally:
        await store.close()


class Turnwise:
    def __init__(self, temporal: Client, store: Store, engines: Engines, *, task_queue: str) -> None:
        self._temporal = temporal
        self._store = store
        self._engines = engines
        self._task_queue = task_queue

    async def start(
        self,
        prompt: str = "",
        *,
        engine: str = "scripted",
        engine_options: JsonObject | None = None,
        mode: Mode = Mode.INTERACTIVE,
        interactive_require_user_reply: bool = True,
        session_timeout_sec: float = DEFAULT_SESSION_TIMEOUT_SEC,
        max_attempts: int | None = None,
        session_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> "Run":
        """Starts a run. With an `idempotency_key`, starting it again gives the same run."""
        try:
            run_input = RunInput(
                prompt=prompt,
                engine=engine,
                engine_options=engine_options or {},
                mode=mode,
                interactive_require_user_reply=interactive_require_user_reply,
                session_timeout_sec=session_timeout_sec,
                max_attempts=max_attempts,
                session_id=session_id,
            )
        except ValidationError as error:
            raise RunInputInvalid(first_fault(error)) from error
        return await self.start_input(run_input, idempotency_key=idempotency_key)

    async def start_input(self, run_input: RunInput, *, idempotency_key: str | None = None) -> "Run":
        self._engines[run_input.engine].check_options(run_input.engine_options)
        digest = None
        run_id = f"run-{uuid.uuid4()}"
        if idempotency_key is not None:
            digest = hashlib.sha256(json_bytes(run_input.model_dump(mode="json"))).hexdigest()
            run_id = f"run-{uuid.uuid5(uuid.NAMESPACE_URL, f'turnwise:{idempotency_key}')}"
            if await self._store.known_request(run_id, digest):
                return self.run(run_id)
        await self._start_workflow(run_id, run_input, digest)
        return self.run(run_id)

    def run(self, run_id: str) -> "Run":
        """A run that was started before, by anybody."""
        return Run(run_id, self._temporal.get_workflow_handle(run_id), self._store)

    async def runs(self, state: State | None = None, limit: int = 50, cursor: str | None = None) -> RunPage:
        return await self._store.runs(state, limit, cursor)

    async def ping(self) -> None:
        """Raises Unavailable, saying what is missing, unless Temporal and the store both answer."""
        await self._store.ping()
        try:
            await self._temporal.service_client.check_health(timeout=RPC_TIMEOUT)
        except RPCError as error:
            raise Unavailable("The Temporal server does not answer.") from error

    async def _start_workflow(self, run_id: str, run_input: RunInput, digest: str | None) -> None:
        request = (await self._by_reference(run_input)).model_copy(update={"registered": True})
        try:
            handle = await self._temporal.start_workflow(
                RunWorkflow.run,
                request.model_dump(mode="json", exclude_defaults=True),
                id=run_id,
                task_queue=self._task_queue,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                search_attributes=initial_attributes(run_input),
                static_summary=summary(run_input),
                request_eager_start=True,
                rpc_timeout=RPC_TIMEOUT,
            )
        except WorkflowAlreadyStartedError:
            await self._registered_by_another(run_id, digest)
            return
        except RPCError as error:
            raise _unavailable(error) from error
        registration = Registration(
            run_id=run_id,
            execution_id=handle.first_execution_run_id or "",
            input=run_input,
            request_digest=digest,
        )
        await self._store.register(registration)

    async def _registered_by_another(self, run_id: str, digest: str | None) -> None:
        """The same Idempotency-Key was sent in the same moment: what the first sender asked for is the run."""
        for _ in range(REGISTRATION_LOOKS):
            if digest is not None and await self._store.known_request(run_id, digest):
                return
            await asyncio.sleep(REGISTRATION_LOOK_SEC)
        raise Unavailable("The run is being started by another request with the same Idempotency-Key.")

    async def _by_reference(self, run_input: RunInput) -> RunInput:
        content = RunContent(prompt=run_input.prompt, engine_options=run_input.engine_options).model_dump_json()
        if len(content.encode()) <= INLINE_INPUT_MAX_BYTES:
            return run_input
        ref = await self._store.put_blob(content)
        return run_input.model_copy(update={"prompt": "", "engine_options": {}, "content_ref": ref})


class Run:
    """One run: look at it, watch it, answer it, cancel it."""

    def __init__(self, run_id: str, handle: WorkflowHandle[object, object], store: Store) -> None:
        self.id = run_id
        self._handle = handle
        self._store = store

    async def view(self) -> RunView:
        return await self._store.run(self.id)

    async def events(self, cursor: int = 0) -> AsyncIterator[FcmpEvent]:
        """Every event after `cursor`, as it happens, until the run ends."""
        async for frame in self._store.watch(self.id, cursor):
            if isinstance(frame, StoredEvent):
                yield FcmpEvent.model_validate_json(frame.body)

    def frames(self, cursor: int = 0) -> AsyncIterator[Frame]:
        """Like `events`, with a snapshot first and the text of messages while they are being written."""
        return self._store.watch(self.id, cursor)

    async def history(self, after: int = 0, to: int | None = None, limit: int = 1000) -> list[FcmpEvent]:
        stored = await self._store.events(self.id, after, limit, to)
        return [FcmpEvent.model_validate_json(event.body) for event in stored]

    async def audit(self, after: int = 0, limit: int = 1000) -> list[AuditRecord]:
        return await self._store.audit(self.id, after, limit)

    async def interaction(self) -> Interaction | None:
        """The open question, if there is one."""
        pending = (await self.view()).pending
        return await self._store.interaction(self.id, pending.interaction_id) if pending else None

    async def reply(self, interaction_id: int, response: JsonValue, *, reply_id: str | None = None) -> Receipt:
        """Answers the question. The same `reply_id` sent again gets the same receipt."""
        try:
            reply = Reply(interaction_id=interaction_id, response=response, reply_id=reply_id or str(uuid.uuid4()))
        except ValidationError as error:
            raise ReplyMalformed(first_fault(error)) from error
        try:
            return await self._update(reply)
        except (AlreadyAnswered, InteractionStale, NotWaiting) as refusal:
            # Temporal forgets finished runs and their updates; the log does not.
            known = await self._store.interaction(self.id, interaction_id)
            if known is None or known.resolution is None:
                raise
            if isinstance(known.resolution, ReplyAccepted) and known.resolution.reply_id == reply.reply_id:
                return Receipt.of(self.id, known.resolution)
            receipt = known.resolution.model_dump(mode="json", exclude={"response"})
            raise AlreadyAnswered(f"Question {interaction_id} is already answered.", receipt=receipt) from refusal

    async def cancel(self) -> RunView:
        """Asks the run to stop. It is canceled when its turn has really stopped: `wait` tells."""
        try:
            await self._handle.cancel(rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise _unavailable(error) from error
        run = await self.view()
        if run.state in TERMINAL and run.state is not State.CANCELED:
            raise RunEnded(f"The run has ended ({run.state.value}); it cannot be canceled.")
        return run

    async def wait(self) -> RunView:
        """Returns when the run has ended."""
        async for _ in self._store.watch(self.id, (await self.view()).last_seq):
            pass
        return await self.view()

    async def _update(self, reply: Reply) -> Receipt:
        try:
            receipt: Receipt = await self._handle.execute_update(
                "reply",
                reply.model_dump(mode="json"),
                result_type=Receipt,
                # One question, one reply id: the same pair sent again gets the first answer from Temporal itself.
                id=f"{reply.interaction_id}:{reply.reply_id}",
                rpc_timeout=RPC_TIMEOUT,
            )
            return receipt
        except WorkflowUpdateFailedError as error:
            raise _refusal(error) from error
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            message = "No worker took the reply. Send it again with the same reply_id."
            raise Unavailable(message, reply_id=reply.reply_id) from error
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise _unavailable(error) from error
            run = await self.view()
            raise NotWaiting(f"The run has no open question: it has ended ({run.state.value}).") from error


_REFUSALS: dict[str, type[TurnwiseError]] = {
    kind.code: kind for kind in (AlreadyAnswered, InteractionStale, NotWaiting, ReplyMalformed, ResponseInvalid)
}


def _refusal(error: WorkflowUpdateFailedError) -> TurnwiseError:
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type in _REFUSALS:
        details = cause.details[0] if cause.details else {}
        return _REFUSALS[cause.type](cause.message, **details)
    return NotWaiting("The run ended before the reply could be taken.")


def _unavailable(error: RPCError) -> Unavailable:
    return Unavailable(f"The Temporal server cannot be used now ({error.status.name.lower()}).")
