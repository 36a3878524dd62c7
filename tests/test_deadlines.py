"""Deadlines of days, on a real server that skips time: they fire once, at their own time."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from temporalio.testing import TimeSkippingConfig, WorkflowEnvironment

from tests.world import ASK_THEN_ANSWER, World, start_world, until_asked, until_event
from turnwise.client import Run
from turnwise.converter import data_converter
from turnwise.errors import SESSION_TIMEOUT_ELAPSED
from turnwise.fcmp.events import EventType
from turnwise.fcmp.ordering import violations
from turnwise.runtime.temporal_server import find_binary
from turnwise.statechart import State
from turnwise.workflows.visibility import RUN_STATE, SESSION_ID

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
PROMPT = timedelta(minutes=1)
"""How late a deadline may fire."""


@pytest.fixture(scope="module")
async def clock() -> AsyncIterator[WorkflowEnvironment]:
    """Each run has a clock of its own, which stands as ours until it is put forward."""
    binary = find_binary()
    async with await WorkflowEnvironment.start_time_skipping_v2(
        ts_config=TimeSkippingConfig(enabled=False),
        data_converter=data_converter,
        search_attributes=[RUN_STATE, SESSION_ID],
        dev_server_existing_path=str(binary) if binary else None,
        dev_server_extra_args=["--dynamic-config-value", "frontend.WorkflowTimeSkippingEnabled=true"],
    ) as environment:
        yield environment


@pytest.fixture
async def idle(clock: WorkflowEnvironment, tmp_path: Path) -> AsyncIterator[World]:
    async with start_world(clock.client, f"sqlite:///{tmp_path / 'turnwise.db'}", with_worker=False) as world:
        yield world


async def put_forward(clock: WorkflowEnvironment, run: Run, time: timedelta) -> None:
    await clock.fast_forward(clock.client.get_workflow_handle(run.id), time)


async def lateness(run: Run) -> timedelta:
    """By how much the decision came after the question's deadline."""
    asked, decided = await until_asked(run), await until_event(run, EventType.AUTO_DECIDED)
    return datetime.fromisoformat(str(decided.data["decided_at"])) - datetime.fromisoformat(str(asked.data["deadline"]))


async def warnings(run: Run) -> list[object]:
    return [event.data["code"] for event in await run.history() if event.type == EventType.WARNING]


async def test_a_strict_deadline_is_reported_once_and_the_run_waits_on_for_weeks(
    clock: WorkflowEnvironment, idle: World
) -> None:
    async with idle.worker():
        run = await idle.turnwise.start(engine_options=ASK_THEN_ANSWER, session_timeout_sec=2 * DAY.total_seconds())
        await until_asked(run)
        await put_forward(clock, run, 2 * DAY - HOUR)
        assert await warnings(run) == []
        await put_forward(clock, run, 2 * HOUR)
        await until_event(run, EventType.WARNING)
        await put_forward(clock, run, 30 * DAY)
        assert await warnings(run) == [SESSION_TIMEOUT_ELAPSED]
        assert (await run.view()).state is State.WAITING_USER
        await run.reply(1, "blue")
        assert (await run.wait()).state is State.SUCCEEDED
        assert violations(await run.history()) == []


async def test_without_strictness_the_run_decides_at_its_deadline_and_not_before(
    clock: WorkflowEnvironment, idle: World
) -> None:
    async with idle.worker():
        run = await idle.turnwise.start(
            engine_options=ASK_THEN_ANSWER,
            interactive_require_user_reply=False,
            session_timeout_sec=3 * DAY.total_seconds(),
        )
        await until_asked(run)
        await put_forward(clock, run, 3 * DAY - HOUR)
        assert (await run.view()).state is State.WAITING_USER
        await put_forward(clock, run, 2 * HOUR)
        assert (await run.wait()).state is State.SUCCEEDED
        assert timedelta(0) <= await lateness(run) < PROMPT
        assert violations(await run.history()) == []


async def test_a_deadline_that_has_not_passed_while_no_worker_lived_fires_at_its_own_time(
    clock: WorkflowEnvironment, idle: World
) -> None:
    async with idle.worker():
        run = await idle.turnwise.start(
            engine_options=ASK_THEN_ANSWER,
            interactive_require_user_reply=False,
            session_timeout_sec=3 * DAY.total_seconds(),
        )
        await until_asked(run)
    await put_forward(clock, run, 2 * DAY)
    async with idle.worker():
        await put_forward(clock, run, DAY - HOUR)
        assert (await run.view()).state is State.WAITING_USER
        await put_forward(clock, run, 2 * HOUR)
        assert (await run.wait()).state is State.SUCCEEDED
        assert timedelta(0) <= await lateness(run) < PROMPT
        assert violations(await run.history()) == []
