"""What becomes of runs when workers die, stop, pause and come back: proven by doing it to real processes."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.update.v1 import UpdateRef
from temporalio.api.workflowservice.v1 import PollWorkflowExecutionUpdateRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from tests.halves import with_turn_ended
from tests.stored_runs import open_question
from tests.test_outages import replied
from tests.worker_process import Workers, workers
from tests.world import (
    ANSWER,
    ASK,
    ASK_THEN_ANSWER,
    WAIT_FOREVER,
    World,
    start_world,
    until,
    until_asked,
    until_event,
    until_state,
)
from turnwise.client import Run
from turnwise.errors import Unavailable
from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.statechart import Event, State
from turnwise.store.records import RecoveryState, TurnClosing
from turnwise.workflows.recovery import Progress, recovery_id

NOTICED_WITHIN = timedelta(seconds=5)
SPEAK_AND_WAIT: JsonObject = {"turns": [[{"say": "I am at it."}, WAIT_FOREVER]]}


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'turnwise.db'}"


@pytest.fixture
async def idle(temporal: Client, sqlite_url: str) -> AsyncIterator[World]:
    """A world whose workers the test starts, and ends."""
    async with start_world(temporal, sqlite_url, with_worker=False) as world:
        yield world


@pytest.fixture
async def crew(idle: World, sqlite_url: str) -> AsyncIterator[Workers]:
    async with workers(idle, sqlite_url, grace_sec="0.2") as crew:
        yield crew


def triggers(log: list[FcmpEvent]) -> list[str]:
    return [str(event.data["trigger"]) for event in log if event.type == EventType.STATE_CHANGED]


async def whole(run: Run) -> list[FcmpEvent]:
    """The log, which keeps every rule whatever happened."""
    log = await run.history()
    assert violations(log) == []
    return log


async def sweep(world: World) -> Progress:
    """What the sweep of the restart has done, once it is through."""
    handle: WorkflowHandle[object, Progress] = world.temporal.get_workflow_handle(
        recovery_id(world.task_queue), result_type=Progress
    )

    async def started() -> bool:
        try:
            await handle.describe()
        except RPCError:
            return False
        return True

    await until(started, bool)
    return await handle.result()


async def until_recovered(run: Run) -> None:
    async for event in run.events():
        if event.type == EventType.STATE_CHANGED and str(event.data["trigger"]).startswith("restart."):
            return
    raise AssertionError("the run ended untouched by the restart")


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_a_waiting_run_outlives_its_worker_and_asks_again(
    temporal: Client, request: pytest.FixtureRequest, sqlite_url: str, database: str
) -> None:
    url = sqlite_url if database == "sqlite" else str(request.getfixturevalue("postgres_url"))
    async with start_world(temporal, url, with_worker=False) as world, workers(world, url) as crew:
        first = await crew.start()
        run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
        asked = await until_asked(run)
        await first.kill()
        await crew.start()
        await until_recovered(run)
        view = await run.view()
        assert (view.state, view.recovery_state) == (State.WAITING_USER, RecoveryState.RECOVERED_WAITING)
        assert view.recovered_at is not None
        assert view.recovery_reason
        await run.reply(1, "blue")
        assert (await run.wait()).state is State.SUCCEEDED
        log = await whole(run)
        questions = [event.data for event in log if event.type == EventType.INPUT_REQUIRED]
        assert questions == [asked.data, asked.data]
        assert triggers(log)[2:4] == ["restart.preserve_waiting", "interaction.reply.accepted"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("UPDATE request_interactive_runtime SET session_handle_json = '{}'", "handle"),
        ("DELETE FROM request_interactive_runtime", "handle is lost"),
        ("DELETE FROM interactions", "question"),
    ],
)
async def test_a_waiting_run_that_could_not_go_on_is_failed_honestly(
    idle: World, crew: Workers, tmp_path: Path, damage: str, reason: str
) -> None:
    first = await crew.start()
    run = await idle.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    await first.kill()
    with sqlite3.connect(tmp_path / "turnwise.db") as database:
        database.execute(damage)
    await crew.start()
    view = await run.wait()
    log = await whole(run)
    assert (view.state, view.recovery_state) == (State.FAILED, RecoveryState.FAILED_RECONCILED)
    assert view.error is not None
    assert view.error.code == "SESSION_RESUME_FAILED"
    assert reason in view.error.message
    assert (log[-2].data["from"], log[-2].data["trigger"]) == ("waiting_user", "restart.reconcile_failed")


async def test_a_turn_whose_worker_was_killed_is_failed_by_another_worker(idle: World, crew: Workers) -> None:
    first = await crew.start()
    run = await idle.turnwise.start(engine_options=SPEAK_AND_WAIT)
    await until_state(run, State.RUNNING)
    await crew.start()
    killed_at = datetime.now(UTC)
    await first.kill()
    view = await run.wait()
    log = await whole(run)
    assert datetime.fromisoformat(str(log[-2].data["updated_at"])) - killed_at < NOTICED_WITHIN
    assert view.error is not None
    assert (view.state, view.error.code) == (State.FAILED, "ORCHESTRATOR_RESTART_INTERRUPTED")
    assert (log[-2].data["from"], log[-2].data["trigger"]) == ("running", "restart.reconcile_failed")
    assert log[2].data["text"] == "I am at it."


async def test_a_turn_whose_worker_was_killed_is_failed_when_a_worker_comes_back(idle: World, crew: Workers) -> None:
    first = await crew.start()
    run = await idle.turnwise.start(engine_options=SPEAK_AND_WAIT)
    await until_state(run, State.RUNNING)
    await first.kill()
    await crew.start()
    view = await run.wait()
    assert (view.state, view.recovery_state) == (State.FAILED, RecoveryState.FAILED_RECONCILED)
    await whole(run)


async def test_a_worker_that_stops_in_order_ends_the_turns_that_it_cannot_finish(idle: World, crew: Workers) -> None:
    first = await crew.start()
    run = await idle.turnwise.start(engine_options=SPEAK_AND_WAIT)
    await until_state(run, State.RUNNING)
    await crew.start()
    await first.stop()
    view = await run.wait()
    assert view.error is not None
    assert (view.state, view.error.code) == (State.FAILED, "ORCHESTRATOR_RESTART_INTERRUPTED")
    assert "stopped" in view.error.message
    await whole(run)


async def test_an_interrupted_turn_is_run_again_when_the_setting_says_so(idle: World, sqlite_url: str) -> None:
    script: JsonObject = {"turns": [[{"say": "Trying."}, {"sleep": 1.5}, {"final": "Done at last."}]]}
    async with workers(idle, sqlite_url, recovery="redrive") as crew:
        first = await crew.start()
        run = await idle.turnwise.start(engine_options=script)
        await until_state(run, State.RUNNING)
        await first.kill()
        await crew.start()
        view = await run.wait()
        log = await whole(run)
        assert (view.state, view.attempt) == (State.SUCCEEDED, 2)
        assert [event.data["code"] for event in log if event.type == EventType.WARNING] == ["TURN_REDRIVEN"]
        assert triggers(log) == ["turn.started", "turn.succeeded"]
        turns = [(record.event, record.attempt) for record in await run.audit() if record.source == "orchestrator"]
        assert turns == [
            ("agent.turn_start", 1),
            ("agent.turn_complete", 1),
            ("agent.turn_start", 2),
            ("agent.turn_complete", 2),
        ]


@pytest.mark.parametrize(("recovery", "end"), [("reconcile", State.FAILED), ("redrive", State.SUCCEEDED)])
async def test_a_run_that_was_queued_when_the_orchestrator_went_down(
    idle: World, sqlite_url: str, recovery: str, end: State
) -> None:
    async with workers(idle, sqlite_url, recovery=recovery) as crew:
        first = await crew.start()
        await first.kill()
        run = await idle.turnwise.start(engine_options={"turns": [[{"final": "done"}]]})
        await crew.start()
        view = await run.wait()
        log = await whole(run)
        assert view.state is end
        if recovery == "reconcile":
            assert (log[-2].data["from"], log[-2].data["trigger"]) == ("queued", "restart.reconcile_failed")
            assert view.recovery_state is RecoveryState.FAILED_RECONCILED


async def test_a_rolling_deployment_and_the_very_first_start_touch_nothing(idle: World, crew: Workers) -> None:
    queued = await idle.turnwise.start(engine_options={"turns": [[{"final": "done"}]]})
    first = await crew.start()
    assert (await queued.wait()).state is State.SUCCEEDED
    run = await idle.turnwise.start(engine_options={"turns": [[ASK], [ANSWER]]})
    await until_asked(run)
    before = await run.history()
    await crew.start()
    await first.stop()
    await crew.start()
    assert await run.history() == before
    assert (await run.view()).recovery_state is RecoveryState.NONE
    await run.reply(1, "blue")
    assert (await run.wait()).state is State.SUCCEEDED


async def test_a_worker_that_was_paused_and_declared_dead_writes_nothing_afterwards(idle: World, crew: Workers) -> None:
    script: JsonObject = {"turns": [[{"say": "Before."}, {"sleep": 1.5}, {"say": "After."}, {"final": "Too late."}]]}
    sleepy = await crew.start()
    run = await idle.turnwise.start(engine_options=script)
    # Paused between two writes: in the middle of one it would hold the lock of the SQLite file.
    await until_event(run, EventType.MESSAGE_FINAL)
    sleepy.pause()
    await crew.start()
    assert (await run.wait()).state is State.FAILED
    log = await whole(run)
    sleepy.resume()
    canary = await idle.turnwise.start(engine_options={"turns": [[{"final": "alive"}]]})
    await canary.wait()
    await sleepy.stop()
    assert await run.history() == log
    assert "After." not in [event.data.get("text") for event in log]


async def test_a_process_that_holds_the_lock_of_the_sqlite_file_holds_others_up_and_nobody_is_declared_dead(
    idle: World, crew: Workers, tmp_path: Path
) -> None:
    """As one does that is paused in the middle of a transaction: only it, or its death, can give the lock up."""
    await crew.start()
    working = await idle.turnwise.start(engine_options={"turns": [[{"say": "At work."}, {"sleep": 3}, ANSWER]]})
    waiting = await idle.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(waiting)
    await until_event(working, EventType.MESSAGE_FINAL)
    with contextlib.closing(sqlite3.connect(tmp_path / "turnwise.db", isolation_level=None)) as paused:

        async def joined() -> int:
            return int(paused.execute("SELECT count(*) FROM workers").fetchone()[0])

        joining = asyncio.create_task(crew.start())
        await until(joined, lambda number: number == 2)
        paused.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable):
            await waiting.reply(1, "blue", reply_id="mine")
        paused.execute("ROLLBACK")
    await joining
    await replied(waiting)
    for run in (working, waiting):
        assert (await run.wait()).state is State.SUCCEEDED
        assert not any(trigger.startswith("restart.") for trigger in triggers(await whole(run)))


async def test_a_run_whose_workflow_is_gone_is_failed_at_the_next_restart(idle: World, crew: Workers) -> None:
    first = await crew.start()
    waiting = await idle.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(waiting)
    await first.kill()
    await idle.temporal.get_workflow_handle(waiting.id).terminate()
    await crew.start()
    assert (await waiting.wait()).state is State.FAILED
    await whole(waiting)


async def test_the_sweep_tells_what_it_did_and_leaves_ended_and_new_runs_alone(idle: World, crew: Workers) -> None:
    first = await crew.start()
    waiting = [await idle.turnwise.start(engine_options=ASK_THEN_ANSWER) for _ in range(5)]
    for run in waiting:
        await until_asked(run)
    ended = await idle.turnwise.start(engine_options={"turns": [[{"final": "done"}]]})
    await ended.wait()
    before = await ended.history()
    await first.kill()
    await crew.start()
    progress = await sweep(idle)
    assert (progress.preserved, progress.failed, progress.orphaned) == (5, 0, 0)
    for run in waiting:
        await until_recovered(run)
        assert triggers(await whole(run)).count("restart.preserve_waiting") == 1
    assert await ended.history() == before


async def test_of_workers_that_start_in_the_same_moment_only_one_sweeps(idle: World, crew: Workers) -> None:
    first = await crew.start()
    run = await idle.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    await first.kill()
    await asyncio.gather(crew.start(), crew.start(), crew.start())
    assert (await sweep(idle)).preserved == 1
    await until_recovered(run)
    await run.reply(1, "blue")
    assert (await run.wait()).state is State.SUCCEEDED
    assert triggers(await whole(run)).count("restart.preserve_waiting") == 1


async def died_after_asking(world: World, run: Run) -> None:
    """Leaves a run as a worker does that dies after it published the question, and before Temporal knew."""
    await with_turn_ended(world, run)
    closing = TurnClosing(run_id=run.id, attempt=1, event=Event.TURN_NEEDS_INPUT, handle={"next_turn": 1})
    closing.question = open_question()
    await world.store.close_turn(closing)


async def test_a_signal_may_answer_a_question_that_the_workflow_has_yet_to_come_to(idle: World) -> None:
    run = await idle.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await died_after_asking(idle, run)
    reply = {"interaction_id": 1, "response": "blue", "reply_id": "quick"}
    await idle.temporal.get_workflow_handle(run.id).signal("reply", reply)
    async with idle.worker():
        assert (await run.wait()).state is State.SUCCEEDED
    log = await whole(run)
    assert [event.data["reply_id"] for event in log if event.type == EventType.REPLY_ACCEPTED] == ["quick"]
    assert EventType.WARNING not in [event.type for event in log]


async def has_arrived(world: World, run: Run, update_id: str) -> bool:
    """Whether the server has the update, although no worker does."""
    reference = UpdateRef(workflow_execution=WorkflowExecution(workflow_id=run.id), update_id=update_id)
    request = PollWorkflowExecutionUpdateRequest(namespace=world.temporal.namespace, update_ref=reference)
    try:
        await world.temporal.workflow_service.poll_workflow_execution_update(request)
    except RPCError:
        return False
    return True


async def test_a_reply_to_a_question_that_the_workflow_has_yet_to_come_to_is_told_to_come_again(idle: World) -> None:
    run = await idle.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await died_after_asking(idle, run)
    first = asyncio.create_task(run.reply(1, "blue", reply_id="quick"))
    await until(lambda: has_arrived(idle, run, "1:quick"), bool)
    async with idle.worker():
        with pytest.raises(Unavailable, match="still coming"):
            await first
        assert (await run.reply(1, "blue", reply_id="quick")).reply_id == "quick"
        assert (await run.wait()).state is State.SUCCEEDED
    await whole(run)
