"""A session: one long-lived Temporal workflow that executes its prompts one at a time, each as a run of its own."""

import asyncio
import uuid
from collections import deque
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
    ChildWorkflowError,
    WorkflowAlreadyStartedError,
)

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

    from turnwise import errors
    from turnwise.activities.refusals import refusal
    from turnwise.activities.sessions import RegisteredTools, RegisterToolRequest, Sessions
    from turnwise.cancellation import uninterrupted
    from turnwise.descriptors import ToolRequest
    from turnwise.errors import (
        PromptAlreadyRunning,
        PromptMalformed,
        QueueFull,
        RunInputInvalid,
        SessionBusy,
        SessionClosed,
        ToolUnknown,
        first_fault,
    )
    from turnwise.fcmp.events import ErrorInfo
    from turnwise.runs import Identifier
    from turnwise.sessions import (
        MAX_QUEUED,
        Cleared,
        ItemEnd,
        ItemSource,
        PromptReceipt,
        PromptRequest,
        SessionInput,
        StoredItem,
        StreamingBehavior,
        run_input_of,
    )
    from turnwise.statechart import State
    from turnwise.store.session_items import NewItem
    from turnwise.workflows.run import RunWorkflow
    from turnwise.workflows.session_outbox import SessionOutbox
    from turnwise.workflows.visibility import SESSION_ID, initial_attributes, summary

TOOL_TIMEOUT = timedelta(seconds=60)
CANCELED = ErrorInfo(code=errors.RUN_CANCELED, message="The prompt that it was queued behind was canceled.")
CLOSED = ErrorInfo(code=errors.SESSION_CLOSED, message="The session was closed.")
_SESSION_ID: TypeAdapter[str] = TypeAdapter(Identifier)


class QueuedPrompt(BaseModel):
    request: PromptRequest
    source: ItemSource
    run_id: str
    announced: bool
    """It met an idle session: its run entered the store together with it."""


class CarriedSession(BaseModel):
    """What continue-as-new takes along."""

    queue: list[QueuedPrompt] = []
    prompts: int = 0
    closing: bool = False


