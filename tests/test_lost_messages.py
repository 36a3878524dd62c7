"""What was stored and had not reached its workflow when worker and server died in the same moment.

Such a moment is a few milliseconds long; here the store is written as the dead worker would have left it.
"""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from tests.stored_runs import reply
from tests.worker_process import workers
from tests.world import ASK_THEN_ANSWER, World, start_world, until, until_asked
from turnwise.client import AgentSession
from turnwise.errors import ORCHESTRATOR_RESTART_INTERRUPTED, SESSION_CLOSED
from turnwise.fcmp.ordering import violations
from turnwise.runs import RunInput
from turnwise.sessions import ItemSource, StreamingBehavior
from turnwise.statechart import State
from turnwise.store.session_items import NewItem

RPC_PATIENCE = timedelta(seconds=10)


async def stored_prompt(world: World, session: AgentSession, prompt_id: str, run_id: str) -> None:
    """As a worker leaves it that dies before Temporal knows of the prompt."""
    announced = RunInput(prompt=prompt_id, session_id=session.id, prompt_id=prompt_id)
    await world.store.sessions.add_item(
        NewItem(
            session_id=session.id,
            prompt_id=prompt_id,
            source=ItemSource.PROMPT,
            text=prompt_id,
            content_ref=None,
            run_id=run_id,
            task_queue=world.task_queue,
            starts=announced,
        )
    )


async def test_a_prompt_that_was_lost_is_executed_when_it_is_sent_again(fresh_world: World) -> None:
    session = await fresh_world.turnwise.create_session()
    await session.prompt("before")
    await stored_prompt(fresh_world, session, "first", f"run-first-{session.id}")
    second = await session.prompt("second", prompt_id="second")
    assert second.text is not None
    assert "second" in second.text
    await session.submit("first", prompt_id="first", streaming_behavior=StreamingBehavior.FOLLOW_UP)
    first = await session.result("first")
    assert first.text is not None
    assert "first" in first.text
    said = [message.text for message in await session.forkable_user_messages()]
    assert sorted(said) == ["before", "first", "second"]
    await session.close()


async def test_a_prompt_that_was_lost_fails_honestly_at_the_restart(temporal: Client, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'turnwise.db'}"
    async with start_world(temporal, url, with_worker=False) as world, workers(world, url) as crew:
        worker = await crew.start()
        session = await world.turnwise.create_session()
        await session.prompt("before")
        await worker.kill()
        run_id = f"run-lost-{session.id}"
        await stored_prompt(world, session, "lost", run_id)
        await crew.start()
        result = await session.result("lost")
        assert result.state is State.FAILED
        assert result.error is not None
        assert result.error.code == ORCHESTRATOR_RESTART_INTERRUPTED
        run = world.turnwise.run(run_id)
        assert (await run.wait()).state is State.FAILED
        log = await run.history()
        assert violations(log) == []
        assert (log[-2].data["from"], log[-2].data["trigger"]) == ("queued", "restart.reconcile_failed")
        assert (await session.prompt("after")).state is State.SUCCEEDED
        await session.close()


async def test_a_reply_that_was_published_counts_even_if_its_workflow_never_heard_of_it(
    temporal: Client, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'turnwise.db'}"
    async with (
        start_world(temporal, url, with_worker=False) as world,
        workers(world, url, recovery="redrive") as crew,
    ):
        worker = await crew.start()
        run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
        await until_asked(run)
        await worker.kill()
        await world.store.resolve(run.id, reply(response="blue", reply_id="lost"))
        await crew.start()
        view = await run.wait()
        log = await run.history()
        assert view.state is State.SUCCEEDED
        assert violations(log) == []
        assert [event.data["reply_id"] for event in log if event.type == "interaction.reply.accepted"] == ["lost"]
        assert log[-3].data["text"] == "It is blue."


async def test_a_run_that_was_announced_ends_with_its_session(fresh_world: World) -> None:
    session = await fresh_world.turnwise.create_session()
    await session.prompt("before")
    run_id = f"run-announced-{session.id}"
    await stored_prompt(fresh_world, session, "announced", run_id)
    await session.close()
    run = fresh_world.turnwise.run(run_id)
    assert (await run.wait()).state is State.CANCELED
    assert violations(await run.history()) == []
    result = await session.result("announced")
    assert (result.state, result.error and result.error.code) == (State.CANCELED, SESSION_CLOSED)


async def test_a_prompt_and_a_close_in_the_same_moment_leave_nothing_behind(world: World) -> None:
    for _ in range(5):
        session = await world.turnwise.create_session()
        await asyncio.gather(session.submit("hi"), session.close(), return_exceptions=True)
        await until(session.view, lambda view: view.closed_at is not None)
        runs = [run for run in (await world.turnwise.runs(limit=200)).runs if run.session_id == session.id]
        for run in runs:
            assert (await world.turnwise.run(run.run_id).wait()).ended_at is not None


@pytest.mark.parametrize(
    ("update", "request_"),
    [("prompt", {"text": "x", "prompt_id": "bad", "content_ref": "nowhere"}), ("resume", "nowhere")],
)
async def test_an_update_that_refers_to_nothing_is_refused_and_the_session_lives_on(
    world: World, update: str, request_: object
) -> None:
    session = await world.turnwise.create_session()
    handle = world.temporal.get_workflow_handle(session.id)
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await handle.execute_update(update, request_, rpc_timeout=RPC_PATIENCE)
    assert isinstance(refused.value.cause, ApplicationError)
    assert refused.value.cause.type == "RUN_INPUT_INVALID"
    assert (await session.prompt("Hello")).state is State.SUCCEEDED
    await session.close()
