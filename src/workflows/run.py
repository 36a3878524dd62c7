"""A run: one Temporal workflow whose code is the statechart."""

import asyncio
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from turnwise import errors
    from turnwise.activities.refusals import refusal
    from turnwise.activities.sweep import RestartNotice
    from turnwise.activities.turns import TurnRef, Turns
    from turnwise.cancellation import uninterrupted
    from turnwise.errors import AlreadyAnswered, NotWaiting, RunInputInvalid
    from turnwise.fcmp.events import AutoDecided, DiagnosticWarning, ErrorInfo, ReplyAccepted
    from turnwise.fcmp.jsonvalue import iso
    from turnwise.fcmp.questions import OpenQuestion, Policy
    from turnwise.statechart import TERMINAL, Event, Facts, State, step
    from turnwise.store.records import Canceled, Interrupted, Resolution, Succeeded, TurnEnding, TurnResult
    from turnwise.workflows.carried import Carried, read
    from turnwise.workflows.closing import closing_of
    from turnwise.workflows.outbox import Outbox
    from turnwise.workflows.replies import Receipt, Reply, check_reply, parse_reply
    from turnwise.workflows.result import RunResult
    from turnwise.workflows.visibility import Visibility

HEARTBEAT_TIMEOUT = timedelta(seconds=2)
TURN_TIMEOUT = timedelta(days=7)
# Never a second execution: a further attempt finds the turn where it runs, or finds that its worker is gone.
TAKE_UP_AGAIN = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), backoff_coefficient=1.2, maximum_interval=timedelta(seconds=2)
)
MAX_REDRIVES = 3
"""A turn that takes its worker down every time is not run for ever."""