@workflow.defn(sandboxed=False)
class SessionWorkflow:
    @workflow.init
    def __init__(self, request: JsonValue = None, carried: JsonValue = None) -> None:
        # Read here and not by the SDK: what other languages send may be anything, and must fail, not hang.
        self._session_id = workflow.info().workflow_id
        self._input, before, self._input_error = _read(self._session_id, request, carried)
        self._registered = carried is not None
        self._queue = deque(before.queue)
        self._prompts = before.prompts
        self._closing = before.closing
        self._active: QueuedPrompt | None = None
        self._child: workflow.ChildWorkflowHandle[RunWorkflow, object] | None = None
        self._cancel_wanted = False
        self._storing: set[str] = set()
        """Prompts that are in the queue, and on their way into the store."""
        self._ending: list[str] = []
        """Prompts that have ended, which the store is being told."""
        self._resuming = False
        self._outbox = SessionOutbox(self._session_id, self._remember_close)

    @workflow.run
    async def run(self, request: JsonValue = None, carried: JsonValue = None) -> None:
        if self._input_error is not None:
            raise refusal(RunInputInvalid(self._input_error))
        if not self._registered:
            await self._outbox.register(self._input)
            self._registered = True
        self._show()
        while not self._closing:
            try:
                await workflow.wait_condition(lambda: self._closing or self._can_start() or self._is_long())
            except asyncio.CancelledError:
                self._remember_close()
            if self._can_start() and not self._closing:
                await self._execute(self._queue.popleft())
            if self._is_long() and not self._closing:
                await self._continue_as_new(request)
        await uninterrupted(workflow.wait_condition(workflow.all_handlers_finished))
        if ended := self._drained(CLOSED):
            await self._end(ended)
        await self._outbox.close()
        self._show()

    # Prompts

    async def _execute(self, prompt: QueuedPrompt) -> None:
        """Runs one prompt to its end. Its failure is the failure of all that is queued behind it."""
        self._active = prompt
        self._prompts += 1
        self._show()
        error = await uninterrupted(self._outcome(prompt), self._remember_close)
        # No await between here and the next line: who sees the prompt's end in the store finds the session free.
        self._active = self._child = None
        self._cancel_wanted = False
        ended = [ItemEnd(prompt_id=prompt.request.prompt_id, state=_state_of(error), error=error)]
        if error is not None:
            behind = CANCELED if error.code == errors.RUN_CANCELED else error
            ended += self._drained(behind)
        self._show()
        await self._end(ended)

    async def _end(self, ended: list[ItemEnd]) -> None:
        self._ending = [each.prompt_id for each in ended]
        await self._outbox.end(ended)
        self._ending = []

    async def _outcome(self, prompt: QueuedPrompt) -> ErrorInfo | None:
        run_input = run_input_of(self._session_id, self._input, prompt.request)
        run_input.registered = prompt.announced
        try:
            self._child = await workflow.start_child_workflow(
                RunWorkflow.run,
                run_input.model_dump(mode="json", exclude_defaults=True),
                id=prompt.run_id,
                parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
                cancellation_type=workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
                search_attributes=initial_attributes(run_input),
                static_summary=summary(run_input),
            )
            if self._cancel_wanted:
                self._child.cancel()
            await self._child
        except WorkflowAlreadyStartedError as error:
            return ErrorInfo(code=errors.TURN_FAILED, message=str(error))
        except ChildWorkflowError as error:
            return _error_of(error.cause)
        except asyncio.CancelledError:
            return ErrorInfo(code=errors.RUN_CANCELED, message="The run was canceled.")
        return None

    def _cancel_active(self) -> bool:
        if self._active is None:
            return False
        self._cancel_wanted = True
        if self._child is not None:
            self._child.cancel()
        return True

    def _drained(self, error: ErrorInfo) -> list[ItemEnd]:
        state = _state_of(error)
        return [ItemEnd(prompt_id=each.request.prompt_id, state=state, error=error) for each in self._take_queued()]

    def _take_queued(self) -> list[QueuedPrompt]:
        """All but those that are only just arriving: these come after whatever emptied the queue."""
        taken = [each for each in self._queue if each.request.prompt_id not in self._storing]
        self._queue = deque(each for each in self._queue if each.request.prompt_id in self._storing)
        return taken

    def _is_busy(self) -> bool:
        return self._active is not None or bool(self._queue) or self._resuming

    def _can_start(self) -> bool:
        return bool(self._queue) and self._queue[0].request.prompt_id not in self._storing and not self._resuming

    # Messages

    @workflow.update(name="prompt")
    async def prompt(self, request: JsonValue = None) -> PromptReceipt:
        prompt = _parse(request)
        if prompt.prompt_id in self._ending:
            await workflow.wait_condition(lambda: prompt.prompt_id not in self._ending)
        known = self._known(prompt.prompt_id)
        if known is not None:
            await workflow.wait_condition(lambda: prompt.prompt_id not in self._storing)
            return PromptReceipt.of(self._session_id, await self._stored(known))
        self._check_prompt(prompt)
        was_busy = self._is_busy()
        queued = QueuedPrompt(
            request=prompt,
            source=_source(prompt, was_busy=was_busy),
            run_id=_run_id(self._session_id, prompt.prompt_id),
            announced=not was_busy,
        )
        # No await before this line: of prompts that race, the first one here is the active one.
        self._queue.append(queued)
        self._storing.add(prompt.prompt_id)
        stored: StoredItem | None = None
        try:
            await workflow.wait_condition(lambda: self._registered)
            stored = await self._stored(queued)
            queued.run_id = stored.run_id
        finally:
            self._storing.discard(prompt.prompt_id)
            if stored is None or stored.state is not None:  # refused, or it came before and has ended
                self._queue.remove(queued)
        return PromptReceipt.of(self._session_id, stored)

    async def _stored(self, queued: QueuedPrompt) -> StoredItem:
        """What is stored under the prompt's id: this prompt, unless the id was used before."""
        prompt = queued.request
        item = NewItem(
            session_id=self._session_id,
            prompt_id=prompt.prompt_id,
            source=queued.source,
            text=prompt.text,
            content_ref=prompt.content_ref,
            run_id=queued.run_id,
            task_queue=workflow.info().task_queue,
            starts=run_input_of(self._session_id, self._input, prompt) if queued.announced else None,
        )
        return await self._outbox.add(item)

    @prompt.validator
    def _refuse_prompt(self, request: JsonValue = None) -> None:
        prompt = _parse(request)
        if self._known(prompt.prompt_id) is None:
            self._check_prompt(prompt)

    @workflow.update
    async def cancel_prompt(self) -> bool:
        """Asks the active prompt to stop; false when there is none. It is canceled when its turn has really stopped."""
        return self._cancel_active()

    @workflow.update
    async def clear_pending(self, cancel_active_prompt: bool = False) -> Cleared:
        """Empties the queue and forgets what has left it; nothing is recorded of what was removed."""
        removed = self._take_queued()
        canceled = self._cancel_active() if cancel_active_prompt else False
        self._show()
        cleared = await self._outbox.clear_pending([each.request.prompt_id for each in removed])
        cleared.active_prompt_canceled = canceled
        return cleared

    @workflow.update
    async def resume(self, entries_ref: str) -> None:
        """Takes a stored transcript instead of the session's own."""
        self._check_idle()
        self._resuming = True
        try:
            await self._outbox.replace_transcript(entries_ref)
        finally:
            self._resuming = False

    @resume.validator
    def _refuse_resume(self, entries_ref: str) -> None:
        self._check_idle()

    @workflow.update
    async def register_tools(self, request: JsonValue = None) -> RegisteredTools:
        try:
            tool = ToolRequest.model_validate(request)
        except ValidationError as error:
            raise refusal(ToolUnknown(first_fault(error))) from error
        await workflow.wait_condition(lambda: self._registered)
        try:
            return await workflow.execute_activity_method(
                Sessions.register_tools,
                RegisterToolRequest(session_id=self._session_id, tool=tool),
                start_to_close_timeout=TOOL_TIMEOUT,
                retry_policy=RetryPolicy(maximum_attempts=3),
                summary=f"Register {tool.source} tool {tool.name or tool.server}",
            )
        except ActivityError as error:
            raise error.cause or error from error

    @register_tools.validator
    def _refuse_tools(self, request: JsonValue = None) -> None:
        self._check_open()

    @workflow.signal
    async def restarted(self) -> None:
        """From the sweep: prompts may be stored that were on their way to us when everything went down."""
        await workflow.wait_condition(lambda: self._registered and not self._storing)
        active = [self._active] if self._active else []
        await self._outbox.end_lost([*(each.request.prompt_id for each in (*active, *self._queue)), *self._ending])

    @workflow.update
    async def close(self) -> None:
        """Cancels what is under way; the session ends when it has stopped."""
        self._remember_close()

    def _known(self, prompt_id: str) -> QueuedPrompt | None:
        """The prompt under this id, if we are at it or have it in the queue: then it was sent again."""
        mine = [self._active, *self._queue] if self._active else list(self._queue)
        return next((each for each in mine if each.request.prompt_id == prompt_id), None)

    def _remember_close(self) -> None:
        self._closing = True
        self._cancel_active()

    def _check_open(self) -> None:
        if self._closing:
            raise refusal(SessionClosed("The session is closed."))

    def _check_idle(self) -> None:
        self._check_open()
        if self._is_busy():
            raise refusal(SessionBusy("The session works on a prompt; its transcript cannot be replaced now."))

    def _check_prompt(self, prompt: PromptRequest) -> None:
        self._check_open()
        if not self._is_busy():
            return
        if prompt.source is None and prompt.streaming_behavior is StreamingBehavior.REJECT:
            raise refusal(PromptAlreadyRunning("The session works on another prompt."))
        if len(self._queue) >= MAX_QUEUED:
            raise refusal(QueueFull(f"The queue holds {MAX_QUEUED} prompts; no more are taken."))

    # Appearance and age

    def _show(self) -> None:
        work = f"works on run `{self._active.run_id}`" if self._active else "idle"
        if self._closing:
            work = "closed" if self._active is None else "closing"
        lines = [f"**{work}** · {self._prompts} prompts so far · {len(self._queue)} queued"]
        if self._active is not None:
            lines.append(f"Prompt: {self._active.request.text[:200]}")
        workflow.set_current_details("\n\n".join(lines))
        shown = workflow.info().typed_search_attributes
        if shown.get(SESSION_ID) is None:
            workflow.upsert_search_attributes([SESSION_ID.value_set(self._session_id)])

    def _is_long(self) -> bool:
        return workflow.info().is_continue_as_new_suggested()

    async def _continue_as_new(self, request: JsonValue) -> None:
        await uninterrupted(workflow.wait_condition(workflow.all_handlers_finished), self._remember_close)
        carried = CarriedSession(queue=list(self._queue), prompts=self._prompts, closing=self._closing)
        workflow.continue_as_new(args=[request, carried.model_dump(mode="json")])


