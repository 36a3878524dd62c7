"""Starting workflows, and bringing what they are into the store."""

import asyncio
from collections.abc import Awaitable, Callable

from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from turnwise.client.refusals import RPC_TIMEOUT, unavailable
from turnwise.errors import Unavailable
from turnwise.runs import RunContent, RunInput
from turnwise.sessions import SessionContent, SessionInput
from turnwise.store import Store
from turnwise.store.registration import Registration
from turnwise.store.sessions import SessionRegistration
from turnwise.workflows.run import RunWorkflow
from turnwise.workflows.session import SessionWorkflow
from turnwise.workflows.visibility import SESSION_ID, initial_attributes, session_summary, summary

INLINE_INPUT_MAX_BYTES = 16 * 1024
"""A larger prompt or script is stored once, and its reference goes through Temporal."""
LOOKS = 100
LOOK_SEC = 0.02

Known = Callable[[str, str], Awaitable[bool]]


class Starter:
    def __init__(self, temporal: Client, store: Store, task_queue: str) -> None:
        self._temporal = temporal
        self._store = store
        self._task_queue = task_queue

    async def start_run(self, run_id: str, run_input: RunInput, digest: str | None) -> None:
        request = (await self._run_by_reference(run_input)).model_copy(update={"registered": True})
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
            await _started_by_another(self._store.known_request, run_id, digest)
            return
        except RPCError as error:
            raise unavailable(error) from error
        registration = Registration(
            run_id=run_id,
            execution_id=handle.first_execution_run_id or "",
            input=run_input,
            request_digest=digest,
            task_queue=self._task_queue,
        )
        await self._store.register(registration)

    async def start_session(self, session_id: str, session_input: SessionInput, digest: str | None) -> None:
        request = await self._session_by_reference(session_input)
        try:
            handle = await self._temporal.start_workflow(
                SessionWorkflow.run,
                request.model_dump(mode="json", exclude_defaults=True),
                id=session_id,
                task_queue=self._task_queue,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                search_attributes=TypedSearchAttributes([SearchAttributePair(SESSION_ID, session_id)]),
                static_summary=session_summary(session_input),
                request_eager_start=True,
                rpc_timeout=RPC_TIMEOUT,
            )
        except WorkflowAlreadyStartedError:
            await _started_by_another(self._store.sessions.known_request, session_id, digest)
            return
        except RPCError as error:
            raise unavailable(error) from error
        registration = SessionRegistration(
            session_id=session_id,
            execution_id=handle.first_execution_run_id or "",
            input=session_input,
            request_digest=digest,
            task_queue=self._task_queue,
        )
        await self._store.sessions.create(registration)

    async def _run_by_reference(self, run_input: RunInput) -> RunInput:
        content = RunContent(prompt=run_input.prompt, engine_options=run_input.engine_options).model_dump_json()
        if len(content.encode()) <= INLINE_INPUT_MAX_BYTES:
            return run_input
        ref = await self._store.put_blob(content)
        return run_input.model_copy(update={"prompt": "", "engine_options": {}, "content_ref": ref})

    async def _session_by_reference(self, session_input: SessionInput) -> SessionInput:
        content = SessionContent(engine_options=session_input.engine_options).model_dump_json()
        if len(content.encode()) <= INLINE_INPUT_MAX_BYTES:
            return session_input
        ref = await self._store.put_blob(content)
        return session_input.model_copy(update={"engine_options": {}, "content_ref": ref})


async def _started_by_another(known: Known, workflow_id: str, digest: str | None) -> None:
    """The same Idempotency-Key was sent in the same moment: what the first sender asked for is what there is."""
    for _ in range(LOOKS):
        if digest is not None and await known(workflow_id, digest):
            return
        await asyncio.sleep(LOOK_SEC)
    raise Unavailable("This is being started by another request with the same Idempotency-Key.")
