"""A server that does not have the search attributes of runs gets them from Turnwise itself."""

import asyncio
import uuid
from pathlib import Path

import pytest
from google.protobuf.duration_pb2 import Duration
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from tests.world import ASK_THEN_ANSWER, World, start_world, until, until_asked
from turnwise.converter import data_converter
from turnwise.runtime.worker import ensure_search_attributes
from turnwise.statechart import State
from turnwise.workflows.visibility import RUN_STATE, SESSION_ID

KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
RETENTION = Duration(seconds=86_400)


@pytest.fixture
async def bare(temporal: Client) -> Client:
    """In a namespace of the test's own, which has no search attributes, and of which the server knows that."""
    name = f"bare-{uuid.uuid4()}"
    request = RegisterNamespaceRequest(namespace=name, workflow_execution_retention_period=RETENTION)
    await temporal.workflow_service.register_namespace(request)
    target = temporal.service_client.config.target_host
    client = await Client.connect(target, namespace=name, data_converter=data_converter)
    with pytest.raises(RPCError, match="RunState"):
        await found(client, State.QUEUED)
    return client


async def registered(client: Client) -> dict[str, int]:
    request = ListSearchAttributesRequest(namespace=client.namespace)
    return dict((await client.operator_service.list_search_attributes(request)).custom_attributes)


async def found(client: Client, state: State) -> int:
    """How many runs a person finds who looks for that state."""
    return (await client.count_workflows(f"{RUN_STATE.name} = '{state.value}'")).count


async def is_found_by_its_state(world: World) -> bool:
    run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    await until(lambda: found(world.temporal, State.WAITING_USER), lambda number: number == 1)
    await run.reply(1, "blue")
    assert (await run.wait()).state is State.SUCCEEDED
    await until(lambda: found(world.temporal, State.SUCCEEDED), lambda number: number == 1)
    return await found(world.temporal, State.WAITING_USER) == 0


async def test_what_a_server_lacks_is_registered_and_runs_are_found_by_it(bare: Client, tmp_path: Path) -> None:
    assert RUN_STATE.name not in await registered(bare)
    await ensure_search_attributes(bare)
    assert await registered(bare) == {RUN_STATE.name: KEYWORD, SESSION_ID.name: KEYWORD}
    async with start_world(bare, f"sqlite:///{tmp_path / 'turnwise.db'}") as world:
        assert await is_found_by_its_state(world)


async def test_processes_that_start_in_the_same_moment_register_it_once(bare: Client) -> None:
    await asyncio.gather(*(ensure_search_attributes(bare) for _ in range(4)))
    assert await registered(bare) == {RUN_STATE.name: KEYWORD, SESSION_ID.name: KEYWORD}
    assert await found(bare, State.QUEUED) == 0


async def test_what_is_there_already_stays_as_it_is(bare: Client) -> None:
    others = {"TheirOwn": IndexedValueType.INDEXED_VALUE_TYPE_INT, RUN_STATE.name: KEYWORD}
    add = AddSearchAttributesRequest(namespace=bare.namespace, search_attributes=others)
    await bare.operator_service.add_search_attributes(add)
    await ensure_search_attributes(bare)
    assert await registered(bare) == {**others, SESSION_ID.name: KEYWORD}