@workflow.defn(sandboxed=False)
class RunWorkflow:
    @workflow.init
    def __init__(self, request: JsonValue = None, carried: JsonValue = None, *_: object) -> None:
        # Read here and not by the SDK: what other languages send may be anything, and must fail the run, not hang it.
        self._input, before, self._input_error = read(request, carried)
        self._run_id = workflow.info().workflow_id
        self._state = before.state
        self._attempt = before.attempt
        self._question = before.question
        self._deadline_reported = before.deadline_reported
        self._last_receipt = before.last_receipt
        self._refused_signals = before.refused_signals
        self._redrives = before.redrives
        self._last_restart = before.last_restart
        self._registered = carried is not None or self._input.registered
        self._publishing = False
        self._resolving = False
        self._starts_at_once = False
        self._canceling = False
        self._message_id: str | None = None
        self._error: ErrorInfo | None = None
        self._output: str | None = None
        self._outbox = Outbox(self._run_id, self._remember_cancel)
        self._visibility = Visibility(self._input)

    @workflow.run
    async def run(self, request: JsonValue = None, carried: JsonValue = None, *_: object) -> RunResult:
        if self._input_error is not None:
            raise refusal(RunInputInvalid(self._input_error))
        if not self._registered:
            await self._outbox.register(self._input)
            self._registered = True
        while self._state not in TERMINAL:
            if self._resolving:
                await self._until_published()
            elif self._canceling:
                await self._cancel()
            elif self._state is State.WAITING_USER:
                await self._wait()
            else:
                await self._take_turn()
            if _is_long() and self._state not in TERMINAL:
                await self._continue_as_new(request)
        self._show()
        await uninterrupted(workflow.wait_condition(workflow.all_handlers_finished))
        return self._result()

    # The statechart

    def _apply(self, event: Event, *, wait_is_valid: bool = False) -> None:
        """The only place where the run's state changes."""
        facts = Facts(
            interactive_require_user_reply=self._input.interactive_require_user_reply,
            pending_valid=wait_is_valid,
            handle_valid=wait_is_valid,
        )
        self._state = step(self._state, event, facts).target

    async def _take_turn(self) -> None:
        self._attempt += 1
        show = self._visibility.describe if self._starts_at_once else self._visibility.show
        show(self._state, self._attempt, self._question)
        self._starts_at_once = False
        turn = workflow.start_activity_method(
            Turns.run_turn,
            TurnRef(
                run_id=self._run_id,
                attempt=self._attempt,
                # Should the client have died before it could register the run, its first turn does.
                registration=self._outbox.registration(self._input) if self._attempt == 1 else None,
            ),
            start_to_close_timeout=TURN_TIMEOUT,
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
            retry_policy=TAKE_UP_AGAIN,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=f"Turn {self._attempt} ({self._input.engine})",
        )

        def stop() -> None:
            self._canceling = True
            stopping.append(asyncio.create_task(_stop(turn)))

        stopping: list[asyncio.Task[None]] = []
        try:
            result = await uninterrupted(turn, stop)
        except ActivityError as error:
            await self._end_turn(TurnResult(ending=self._ending_of(error)))
            return
        if isinstance(result.ending, Interrupted) and result.redrive and self._redrives < MAX_REDRIVES:
            await self._redrive(result.ending)
            return
        if self._state is State.QUEUED and not isinstance(result.ending, Interrupted):
            self._apply(Event.TURN_STARTED)  # the turn was too short to announce itself
        await self._end_turn(result)
        self._redrives = 0

    async def _redrive(self, interrupted: Interrupted) -> None:
        """The turn is run again as a new attempt; the run was running and still is."""
        self._redrives += 1
        if self._state is State.QUEUED:
            self._apply(Event.TURN_STARTED)
        message = f"{interrupted.error.message} The turn is run again."
        warning = DiagnosticWarning(code=errors.TURN_REDRIVEN, message=message)
        await self._outbox.abandon_turn(self._attempt, warning)

    async def _wait(self) -> None:
        question = self._question
        assert question is not None
        remaining = datetime.fromisoformat(question.deadline) - workflow.now()
        timeout = None if self._deadline_reported else max(remaining, timedelta(0))
        try:
            if timeout != timedelta(0):
                self._show()
                await workflow.wait_condition(
                    lambda: not self._is_busy() and (self._state is not State.WAITING_USER or _is_long()),
                    timeout=timeout,
                    timeout_summary=f"Deadline of question {question.interaction_id}",
                )
                return
        except asyncio.CancelledError:
            self._canceling = True
        except TimeoutError:
            pass
        if self._is_busy():  # a reply came in the same moment: it wins
            await self._until_published()
        elif self._state is State.WAITING_USER and not self._canceling:
            await self._deadline_passed(question)

    async def _deadline_passed(self, question: OpenQuestion) -> None:
        if self._input.interactive_require_user_reply:
            self._deadline_reported = True
            message = (
                f"Question {question.interaction_id} has waited {self._input.session_timeout_sec:g} s; still waiting."
            )
            warning = DiagnosticWarning(code=errors.SESSION_TIMEOUT_ELAPSED, message=message)
            await self._outbox.warn(f"question{question.interaction_id}.elapsed", warning)
            return
        self._apply(Event.AUTO_DECIDE_TIMEOUT)
        policy = question.default_decision_policy
        decision = AutoDecided(
            interaction_id=question.interaction_id,
            policy=policy,
            decided_at=iso(workflow.now()),
            response=question.default if policy is Policy.USE_DEFAULT else None,
        )
        await self._resolve(decision)

    async def _cancel(self) -> None:
        if self._state is State.WAITING_USER:
            self._apply(Event.RUN_CANCELED)
            await self._outbox.cancel_wait(Canceled().message)
        else:
            self._attempt += 1
            await self._end_turn(TurnResult(ending=Canceled()))

    async def _end_turn(self, result: TurnResult) -> None:
        """Takes the transition that the turn's ending means, and publishes it."""
        asked = self._question.interaction_id if self._question else 0
        closing = closing_of(result, TurnRef(run_id=self._run_id, attempt=self._attempt), self._input, asked)
        self._apply(closing.event)
        self._message_id = closing.message_id
        self._output = result.ending.output if isinstance(result.ending, Succeeded) else None
        self._error = closing.error
        if closing.question is not None:
            self._question = closing.question
            self._deadline_reported = False
        self._publishing = True
        await self._outbox.close_turn(closing)
        self._publishing = False

    # Messages

    @workflow.update(name="reply")
    async def reply(self, request: JsonValue = None, *_: object) -> Receipt:
        reply = parse_reply(request)
        if self._repeats_last(reply):
            await workflow.wait_condition(lambda: not self._is_busy())
            if self._last_receipt is not None and self._repeats_last(reply):
                return self._last_receipt
        check_reply(reply, self._open_question(), self._last_receipt)
        return await self._accept(reply)

    @reply.validator
    def _refuse_bad_reply(self, request: JsonValue = None, *_: object) -> None:
        reply = parse_reply(request)
        if not self._repeats_last(reply):
            check_reply(reply, self._open_question(), self._last_receipt)

    @workflow.signal(name="reply")
    async def reply_by_signal(self, request: JsonValue = None, *_: object) -> None:
        try:
            if isinstance(request, dict):
                request = {"reply_id": str(workflow.uuid4()), **request}
            reply = parse_reply(request)
            await self._come_to(reply.interaction_id)
            if self._repeats_last(reply):
                return
            check_reply(reply, self._open_question(), self._last_receipt)
            await self._accept(reply)
        except ApplicationError as error:
            self._refused_signals += 1
            key = f"signal{self._refused_signals}.refused"  # before anything is awaited: others may follow
            await workflow.wait_condition(lambda: self._registered)
            warning = DiagnosticWarning(
                code=errors.REPLY_SIGNAL_REFUSED, message=error.message, details={"reason": error.type}
            )
            await self._outbox.warn(key, warning)

    @workflow.signal
    async def restarted(self, notice: RestartNotice) -> None:
        """From the sweep after a restart: whether this run can go on waiting."""
        # A worker may have died after it published the question and before Temporal knew: then the notice comes first.
        await workflow.wait_condition(lambda: self._has_come_to(notice.interaction_id) and not self._publishing)
        question = self._open_question()
        if question is None or notice.restart_id == self._last_restart:
            return
        self._last_restart = notice.restart_id
        self._publishing = True
        if notice.problem is None and notice.interaction_id == question.interaction_id:
            self._apply(Event.RESTART_PRESERVE_WAITING, wait_is_valid=True)
            await self._outbox.preserve_wait(notice.restart_id, question.interaction_id)
        elif notice.problem is not None:
            self._error = ErrorInfo(code=errors.SESSION_RESUME_FAILED, message=notice.problem)
            self._apply(Event.RESTART_RECONCILE_FAILED)
            await self._outbox.reconcile(self._error)
        self._publishing = False

    @workflow.signal
    def turn_started(self, attempt: JsonValue = None, *_: object) -> None:
        """From the turn itself, when it lasts long enough to be worth showing."""
        if attempt == self._attempt and self._state is State.QUEUED:
            self._apply(Event.TURN_STARTED)
            self._show()

    @workflow.query
    def state(self) -> str:
        return self._state.value

    async def _come_to(self, interaction_id: int) -> None:
        """As with a restart's notice, a reply may come before the question that a dead worker has published."""
        if not self._has_come_to(interaction_id) and await self._outbox.has_asked(interaction_id):
            await workflow.wait_condition(lambda: self._has_come_to(interaction_id))

    def _has_come_to(self, interaction_id: int) -> bool:
        asked = self._question.interaction_id if self._question else 0
        return self._state in TERMINAL or asked >= interaction_id

    def _open_question(self) -> OpenQuestion | None:
        return self._question if self._state is State.WAITING_USER else None

    def _repeats_last(self, reply: Reply) -> bool:
        last = self._last_receipt
        return last is not None and (last.interaction_id, last.reply_id) == (reply.interaction_id, reply.reply_id)

    async def _accept(self, reply: Reply) -> Receipt:
        # No await before this line: of replies that race, the first one here flips the state, and the rest see it.
        self._apply(Event.REPLY_ACCEPTED)
        accepted = ReplyAccepted(
            interaction_id=reply.interaction_id,
            accepted_at=iso(workflow.now()),
            reply_id=reply.reply_id,
            response=reply.response,
        )
        self._last_receipt = Receipt.of(self._run_id, accepted)
        committed = await self._resolve(accepted)
        if committed is None:
            raise refusal(NotWaiting("The run was canceled."))
        if not isinstance(committed, ReplyAccepted) or committed.reply_id != reply.reply_id:
            receipt = committed.model_dump(mode="json", exclude={"response"})
            raise refusal(AlreadyAnswered(f"Question {reply.interaction_id} is already answered.", receipt=receipt))
        return Receipt.of(self._run_id, committed)

    async def _resolve(self, resolution: Resolution) -> Resolution | None:
        """Publishes how the question was resolved.

        What was published stands. It differs from what was asked for only when a worker died between publishing and
        telling Temporal, and its successor met the same messages in another order.
        """
        # Before anything is awaited: no turn may start before its reply is in the log.
        self._resolving = True
        if self._publishing:
            await workflow.wait_condition(lambda: not self._publishing)
        self._publishing = True
        resolved = await self._outbox.resolve(resolution)
        committed = resolved.resolution
        self._starts_at_once = resolved.next_turn_starts_at_once
        self._publishing = self._resolving = False
        if committed is None:
            self._canceling = True
        if isinstance(committed, ReplyAccepted):
            self._last_receipt = Receipt.of(self._run_id, committed)
        elif self._last_receipt is not None and self._last_receipt.interaction_id == resolution.interaction_id:
            self._last_receipt = None  # it was too late
        return committed

    def _is_busy(self) -> bool:
        """Whether the log is behind what the workflow knows."""
        return self._publishing or self._resolving

    async def _until_published(self) -> None:
        await uninterrupted(workflow.wait_condition(lambda: not self._is_busy()), self._remember_cancel)

    # Ends

    def _remember_cancel(self) -> None:
        self._canceling = True

    def _ending_of(self, error: ActivityError) -> TurnEnding:
        """What a turn that could not report its own ending came to."""
        if self._canceling:
            return Canceled()
        # One that may not start, because the store is past it, has been interrupted, too.
        message = error.cause.message if isinstance(error.cause, ApplicationError) else "The worker is gone."
        return Interrupted(error=ErrorInfo(code=errors.ORCHESTRATOR_RESTART_INTERRUPTED, message=message))

    def _show(self) -> None:
        self._visibility.show(self._state, self._attempt, self._question)

    def _result(self) -> RunResult:
        """Ends the workflow as the run ended, so that Temporal shows it Completed, Failed or Canceled."""
        if self._state is State.CANCELED:
            raise asyncio.CancelledError(Canceled().message)
        if self._error is not None:
            raise ApplicationError(self._error.message, type=self._error.code, non_retryable=True)
        return RunResult(
            run_id=self._run_id,
            state=self._state,
            attempts=self._attempt,
            message_id=self._message_id,
            output=self._output,
        )

    async def _continue_as_new(self, request: JsonValue) -> None:
        await uninterrupted(workflow.wait_condition(workflow.all_handlers_finished), self._remember_cancel)
        if self._canceling:
            return
        carried = Carried(
            state=self._state,
            attempt=self._attempt,
            question=self._question,
            deadline_reported=self._deadline_reported,
            last_receipt=self._last_receipt,
            refused_signals=self._refused_signals,
            redrives=self._redrives,
            last_restart=self._last_restart,
        )
        workflow.continue_as_new(args=[request, carried.model_dump(mode="json")])


def _is_long() -> bool:
    return workflow.info().is_continue_as_new_suggested()


async def _stop(turn: workflow.ActivityHandle[TurnResult]) -> None:
    """Once all that arrived with the cancel is taken in: to cancel a turn that has just ended would lose its ending."""
    await workflow.wait_condition(lambda: True)
    turn.cancel()