def _read(session_id: str, request: JsonValue, carried: JsonValue) -> tuple[SessionInput, CarriedSession, str | None]:
    try:
        _SESSION_ID.validate_python(session_id)
        return SessionInput.model_validate(request or {}), CarriedSession.model_validate(carried or {}), None
    except ValidationError as error:
        return SessionInput(), CarriedSession(), first_fault(error)


def _run_id(session_id: str, prompt_id: str) -> str:
    """The same whenever the prompt is sent again: what an earlier execution of ours has stored of it is its own."""
    return f"run-{uuid.uuid5(uuid.NAMESPACE_URL, f'turnwise:{session_id}:{prompt_id}')}"


def _parse(request: JsonValue) -> PromptRequest:
    try:
        return PromptRequest.model_validate(request)
    except ValidationError as error:
        raise refusal(PromptMalformed(f"The prompt cannot be read: {first_fault(error)}")) from error


def _source(prompt: PromptRequest, *, was_busy: bool) -> ItemSource:
    if prompt.source is not None:
        return prompt.source
    if not was_busy:
        return ItemSource.PROMPT
    steers = prompt.streaming_behavior is StreamingBehavior.STEER
    return ItemSource.STEER if steers else ItemSource.PROMPT_FOLLOW_UP


def _error_of(cause: BaseException | None) -> ErrorInfo:
    if isinstance(cause, CancelledError):
        return ErrorInfo(code=errors.RUN_CANCELED, message="The run was canceled.")
    if isinstance(cause, ApplicationError):
        return ErrorInfo(code=cause.type or errors.TURN_FAILED, message=cause.message)
    return ErrorInfo(code=errors.TURN_FAILED, message=str(cause))


def _state_of(error: ErrorInfo | None) -> State:
    if error is None:
        return State.SUCCEEDED
    return State.CANCELED if error.code in (errors.RUN_CANCELED, errors.SESSION_CLOSED) else State.FAILED
