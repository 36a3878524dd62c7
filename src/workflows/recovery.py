"""The sweep after a restart: one at a time, page by page, its progress visible in the Temporal UI."""

from datetime import timedelta
from enum import StrEnum

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from turnwise.activities.sweep import PageReport, PageRequest, Restart, Sweep

PAGE_TIMEOUT = timedelta(minutes=5)
HEARTBEAT_TIMEOUT = timedelta(seconds=10)
"""A page that a paused worker has taken is given to another one after this."""


class Stage(StrEnum):
    """What is being looked through."""

    RUNS = "runs"
    SESSIONS = "sessions"
    DONE = "done"


class Progress(BaseModel):
    stage: Stage = Stage.RUNS
    checked_to: str = ""
    preserved: int = 0
    failed: int = 0
    orphaned: int = 0


class SweepTask(BaseModel):
    restart: Restart
    progress: Progress = Progress()
    """How far an earlier part of a long sweep has come."""


def recovery_id(task_queue: str) -> str:
    """One sweep for each task queue: a newer restart takes the place of an older one's."""
    return f"turnwise-recovery-{task_queue}"


@workflow.defn(sandboxed=False)
class RecoveryWorkflow:
    @workflow.init
    def __init__(self, task: SweepTask) -> None:
        self._progress = task.progress

    @workflow.run
    async def run(self, task: SweepTask) -> Progress:
        while self._progress.stage is not Stage.DONE:
            report = await self._check_page(task.restart)
            self._take(report)
            self._show(task.restart)
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(SweepTask(restart=task.restart, progress=self._progress))
        return self._progress

    @workflow.query
    def progress(self) -> Progress:
        return self._progress

    async def _check_page(self, restart: Restart) -> PageReport:
        stage = self._progress.stage
        return await workflow.execute_activity_method(
            Sweep.check_page if stage is Stage.RUNS else Sweep.check_sessions,
            PageRequest(restart=restart, after=self._progress.checked_to),
            start_to_close_timeout=PAGE_TIMEOUT,
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
            retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=10)),
            summary=f"{stage.value.capitalize()} after {self._progress.checked_to or 'the beginning'}",
        )

    def _take(self, report: PageReport) -> None:
        self._progress.preserved += report.preserved
        self._progress.failed += report.failed
        self._progress.orphaned += report.orphaned
        if report.last is None:
            self._progress.stage = Stage.SESSIONS if self._progress.stage is Stage.RUNS else Stage.DONE
        self._progress.checked_to = report.last or ""

    def _show(self, restart: Restart) -> None:
        workflow.set_current_details(
            f"Since the restart at {restart.restarted_at}: {self._progress.preserved} waiting runs preserved, "
            f"{self._progress.failed} failed, {self._progress.orphaned} without a workflow."
        )
