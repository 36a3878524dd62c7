"""The sweep after a restart: one at a time, page by page, its progress visible in the Temporal UI."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from turnwise.activities.sweep import PageRequest, Restart, Sweep

PAGE_TIMEOUT = timedelta(minutes=5)
HEARTBEAT_TIMEOUT = timedelta(seconds=30)


class Progress(BaseModel):
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
        while True:
            report = await workflow.execute_activity_method(
                Sweep.check_page,
                PageRequest(restart=task.restart, after_run=self._progress.checked_to),
                start_to_close_timeout=PAGE_TIMEOUT,
                heartbeat_timeout=HEARTBEAT_TIMEOUT,
                retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=10)),
                summary=f"Runs after {self._progress.checked_to or 'the beginning'}",
            )
            self._progress.preserved += report.preserved
            self._progress.failed += report.failed
            self._progress.orphaned += report.orphaned
            workflow.set_current_details(
                f"Since the restart at {task.restart.restarted_at}: {self._progress.preserved} waiting runs preserved, "
                f"{self._progress.failed} failed, {self._progress.orphaned} without a workflow."
            )
            if report.last_run is None:
                return self._progress
            self._progress.checked_to = report.last_run
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(SweepTask(restart=task.restart, progress=self._progress))

    @workflow.query
    def progress(self) -> Progress:
        return self._progress
