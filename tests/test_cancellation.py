"""A cancel that never lies: `canceled` is published when the turn has really stopped, and not before."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError

from tests.halves import with_turn_ended
from tests.world import ASK, ASK_THEN_ANSWER, WAIT_FOREVER, World, start_world, until_asked, until_event, until_state
from turnwise.engines import Engines
from turnwise.engines.protocol import Done, TextDelta, TurnOutput, TurnTools
from turnwise.errors import RunEnded
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.runtime.worker import build_worker
from turnwise.statechart import State
from turnwise.store.records import TurnContext


class SlowToStop:
    """An engine that is busy, hears that it shall stop, and takes its time until the test lets it."""

    name = "slow"

    def __init__(self) -> None:
        self.told = asyncio.Event()
        self.may_stop = asyncio.Event()
        self.finishes_instead = False

    def check_options(self, options: JsonObject) -> None:
        pass

    async def validate_handle(self, handle: JsonValue) -> bool:
        return True

    async def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        yield TextDelta("I was just about to say")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.told.set()
            await self.may_stop.wait()
            if not self.finishes_instead:
                raise
        yield Done()


async def test_a_running_turn_is_canceled_only_when_its_engine_has_stopped(temporal: Client, store_url: str) -> None:
    engine = SlowToStop()
    async with start_world(temporal, store_url, Engines([engine])) as world:
        run = await world.turnwise.start(engine="slow")
        await until_state(run, State.RUNNING)
        await run.cancel()
        await engine.told.wait()
        assert (await run.view()).state is State.RUNNING
        engine.may_stop.set()
        assert (await run.wait()).state is State.CANCELED
        log = await run.history()
        assert violations(log) == []
        assert [(e.type.value, e.data.get("status")) for e in log[2:3]] == [("assistant.message.final", "interrupted")]
        assert log[-2].data["trigger"] == "run.canceled"
        assert log[-1].data["error"] == {"code": "RUN_CANCELED", "message": "The run was canceled."}


async def test_a_turn_that_finishes_while_it_is_told_to_stop_has_finished(temporal: Client, tmp_path: Path) -> None:
    engine = SlowToStop()
    engine.finishes_instead = True
    async with start_world(temporal, f"sqlite:///{tmp_path / 'x.db'}", Engines([engine])) as world:
        run = await world.turnwise.start(engine="slow")
        await until_state(run, State.RUNNING)
        await run.cancel()
        await engine.told.wait()
        engine.may_stop.set()
        assert (await run.wait()).state is State.SUCCEEDED


async def test_a_waiting_run_is_canceled_at_once(fresh_world: World) -> None:
    run = await fresh_world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    await run.cancel()
    view = await run.wait()
    log = await run.history()
    assert (view.state, view.pending) == (State.CANCELED, None)
    assert (log[-2].data["from"], log[-2].data["to"]) == ("waiting_user", "canceled")
    assert violations(log) == []


async def test_a_run_that_waits_for_a_free_slot_is_queued_and_can_be_canceled(temporal: Client, tmp_path: Path) -> None:
    async with start_world(temporal, f"sqlite:///{tmp_path / 'x.db'}", with_worker=False) as world:
        worker = build_worker(temporal, world.store, world.engines, task_queue=world.task_queue, max_turns=1)
        async with worker:
            busy = await world.turnwise.start(engine_options={"turns": [[WAIT_FOREVER]]})
            await until_state(busy, State.RUNNING)
            queued = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
            handle = temporal.get_workflow_handle(queued.id)
            assert await handle.query("state") == "queued"
            assert (await queued.view()).state is State.QUEUED
            await queued.cancel()
            assert (await queued.wait()).state is State.CANCELED
            log = await queued.history()
            assert [event.type.value for event in log] == [
                "conversation.started",
                "conversation.state.changed",
                "conversation.failed",
            ]
            assert log[1].data["from"] == "queued"
            assert await queued.audit() == []
            await busy.cancel()
            await busy.wait()


async def test_a_cancel_from_plain_temporal_is_the_same_cancel(world: World) -> None:
    run = await world.turnwise.start(engine_options={"turns": [[WAIT_FOREVER]]})
    await until_state(run, State.RUNNING)
    handle = world.temporal.get_workflow_handle(run.id)
    await handle.cancel()
    with pytest.raises(WorkflowFailureError):
        await handle.result()
    assert (await handle.describe()).status is WorkflowExecutionStatus.CANCELED
    assert (await run.view()).state is State.CANCELED


async def test_canceling_twice_is_fine_and_canceling_what_has_ended_well_is_refused(world: World) -> None:
    canceled = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(canceled)
    await asyncio.gather(canceled.cancel(), canceled.cancel())
    await canceled.wait()
    assert (await canceled.cancel()).state is State.CANCELED
    done = await world.turnwise.start(engine_options={"turns": [[{"final": "done"}]]})
    await done.wait()
    with pytest.raises(RunEnded, match="succeeded"):
        await done.cancel()


async def test_a_reply_and_a_cancel_at_the_same_moment_leave_one_clean_ending(world: World) -> None:
    for _ in range(5):
        run = await world.turnwise.start(engine_options={"turns": [[ASK], [WAIT_FOREVER]]})
        await until_asked(run)
        await asyncio.gather(run.reply(1, "blue"), run.cancel(), return_exceptions=True)
        assert (await run.wait()).state is State.CANCELED
        assert violations(await run.history()) == []
        with pytest.raises(AssertionError):
            await until_event(run, EventType.COMPLETED)


async def test_a_turn_that_ends_in_the_very_moment_of_the_cancel_has_ended_by_itself(
    temporal: Client, tmp_path: Path
) -> None:
    async with start_world(temporal, f"sqlite:///{tmp_path / 'turnwise.db'}", with_worker=False) as world:
        run = await world.turnwise.start(engine_options={"turns": [[{"final": "done"}]]})
        handle = temporal.get_workflow_handle(run.id)
        await with_turn_ended(world, run, before_it_ends=run.cancel)
        async with world.worker():
            assert (await run.wait()).state is State.SUCCEEDED
            await handle.result()
        assert violations(await run.history()) == []
