"""A worker that was paused, taken for dead, and lives: who starts beside it has not restarted anything."""

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from temporalio.client import Client

from tests.worker_process import workers
from tests.world import ASK_THEN_ANSWER, World, start_world, until, until_asked
from turnwise.activities import Presence
from turnwise.fcmp.ordering import violations
from turnwise.runtime.recovery import start_recovery
from turnwise.runtime.worker import build_worker
from turnwise.statechart import State


@contextlib.asynccontextmanager
async def another_worker(world: World) -> AsyncIterator[Presence]:
    """In this process; it knows already whether its start is a restart."""
    presence = Presence(world.store, world.task_queue)
    worker = build_worker(world.temporal, world.store, world.engines, task_queue=world.task_queue, presence=presence)
    async with presence.shown(partial(start_recovery, world.temporal, world.task_queue)), worker:
        await presence.settled.wait()
        yield presence


async def test_who_starts_beside_a_revived_worker_declares_no_restart_and_waiting_runs_hear_nothing(
    temporal: Client, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'turnwise.db'}"
    async with start_world(temporal, url, with_worker=False) as world, workers(world, url) as crew:
        paused = await crew.start()
        [its_id] = await world.store.serving_workers(world.task_queue)
        paused.pause()
        async with another_worker(world) as second:
            assert second.restarted_at is not None
            assert its_id not in await world.store.serving_workers(world.task_queue)
            paused.resume()
            await until(lambda: world.store.serving_workers(world.task_queue), lambda serving: its_id in serving)
            # Not before: the server would give its tasks to the paused worker, too, and wait for it.
            run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
            await until_asked(run)
            waiting = await run.history()
        async with another_worker(world) as third:
            assert third.restarted_at is None
            await run.reply(1, "blue")
            assert (await run.wait()).state is State.SUCCEEDED
        log = await run.history()
        assert violations(log) == []
        assert [event.data.get("trigger") for event in log[len(waiting) : len(waiting) + 3]] == [
            None,
            "interaction.reply.accepted",
            "turn.started",
        ]
