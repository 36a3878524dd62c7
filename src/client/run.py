"""One run, seen from outside."""

import uuid
from collections.abc import AsyncIterator

from pydantic import JsonValue, ValidationError
from temporalio.client import WorkflowHandle, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError

from turnwise.client.refusals import RPC_TIMEOUT, refused, says_that_there_is_none, unavailable
from turnwise.errors import (
    AlreadyAnswered,
    InteractionStale,
    NotWaiting,
    ReplyMalformed,
    RunEnded,
    TurnwiseError,
    Unavailable,
    first_fault,
)
from turnwise.fcmp.events import FcmpEvent, ReplyAccepted
from turnwise.statechart import TERMINAL, State
from turnwise.status import StatusView
from turnwise.store import Store
from turnwise.store.records import AuditRecord, Interaction, RunView, StoredEvent
from turnwise.store.watching import Frame
from turnwise.workflows.replies import Receipt, Reply


class Run:
    """One run: look at it, watch it, answer it, cancel it."""

    def __init__(self, run_id: str, handle: WorkflowHandle[object, object], store: Store) -> None:
        self.id = run_id
        self._handle = handle
        self._store = store
        self._is_known = False

    async def view(self) -> RunView:
        view = await self._store.run(self.id)
        self._is_known = True
        return view

    async def status(self) -> StatusView:
        """What people are to be shown."""
        return (await self.view()).status

    async def events(self, cursor: int = 0) -> AsyncIterator[FcmpEvent]:
        """Every event after `cursor`, as it happens, until the run ends."""
        async for frame in self._store.watch(self.id, cursor):
            if isinstance(frame, StoredEvent):
                yield FcmpEvent.model_validate_json(frame.body)

    def frames(self, cursor: int = 0) -> AsyncIterator[Frame]:
        """Like `events`, with a snapshot first, each new status, and the text of messages while they are written."""
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
        await self._require()
        try:
            return await self._update(reply)
        except (AlreadyAnswered, InteractionStale, NotWaiting) as refusal:
            # Temporal forgets finished runs and their updates; the log does not.
            known = await self._store.interaction(self.id, interaction_id)
            if known is None or known.resolution is None:
                await self._refuse_only_if_true(refusal, reply)
                raise
            if isinstance(known.resolution, ReplyAccepted) and known.resolution.reply_id == reply.reply_id:
                return Receipt.of(self.id, known.resolution)
            receipt = known.resolution.model_dump(mode="json", exclude={"response"})
            raise AlreadyAnswered(f"Question {interaction_id} is already answered.", receipt=receipt) from refusal

    async def _refuse_only_if_true(self, refusal: TurnwiseError, reply: Reply) -> None:
        """The log is ahead when a worker died after it published a question and before Temporal knew."""
        pending = (await self.view()).pending
        if isinstance(refusal, AlreadyAnswered) or pending is None or pending.interaction_id != reply.interaction_id:
            return
        message = "The run is still coming to this question. Send the reply again with the same reply_id."
        raise Unavailable(message, reply_id=reply.reply_id) from refusal

    async def cancel(self) -> RunView:
        """Asks the run to stop. It is canceled when its turn has really stopped: `wait` tells."""
        await self._require()
        try:
            await self._handle.cancel(rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if not says_that_there_is_none(error):
                raise unavailable(error) from error
        run = await self.view()
        if run.state in TERMINAL and run.state is not State.CANCELED:
            raise RunEnded(f"The run has ended ({run.state.value}); it cannot be canceled.")
        return run

    async def _require(self) -> None:
        """Nothing is sent to a workflow that is no run of ours."""
        if not self._is_known:
            await self.view()

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
            raise refused(error) or NotWaiting("The run ended before the reply could be taken.") from error
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            message = "No worker could take the reply. Send it again with the same reply_id."
            raise Unavailable(message, reply_id=reply.reply_id) from error
        except RPCError as error:
            if not says_that_there_is_none(error):
                raise unavailable(error) from error
            run = await self.view()
            raise NotWaiting(f"The run has no open question: it has ended ({run.state.value}).") from error
