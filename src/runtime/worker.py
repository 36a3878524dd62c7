"""The worker: executes workflows and turns."""

import asyncio
from datetime import timedelta
from importlib.metadata import version

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.common import WorkerDeploymentVersion
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker, WorkerDeploymentConfig

from turnwise.activities import Presence, Publishing, Sessions, Slots, Sweep, Turns
from turnwise.activities.refusals import Refusals
from turnwise.engines import Engines
from turnwise.errors import SetupError
from turnwise.store import Store
from turnwise.tools import Tools, ToolServers
from turnwise.tools.builtin import builtin_tools
from turnwise.workflows import RecoveryWorkflow, RunWorkflow, SessionWorkflow
from turnwise.workflows.visibility import RUN_STATE, SESSION_ID

MAX_TURNS = 100
CACHED_WORKFLOWS = 5000
WORKFLOW_POLLERS = 10
GRACE = timedelta(seconds=10)
# Named by us: the SDK would read the code of every loaded module to make up a name.
BUILD = WorkerDeploymentConfig(WorkerDeploymentVersion("turnwise", version("turnwise")), use_worker_versioning=False)


def build_worker(
    client: Client,
    store: Store,
    engines: Engines,
    *,
    task_queue: str,
    tools: Tools | None = None,
    presence: Presence | None = None,
    max_turns: int = MAX_TURNS,
    grace: timedelta = GRACE,
) -> Worker:
    if presence is None:  # a worker that nobody else needs to know of
        presence = Presence(store, task_queue)
        presence.settled.set()
    tools = tools or Tools(builtin_tools(), ToolServers())
    slots = Slots(max_turns)
    turns = Turns(store, engines, tools, client, presence, slots)
    publishing = Publishing(store, slots)
    sessions = Sessions(store, tools)
    sweep = Sweep(store, engines, client)
    return Worker(
        client,
        task_queue=task_queue,
        workflows=[RunWorkflow, SessionWorkflow, RecoveryWorkflow],
        activities=[
            turns.run_turn,
            publishing.register,
            publishing.resolve,
            publishing.close_turn,
            publishing.cancel_wait,
            publishing.warn,
            publishing.abandon_turn,
            publishing.preserve_wait,
            publishing.reconcile,
            publishing.has_asked,
            sessions.register_session,
            sessions.add_item,
            sessions.end_items,
            sessions.end_lost_items,
            sessions.clear_pending,
            sessions.replace_transcript,
            sessions.close_session,
            sessions.register_tools,
            sweep.check_page,
            sweep.check_sessions,
        ],
        interceptors=[Refusals()],
        deployment_config=BUILD,
        max_cached_workflows=CACHED_WORKFLOWS,
        max_concurrent_activities=max_turns,
        # The SDK's five serve forty runs a second at most, and a task that waits a second loses its cached workflow.
        max_concurrent_workflow_task_polls=WORKFLOW_POLLERS,
        # After a worker is killed, its runs wait this long for it before another takes them.
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=1),
        # How soon a turn learns that it was canceled.
        max_heartbeat_throttle_interval=timedelta(milliseconds=500),
        graceful_shutdown_timeout=grace,
    )


async def ensure_search_attributes(client: Client) -> None:
    """Registers what is missing; a server where we may not is told about in one sentence."""
    wanted = {key.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD for key in (RUN_STATE, SESSION_ID)}
    try:
        present = await client.operator_service.list_search_attributes(
            ListSearchAttributesRequest(namespace=client.namespace)
        )
        missing = {name: kind for name, kind in wanted.items() if name not in present.custom_attributes}
        if missing:
            await client.operator_service.add_search_attributes(
                AddSearchAttributesRequest(namespace=client.namespace, search_attributes=missing)
            )
            await _until_usable(client)
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS:  # another process registered them in the same moment
            await _until_usable(client)
            return
        names = ", ".join(wanted)
        raise SetupError(
            f"The search attributes {names} (Keyword) could not be registered in namespace "
            f"'{client.namespace}': {error.message}."
        ) from error


async def _until_usable(client: Client) -> None:
    """A server caches its search attributes: new ones are refused for about a second."""
    for _ in range(100):
        try:
            await client.count_workflows(f"{RUN_STATE.name} = 'queued' AND {SESSION_ID.name} = ''")
            return
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT:
                raise
            await asyncio.sleep(0.1)
