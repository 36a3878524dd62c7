"""The bare side: client and worker of the hand-written workflow."""

import asyncio
import uuid
from datetime import timedelta

from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Worker

from bench import moments
from bench.bare_workflow import BareWorkflow, take_turn
from bench.sides import ANSWER

TASK_QUEUE = "bench-bare"
# Turnwise's own limits, so that neither side has more room. Written out: a bare worker's process must hold nothing of
# Turnwise, or its memory would be no yardstick.
MAX_ACTIVITIES = 100
CACHED_WORKFLOWS = 5000
WORKFLOW_POLLERS = 10
STICKY_TIMEOUT = timedelta(seconds=1)


def bare_worker(temporal: Client) -> Worker:
    return Worker(
        temporal,
        task_queue=TASK_QUEUE,
        workflows=[BareWorkflow],
        activities=[take_turn],
        max_cached_workflows=CACHED_WORKFLOWS,
        max_concurrent_activities=MAX_ACTIVITIES,
        max_concurrent_workflow_task_polls=WORKFLOW_POLLERS,
        sticky_queue_schedule_to_start_timeout=STICKY_TIMEOUT,
    )


class BareRun:
    def __init__(self, handle: WorkflowHandle[BareWorkflow, str], asked: asyncio.Future[None]) -> None:
        self.id = handle.id
        self._handle = handle
        self._asked = asked

    async def until_asked(self) -> None:
        await self._asked

    async def reply_until_completed(self) -> None:
        await self._handle.execute_update(BareWorkflow.reply, ANSWER)
        await self._handle.result()


class Bare:
    name = "bare"

    def __init__(self, temporal: Client) -> None:
        self.temporal = temporal
        self._loop = asyncio.get_running_loop()
        self._asked: dict[str, asyncio.Future[None]] = {}
        moments.listen(self._on_asked)

    async def start(self) -> BareRun:
        run_id = f"bare-{uuid.uuid4()}"
        asked = self._asked[run_id] = self._loop.create_future()
        handle = await self.temporal.start_workflow(BareWorkflow.run, id=run_id, task_queue=TASK_QUEUE)
        return BareRun(handle, asked)

    def _on_asked(self, run_id: str) -> None:
        self._loop.call_soon_threadsafe(self._resolve, run_id)

    def _resolve(self, run_id: str) -> None:
        if asked := self._asked.pop(run_id, None):
            asked.set_result(None)
