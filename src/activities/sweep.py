"""After a restart: looks at every run that had not ended, and tells the waiting ones how they stand."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

import orjson
from pydantic import BaseModel
from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from turnwise import errors
from turnwise.engines import Engines
from turnwise.errors import EngineUnknown
from turnwise.fcmp.events import ErrorInfo, ReplyAccepted
from turnwise.statechart import State
from turnwise.store import Store
from turnwise.store.restarts import Unsettled

T = TypeVar("T")

PAGE = 100
PER_SECOND = 100
"""Live runs come first: this many runs are checked a second, no more."""
LONGEST_REST_SEC = 1.0
REST = 5
"""… and fewer when the server is busy: after each check a rest of so many times what it took."""


class Restart(BaseModel):
    restart_id: str
    restarted_at: str


class PageRequest(BaseModel):
    restart: Restart
    after: str
    """The id of the last run or session of the page before."""


class PageReport(BaseModel):
    preserved: int = 0
    failed: int = 0
    orphaned: int = 0
    """Runs whose workflow is gone: nobody would ever have ended them."""
    last: str | None = None
    """None when there is no further page."""


class RestartNotice(BaseModel):
    """What a waiting run is told."""

    restart_id: str
    interaction_id: int
    problem: str | None
    """Why the run cannot go on waiting; None when it can."""


class Sweep:
    def __init__(self, store: Store, engines: Engines, client: Client) -> None:
        self._store = store
        self._engines = engines
        self._client = client

    @activity.defn
    async def check_page(self, request: PageRequest) -> PageReport:
        report = PageReport()
        task_queue = activity.info().task_queue
        page = await self._store.unsettled(task_queue, request.restart.restarted_at, request.after, PAGE)
        async for run in _unhurried(page):
            activity.heartbeat(run.run_id)
            if run.state is State.WAITING_USER:
                await self._check_waiting(run, request.restart, report)
            elif await self._is_orphan(run):
                await self._fail_orphan(run, report)
            elif run.reply is not None:
                await self._remind(run, run.reply)
        report.last = page[-1].run_id if len(page) == PAGE else None
        return report

    @activity.defn
    async def check_sessions(self, request: PageRequest) -> PageReport:
        """Lets sessions settle what may not have reached their workflows."""
        report = PageReport()
        task_queue = activity.info().task_queue
        page = await self._store.unsure_sessions(task_queue, request.restart.restarted_at, request.after, PAGE)
        async for session_id in _unhurried(page):
            activity.heartbeat(session_id)
            try:
                await self._client.get_workflow_handle(session_id).signal("restarted")
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
                await self._store.sessions.close(session_id)
        report.last = page[-1] if len(page) == PAGE else None
        return report

    async def _remind(self, run: Unsettled, reply: ReplyAccepted) -> None:
        """A reply that was published counts, even if all went down before the workflow could note it."""
        message = {"interaction_id": reply.interaction_id, "response": reply.response, "reply_id": reply.reply_id}
        await self._client.get_workflow_handle(run.run_id).signal("reply", message)

    async def _check_waiting(self, run: Unsettled, restart: Restart, report: PageReport) -> None:
        problem = await self._problem(run)
        notice = RestartNotice(restart_id=restart.restart_id, interaction_id=run.interaction_id or 0, problem=problem)
        try:
            await self._client.get_workflow_handle(run.run_id).signal("restarted", notice)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            await self._fail_orphan(run, report)
            return
        if problem is None:
            report.preserved += 1
        else:
            report.failed += 1

    async def _problem(self, run: Unsettled) -> str | None:
        if not run.question_is_open:
            return "The question that the run waited on is lost."
        if run.handle is None:
            return "The engine's handle is lost."
        try:
            valid = await self._engines[run.engine].validate_handle(orjson.loads(run.handle))
        except (EngineUnknown, orjson.JSONDecodeError) as error:
            return str(error)
        return None if valid else f"The engine '{run.engine}' cannot continue from its handle any more."

    async def _is_orphan(self, run: Unsettled) -> bool:
        try:
            description = await self._client.get_workflow_handle(run.run_id).describe()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return True
        return description.status is not WorkflowExecutionStatus.RUNNING

    async def _fail_orphan(self, run: Unsettled, report: PageReport) -> None:
        waiting = run.state is State.WAITING_USER
        code = errors.SESSION_RESUME_FAILED if waiting else errors.ORCHESTRATOR_RESTART_INTERRUPTED
        await self._store.reconcile(run.run_id, ErrorInfo(code=code, message="The run's workflow is gone."))
        report.orphaned += 1


async def _unhurried(page: Sequence[T]) -> AsyncIterator[T]:
    for each in page:
        began = time.monotonic()
        yield each
        await asyncio.sleep(max(1 / PER_SECOND, min(LONGEST_REST_SEC, REST * (time.monotonic() - began))))
