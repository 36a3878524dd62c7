"""What `turnwise doctor` finds out about the Temporal server."""

import asyncio
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeTaskQueueRequest,
    GetSystemInfoRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from turnwise.cli.checks import PATIENCE_SEC, Check, Status
from turnwise.connection import connect_temporal
from turnwise.errors import SetupError
from turnwise.settings import Settings
from turnwise.workflows.visibility import RUN_STATE, SESSION_ID

TIMEOUT = timedelta(seconds=PATIENCE_SEC)
STILL_POLLING = timedelta(seconds=90)
"""A worker asks for work at least once a minute; the server remembers those that are gone for longer."""

SERVER, NAMESPACE, ATTRIBUTES, WORKERS = "Temporal server", "Namespace", "Search attributes", "Workers"


async def connected(settings: Settings) -> tuple[Check, Client | None]:
    try:
        async with asyncio.timeout(PATIENCE_SEC):
            client = await connect_temporal(settings)
            system = await client.workflow_service.get_system_info(GetSystemInfoRequest(), timeout=TIMEOUT)
    except (SetupError, TimeoutError, RPCError) as error:
        return _unreachable(settings, error), None
    return Check.ok(SERVER, f"{system.server_version} at {client.service_client.config.target_host}"), client


def _unreachable(settings: Settings, error: Exception) -> Check:
    if settings.external_temporal:
        found = error.message if isinstance(error, SetupError) else "The server of TEMPORAL_ADDRESS does not answer."
        return Check.missing(SERVER, found, "Start that server, or correct TEMPORAL_ADDRESS; unset, one is embedded.")
    return Check.notice(SERVER, f"none at 127.0.0.1:{settings.temporal_port}", "Start everything with `turnwise up`.")


async def on_server(client: Client, settings: Settings) -> list[Check]:
    namespace = await _namespace(client)
    if namespace.status is not Status.OK:
        return [namespace]
    return [namespace, await _search_attributes(client), await _workers(client, settings.task_queue)]


async def _namespace(client: Client) -> Check:
    try:
        request = DescribeNamespaceRequest(namespace=client.namespace)
        await client.workflow_service.describe_namespace(request, timeout=TIMEOUT)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            return _unknown(NAMESPACE, error)
        advice = f"Make it: temporal operator namespace create --namespace {client.namespace}"
        return Check.missing(NAMESPACE, f"'{client.namespace}' does not exist", advice)
    return Check.ok(NAMESPACE, client.namespace)


async def _search_attributes(client: Client) -> Check:
    try:
        present = await client.operator_service.list_search_attributes(
            ListSearchAttributesRequest(namespace=client.namespace), timeout=TIMEOUT
        )
    except RPCError as error:
        return _unknown(ATTRIBUTES, error)
    wanted = [key.name for key in (RUN_STATE, SESSION_ID)]
    missing = [name for name in wanted if name not in present.custom_attributes]
    if missing:
        advice = "They are registered when a worker or an API starts."
        return Check.notice(ATTRIBUTES, f"not registered: {', '.join(missing)}", advice)
    return Check.ok(ATTRIBUTES, ", ".join(wanted))


async def _workers(client: Client, task_queue: str) -> Check:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    try:
        queue = await client.workflow_service.describe_task_queue(request, timeout=TIMEOUT)
    except RPCError as error:
        return _unknown(WORKERS, error)
    now = datetime.now(UTC)
    ages = {each.identity: now - each.last_access_time.ToDatetime(UTC) for each in queue.pollers}
    polling = [identity for identity, age in ages.items() if age < STILL_POLLING]
    if not polling:
        advice = "Runs will wait until one starts: `turnwise worker`, or `turnwise up`."
        return Check.missing(WORKERS, f"none on task queue '{task_queue}'", advice)
    return Check.ok(WORKERS, f"{len(polling)} on task queue '{task_queue}': {', '.join(polling[:5])}")


def _unknown(name: str, error: RPCError) -> Check:
    found = f"the server does not tell ({error.status.name.lower()})"
    return Check.notice(name, found, "Look at the server's log, and at what this client may do there.")
