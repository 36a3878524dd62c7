"""Servers that go away and come back: Temporal killed, PostgreSQL stopped, and the runs that were under way."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import psycopg
import pytest
from sqlalchemy import Connection, text
from temporalio.client import Client

from tests.ports import free_port
from tests.postgres import postgres
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
from turnwise.store.database import Database
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Snapshot
from turnwise.workflows.replies import Receipt

PROMPT = timedelta(seconds=5)
"""How late a deadline may fire."""
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
    async with interrupted_wait(tmp_path, seconds=2.0, down_until_the_deadline=True) as (run, _):
        assert (await run.wait()).state is State.SUCCEEDED
        log = await run.history()
        assert [event.type for event in log].count(EventType.AUTO_DECIDED) == 1
        assert violations(log) == []


async def test_a_deadline_that_has_not_passed_while_everything_was_down_fires_at_its_own_time(tmp_path: Path) -> None:
    async with interrupted_wait(tmp_path, seconds=10.0, down_until_the_deadline=False) as (run, deadline):
        back = datetime.now(UTC)
        assert (await run.wait()).state is State.SUCCEEDED
        log = await run.history()
        (decided,) = (event for event in log if event.type == EventType.AUTO_DECIDED)
        decided_at = datetime.fromisoformat(str(decided.data["decided_at"]))
        assert deadline <= decided_at <= max(deadline, back) + PROMPT
        assert violations(log) == []


@contextlib.asynccontextmanager
async def interrupted_wait(
    folder: Path, *, seconds: float, down_until_the_deadline: bool
) -> AsyncIterator[tuple[Run, datetime]]:
    """A run with a deadline during whose wait the server and the worker were stopped, and started again."""
    options = ServerOptions(free_port(), free_port(), folder)
    url = f"sqlite:///{folder / 'turnwise.db'}"
    async with embedded_temporal(options):
        client = await connect_temporal(Settings(temporal_port=options.port))
        async with start_world(client, url) as world:
            run = await world.turnwise.start(
                engine_options=ASK_THEN_ANSWER, interactive_require_user_reply=False, session_timeout_sec=seconds
            )
            asked = await until_asked(run)
    deadline = datetime.fromisoformat(str(asked.data["deadline"]))
    if down_until_the_deadline:
        await asyncio.sleep((deadline - datetime.now(UTC)).total_seconds())
    async with embedded_temporal(options):
        client = await connect_temporal(Settings(temporal_port=options.port))
        async with start_world(client, url, task_queue=world.task_queue) as again:
            yield again.turnwise.run(run.id), deadline


async def test_runs_go_on_when_postgresql_is_stopped_and_started(temporal: Client, scratch: Path) -> None:
    with postgres(scratch / "mortal-postgres") as server:
        async with start_world(temporal, server.url) as world:
            working = await world.turnwise.start(engine_options=WORK_THEN_ANSWER)
            waiting = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
            await until_state(working, State.RUNNING)
            await until_asked(waiting)
            watching = await watched(waiting)
            await server.stop()
            with pytest.raises(Unavailable):
                await waiting.view()
            await server.start()
            await replied(waiting)
            assert (await waiting.wait()).state is State.SUCCEEDED
            assert (await working.wait()).state is State.SUCCEEDED
            assert await watching == list(range(1, 11))
            for run in (working, waiting):
                assert violations(await run.history()) == []


async def test_a_transaction_that_was_paused_for_too_long_is_told_to_come_again(postgres_url: str) -> None:
    database = Database(postgres_url)

    def paused(connection: Connection) -> None:
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 10"))
        backend = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with psycopg.connect(postgres_url, autocommit=True) as other:
            while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [backend]).fetchone():
                pass
        connection.execute(text("SELECT 1"))

    with pytest.raises(Unavailable, match="idle-in-transaction"):
        await database.write(paused)
    assert await database.read(lambda connection: connection.execute(text("SELECT 1")).scalar()) == 1
    await database.close()
