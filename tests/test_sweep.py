"""The sweep after a restart, page by page: where it stands is shown, and where a page ended the next one begins."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.client import Client, WorkflowHandle

from tests.conftest import HISTORY_LIMIT
from tests.stored_runs import StoredRun
from tests.world import World, start_world, until_asked, until_event
from turnwise.activities import Sweep
from turnwise.client import Run
from turnwise.engines import Engines
from turnwise.engines.protocol import Ask, TurnOutput, TurnTools
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject, iso
from turnwise.fcmp.questions import Kind, Question
from turnwise.runtime.recovery import start_recovery
from turnwise.runtime.worker import build_worker
from turnwise.store.records import TurnContext
from turnwise.workflows.recovery import Progress, RecoveryWorkflow, recovery_id

PAGE = 3
EVENTS_OF_A_PAGE = 6

Sweeping = WorkflowHandle[RecoveryWorkflow, Progress]


class Doorkeeper:
    """An engine that asks, and that lets the sweep look at as many of its runs as the test says."""

    name = "doorkeeper"

    def __init__(self) -> None:
        self.checked: list[JsonValue] = []
        self.stopped = asyncio.Event()
        self._open = asyncio.Event()
        self._lets_in = 0

    def let_in(self, number: int) -> None:
        self._lets_in = number
        self._open.set()

    def check_options(self, options: JsonObject) -> None:
        pass

    async def validate_handle(self, handle: JsonValue) -> bool:
        if len(self.checked) == self._lets_in:
            self._open.clear()
            self.stopped.set()
            await self._open.wait()
        self.checked.append(handle)
        return True

    async def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        yield Ask(Question(kind=Kind.OPEN_TEXT, prompt="May I?"), handle=turn.run_id)


@pytest.fixture
def engine() -> Doorkeeper:
    return Doorkeeper()


@pytest.fixture
async def idle(
    temporal: Client, tmp_path: Path, engine: Doorkeeper, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[World]:
    """Its workers are the test's."""
    monkeypatch.setattr("turnwise.activities.sweep.PAGE", PAGE)
    url = f"sqlite:///{tmp_path / 'turnwise.db'}"
    async with start_world(temporal, url, Engines([engine]), with_worker=False) as world:
        yield world


async def waiting_runs(world: World, number: int) -> list[Run]:
    """In the order in which the sweep comes to them."""
    runs = [await world.turnwise.start(engine="doorkeeper") for _ in range(number)]
    for run in runs:
        await until_asked(run)
    return sorted(runs, key=lambda run: run.id)


async def restarted(world: World) -> Sweeping:
    await start_recovery(world.temporal, world.task_queue, iso(datetime.now(UTC)))
    return world.temporal.get_workflow_handle_for(RecoveryWorkflow.run, recovery_id(world.task_queue))


async def pages(sweep: Sweeping) -> list[str]:
    """After which run each page of runs began, in the sweep's newest history."""
    scheduled = [event.activity_task_scheduled_event_attributes for event in (await sweep.fetch_history()).events]
    requests = [each.input.payloads[0] for each in scheduled if each.activity_type.name == Sweep.check_page.__name__]
    return [json.loads(request.data)["after"] for request in requests]


async def until_asked_again(run: Run) -> None:
    asked = await until_asked(run)
    await until_event(run, EventType.INPUT_REQUIRED, cursor=asked.seq)


async def test_each_page_begins_where_the_one_before_ended_and_progress_is_shown(
    idle: World, engine: Doorkeeper
) -> None:
    async with idle.worker():
        runs = await waiting_runs(idle, 2 * PAGE + 1)
        engine.let_in(PAGE + 1)
        sweep = await restarted(idle)
        await engine.stopped.wait()
        shown = await sweep.query(RecoveryWorkflow.progress)
        assert (shown.checked_to, shown.preserved) == (runs[PAGE - 1].id, PAGE)
        engine.let_in(len(runs))
        done = await sweep.result()
        assert (done.preserved, done.failed, done.orphaned) == (len(runs), 0, 0)
        assert engine.checked == [run.id for run in runs]
        assert await pages(sweep) == ["", runs[PAGE - 1].id, runs[2 * PAGE - 1].id]
        for run in runs:
            await until_asked_again(run)


async def test_a_sweep_whose_worker_stops_goes_on_in_another_with_the_page_that_it_was_at(
    idle: World, engine: Doorkeeper
) -> None:
    async with build_worker(idle.temporal, idle.store, idle.engines, task_queue=idle.task_queue, grace=timedelta()):
        runs = await waiting_runs(idle, PAGE + 2)
        engine.let_in(PAGE + 1)
        sweep = await restarted(idle)
        await engine.stopped.wait()
    engine.let_in(len(runs) + 1)
    async with idle.worker():
        await sweep.result()
        for run in runs:
            await until_asked_again(run)
    order = [run.id for run in runs]
    before, after = engine.checked[: PAGE + 1], engine.checked[PAGE + 1 :]
    assert before == order[: PAGE + 1]
    # The run before which the worker stopped may have been told by then; a run of an earlier page is not looked at.
    assert after in (order[PAGE:], order[PAGE + 1 :])


async def test_a_sweep_that_becomes_long_begins_a_new_history_and_counts_on(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.activities.sweep.PAGE", 1)
    monkeypatch.setattr("turnwise.activities.sweep.PER_SECOND", 10_000)
    without_workflow = [await StoredRun.running(idle.store) for _ in range(HISTORY_LIMIT // EVENTS_OF_A_PAGE + 5)]
    async with idle.worker():
        sweep = await restarted(idle)
        assert (await sweep.result()).orphaned == len(without_workflow)
    assert 0 < len(await pages(sweep)) < 10
