"""Starting the sweep that a restart calls for."""

import asyncio
import uuid

import structlog
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError

from turnwise.activities.sweep import Restart
from turnwise.workflows.recovery import RecoveryWorkflow, SweepTask, recovery_id

RETRY_SEC = 1.0

log = structlog.get_logger()


async def start_recovery(client: Client, task_queue: str, restarted_at: str) -> None:
    task = SweepTask(restart=Restart(restart_id=uuid.uuid4().hex, restarted_at=restarted_at))
    while True:
        try:
            await client.start_workflow(
                RecoveryWorkflow.run,
                task,
                id=recovery_id(task_queue),
                task_queue=task_queue,
                id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING,
                static_summary=f"Runs that the restart at {restarted_at} found unfinished",
            )
            return
        except RPCError as error:
            log.warning("recovery.not_started", reason=error.message)
            await asyncio.sleep(RETRY_SEC)
