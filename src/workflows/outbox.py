"""What a run writes to the store, as local activities: no workflow task of their own, each safe to repeat."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from turnwise.activities.publishing import (
    AbandonRequest,
    CancelWaitRequest,
    PreserveRequest,
    Publishing,
    QuestionRequest,
    ReconcileRequest,
    Resolved,
    ResolveRequest,
    WarnRequest,
)
from turnwise.cancellation import uninterrupted
from turnwise.fcmp.events import DiagnosticWarning, ErrorInfo
from turnwise.runs import RunInput
from turnwise.store.records import Resolution, TurnClosing
from turnwise.store.registration import Registration

T = TypeVar("T")
P = TypeVar("P")

TIMEOUT = timedelta(seconds=30)
RETRY = RetryPolicy(initial_interval=timedelta(milliseconds=100), maximum_interval=timedelta(seconds=5))
"""What is wrong for good is a refusal, and not tried again."""


class Outbox:
    def __init__(self, run_id: str, on_cancel: Callable[[], None]) -> None:
        self._run_id = run_id
        self._on_cancel = on_cancel

    async def register(self, run_input: RunInput) -> None:
        try:
            await self._done(_local(Publishing.register, self.registration(run_input)))
        except ActivityError as error:
            raise error.cause or error from error

    def registration(self, run_input: RunInput) -> Registration:
        info = workflow.info()
        return Registration(
            run_id=self._run_id,
            execution_id=info.first_execution_run_id,
            input=run_input,
            task_queue=info.task_queue,
        )

    async def resolve(self, resolution: Resolution) -> Resolved:
        """With what was committed: this resolution, unless an earlier one was, or the run had ended."""
        return await self._done(_local(Publishing.resolve, ResolveRequest(run_id=self._run_id, resolution=resolution)))

    async def close_turn(self, closing: TurnClosing) -> None:
        await self._done(_local(Publishing.close_turn, closing))

    async def cancel_wait(self, message: str) -> None:
        await self._done(_local(Publishing.cancel_wait, CancelWaitRequest(run_id=self._run_id, message=message)))

    async def abandon_turn(self, attempt: int, warning: DiagnosticWarning) -> None:
        request = AbandonRequest(run_id=self._run_id, attempt=attempt, warning=warning)
        await self._done(_local(Publishing.abandon_turn, request))

    async def preserve_wait(self, restart_id: str, interaction_id: int) -> None:
        request = PreserveRequest(run_id=self._run_id, restart_id=restart_id, interaction_id=interaction_id)
        await self._done(_local(Publishing.preserve_wait, request))

    async def reconcile(self, error: ErrorInfo) -> None:
        await self._done(_local(Publishing.reconcile, ReconcileRequest(run_id=self._run_id, error=error)))

    async def warn(self, key: str, warning: DiagnosticWarning) -> None:
        await self._done(_local(Publishing.warn, WarnRequest(run_id=self._run_id, key=key, warning=warning)))

    async def has_asked(self, interaction_id: int) -> bool:
        """Whether that question is published and not answered."""
        request = QuestionRequest(run_id=self._run_id, interaction_id=interaction_id)
        return await self._done(_local(Publishing.has_asked, request))

    async def _done(self, work: Awaitable[T]) -> T:
        return await uninterrupted(work, self._on_cancel)


def _local(method: Callable[[Publishing, P], Awaitable[T]], request: P) -> Awaitable[T]:
    return workflow.execute_local_activity_method(method, request, start_to_close_timeout=TIMEOUT, retry_policy=RETRY)
