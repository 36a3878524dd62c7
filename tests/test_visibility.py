"""What the search attribute `RunState` says of a run, for people who look for runs in the Temporal UI."""

import json
from pathlib import Path

from temporalio.api.enums.v1 import EventType as HistoryEvent
from temporalio.client import Client

from tests.world import ASK_THEN_ANSWER, WAIT_FOREVER, World, start_world, until, until_asked, until_state
from turnwise.client import Run
from turnwise.runtime.worker import build_worker
from turnwise.statechart import State
from turnwise.workflows.visibility import RUN_STATE


async def test_a_run_that_waits_for_a_slot_after_its_reply_is_listed_as_queued(
    temporal: Client, tmp_path: Path
) -> None:
    async with start_world(temporal, f"sqlite:///{tmp_path / 'x.db'}", with_worker=False) as world:
        worker = build_worker(temporal, world.store, world.engines, task_queue=world.task_queue, max_turns=1)
        async with worker:
            run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
            await until_asked(run)
            busy = await world.turnwise.start(engine_options={"turns": [[WAIT_FOREVER]]})
            await until_state(busy, State.RUNNING)
            await run.reply(1, "blue")
            assert await _listed(world, run, "queued")
            await busy.cancel()
            assert (await run.wait()).state is State.SUCCEEDED
            assert await _listed(world, run, "succeeded")


async def test_a_state_that_is_over_before_a_list_could_show_it_is_not_told_to_the_list(world: World) -> None:
    run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    assert await _listed(world, run, "waiting_user")
    await run.reply(1, "blue")
    handle = world.temporal.get_workflow_handle(run.id)
    await handle.result()
    history = await handle.fetch_history()
    told = [
        json.loads(
            event.upsert_workflow_search_attributes_event_attributes.search_attributes.indexed_fields["RunState"].data
        )
        for event in history.events
        if event.event_type == HistoryEvent.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES
    ]
    assert "queued" not in told
    assert (told[0], told[-1]) == ("waiting_user", "succeeded")


async def _listed(world: World, run: Run, state: str) -> bool:
    handle = world.temporal.get_workflow_handle(run.id)
    await until(handle.describe, lambda described: described.typed_search_attributes.get(RUN_STATE) == state)
    return True
