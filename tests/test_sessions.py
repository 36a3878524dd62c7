"""Sessions over long times and bad ones: restarts, thousands of entries, histories that continue as new, races."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from tests.worker_process import workers
from tests.world import World, start_world, until, until_asked, until_state
from turnwise.client import AgentSession, PromptAlreadyRunning, SessionClosed
from turnwise.errors import QueueFull
from turnwise.fcmp.events import FcmpEvent
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.sessions import MAX_QUEUED, ItemStatus, MessageEntry, StreamingBehavior
from turnwise.statechart import State
from turnwise.store.records import StoredEvent

SLOW: JsonObject = {"turns": [[{"say": "I am at it."}, {"sleep": 3600}]]}
ASKS: JsonObject = {"turns": [[{"ask": {"kind": "confirm", "prompt": "Go on?"}}], [{"final": "Gone on."}]]}
SHORT: JsonObject = {"turns": [[{"final": "done"}]]}


async def whole_stream(session: AgentSession) -> list[FcmpEvent]:
    """Of a closed session: every event, in one order without a gap, each run's part as its own log has it."""
    events = [
        FcmpEvent.model_validate_json(frame.body) async for frame in session.frames() if isinstance(frame, StoredEvent)
    ]
    assert [event.meta.session_seq for event in events] == list(range(1, len(events) + 1))
    for run_id in {event.run_id for event in events}:
        assert violations([event for event in events if event.run_id == run_id]) == []
    return events


async def prompts(session: AgentSession) -> list[str]:
    return [message.text for message in await session.forkable_user_messages()]


async def idle(session: AgentSession) -> None:
    await until(session.view, lambda view: view.active_run_id is None and view.pending_messages == 0)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_a_queue_outlives_the_worker_that_dies_in_the_middle_of_it(
    temporal: Client, request: pytest.FixtureRequest, tmp_path: Path, database: str
) -> None:
    sqlite = f"sqlite:///{tmp_path / 'turnwise.db'}"
    url = sqlite if database == "sqlite" else str(request.getfixturevalue("postgres_url"))
    async with start_world(temporal, url, with_worker=False) as world, workers(world, url) as crew:
        first = await crew.start()
        session = await world.turnwise.create_session(engine_options=SHORT)
        await session.register("text.count")
        await session.prompt("before")
        await session.submit("asking", engine_options=ASKS)
        run = await session.active_run()
        assert run is not None
        await until_asked(run)
        for number in range(3):
            await session.follow_up(f"queued {number}")
        transcript = await session.transcript()
        await first.kill()
        await crew.start()
        assert [item.text_preview for item in await session.pending_messages()] == ["queued 0", "queued 1", "queued 2"]
        await until_state(run, State.WAITING_USER)
        await run.reply(1, True)
        await idle(session)
        assert await prompts(session) == ["before", "asking", "queued 0", "queued 1", "queued 2"]
        # The question that a restart publishes again was asked once.
        assert (await session.transcript())[: len(transcript)] == transcript
        assert Counter(item.status for item in await session.pending_messages(include_resolved=True)) == {
            ItemStatus.RESOLVED: 3
        }
        assert await session.active_tool_names() == ["text.count"]
        await session.close()
        await whole_stream(session)


async def test_a_turn_that_dies_with_its_worker_fails_its_prompt_and_the_session_lives_on(
    temporal: Client, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'turnwise.db'}"
    async with start_world(temporal, url, with_worker=False) as world, workers(world, url) as crew:
        first = await crew.start()
        session = await world.turnwise.create_session(engine_options=SHORT)
        receipt = await session.submit("slow", engine_options=SLOW)
        run = await session.active_run()
        assert run is not None
        await until_state(run, State.RUNNING)
        await session.follow_up("behind it")
        await first.kill()
        await crew.start()
        result = await session.result(receipt.prompt_id)
        assert result.error is not None
        assert (result.state, result.error.code) == (State.FAILED, "ORCHESTRATOR_RESTART_INTERRUPTED")
        (behind,) = await session.pending_messages(include_resolved=True)
        assert behind.status is ItemStatus.FAILED
        assert behind.error is not None
        assert behind.error.code == "ORCHESTRATOR_RESTART_INTERRUPTED"
        assert (await session.prompt("again")).text == "done"


async def test_a_session_that_has_grown_long_continues_as_new_and_loses_nothing(world: World) -> None:
    session = await world.turnwise.create_session(engine_options=SHORT)
    handle = world.temporal.get_workflow_handle(session.id)
    first = (await handle.describe()).run_id
    sent: list[str] = []

    async def send(count: int) -> None:
        for _ in range(count):
            sent.append(f"prompt {len(sent)}")
            await session.follow_up(sent[-1], prompt_id=sent[-1])

    while (await handle.describe()).run_id == first:
        await send(5)
    await send(5)
    await idle(session)
    assert Counter(await prompts(session)) == Counter(sent)
    again = await session.follow_up(sent[0], prompt_id=sent[0])
    assert again.run_id is not None
    await idle(session)
    assert Counter(await prompts(session)) == Counter(sent)
    assert (await session.stats()).user_messages == len(sent)
    await session.close()
    await whole_stream(session)


async def test_of_prompts_that_race_one_is_executed_and_the_others_are_refused(world: World) -> None:
    session = await world.turnwise.create_session(engine_options=ASKS)
    outcomes = await asyncio.gather(*(session.submit(f"racer {n}") for n in range(8)), return_exceptions=True)
    refusals = [each for each in outcomes if isinstance(each, PromptAlreadyRunning)]
    assert len(refusals) == 7
    assert len(await prompts(session)) == 1
    await session.close()


async def test_a_follow_up_of_whoever_has_seen_the_cancel_does_not_fail_with_what_was_canceled(world: World) -> None:
    session = await world.turnwise.create_session(engine_options=SHORT)
    for _ in range(5):
        await session.submit("slow", engine_options=SLOW)
        run = await session.active_run()
        assert run is not None
        await until_state(run, State.RUNNING)
        await session.cancel_active_prompt()
        await until_state(run, State.CANCELED)
        receipt = await session.follow_up("and now?")
        assert (await session.result(receipt.prompt_id)).state is State.SUCCEEDED
    await session.close()


async def test_a_full_queue_takes_no_more(world: World) -> None:
    session = await world.turnwise.create_session(engine_options=SLOW)
    await session.submit("slow")
    for start in range(0, MAX_QUEUED, 10):  # ten at a time is what the server takes
        await asyncio.gather(*(session.follow_up(f"message {n}") for n in range(start, start + 10)))
    with pytest.raises(QueueFull):
        await session.follow_up("one too many")
    assert await session.pending_message_count() == MAX_QUEUED
    await session.close()


async def test_a_session_whose_workflow_somebody_ended_is_closed_for_whoever_comes_next(world: World) -> None:
    session = await world.turnwise.create_session(engine_options=SLOW)
    waiting = asyncio.create_task(session.prompt("slow"))
    await until(session.active_run, lambda run: run is not None)
    await session.follow_up("behind")
    await world.temporal.get_workflow_handle(session.id).terminate()
    with pytest.raises(SessionClosed):
        await session.follow_up("anybody?")
    assert (await session.view()).closed_at is not None
    with pytest.raises(Exception, match="closed"):
        await waiting


async def test_a_session_that_temporal_cancels_is_closed_in_order(world: World) -> None:
    session = await world.turnwise.create_session(engine_options=SLOW)
    await session.submit("slow")
    run = await session.active_run()
    assert run is not None
    await until_state(run, State.RUNNING)
    await session.follow_up("behind")
    await world.temporal.get_workflow_handle(session.id).cancel()
    await until(session.view, lambda view: view.closed_at is not None)
    assert (await run.view()).state is State.CANCELED
    (behind,) = await session.pending_messages(include_resolved=True)
    assert behind.status is ItemStatus.FAILED
    await whole_stream(session)


async def test_a_session_can_be_started_and_prompted_through_plain_temporal(world: World) -> None:
    handle = await world.temporal.start_workflow(
        "SessionWorkflow",
        {"engine_options": SHORT},
        id=f"plain-session-{world.task_queue}",
        task_queue=world.task_queue,
    )
    receipt = await handle.execute_update("prompt", {"text": "hello", "prompt_id": "p1"})
    session = world.turnwise.session(handle.id)
    assert (await session.result("p1")).text == "done"
    assert receipt["session_id"] == handle.id
    await session.close()


async def test_nonsense_through_plain_temporal_fails_and_does_not_hang(world: World) -> None:
    handle = await world.temporal.start_workflow(
        "SessionWorkflow", {"mode": "sideways"}, id=f"bad-session-{world.task_queue}", task_queue=world.task_queue
    )
    with pytest.raises(Exception, match="Workflow execution failed"):
        await handle.result()


async def test_in_the_temporal_ui_a_session_shows_its_runs_as_children(world: World) -> None:
    session = await world.turnwise.create_session(engine_options=SHORT)
    result = await session.prompt("hello there")
    description = await world.temporal.get_workflow_handle(str(result.run_id)).describe()
    assert description.parent_id == session.id
    assert await description.static_summary() == "scripted: hello there"
    about = await world.temporal.get_workflow_handle(session.id).describe()
    assert await about.static_summary() == "scripted session"
    await session.close()


async def test_a_fork_in_the_middle_of_a_tool_call_ends_before_it(world: World) -> None:
    session = await world.turnwise.create_session()
    entries: list[JsonObject] = [
        {"kind": "message", "role": "user", "text": "count"},
        {"kind": "tool_call", "call_id": "1", "name": "text.count", "arguments": {}},
        {"kind": "tool_output", "call_id": "1", "name": "text.count", "status": "completed", "result": 1},
        {"kind": "tool_call", "call_id": "2", "name": "text.count", "arguments": {}},
    ]
    await session.resume(entries)
    fork = await session.fork()
    assert [entry.wire()["kind"] for entry in await fork.transcript()] == ["message", "tool_call", "tool_output"]
    assert (await fork.stats()).tool_calls == 1
    await fork.prompt("and on")
    assert (await fork.stats()).total_entries == 5
    for each in (session, fork):
        await each.close()


async def test_forks_of_forks_share_what_they_have_in_common(world: World) -> None:
    root = await world.turnwise.create_session(engine_options=SHORT)
    await root.prompt("root")
    chain = [root]
    for depth in range(4):
        fork = await chain[-1].fork()
        await fork.prompt(f"depth {depth}")
        chain.append(fork)
    assert await prompts(chain[-1]) == ["root", "depth 0", "depth 1", "depth 2", "depth 3"]
    early = await chain[-1].fork((await chain[-1].forkable_user_messages())[2].entry_index)
    assert await prompts(early) == ["root", "depth 0"]
    assert (await early.stats()).total_entries == 4
    for each in [*chain, early]:
        await each.close()


async def test_a_resumed_transcript_leaves_the_forks_of_the_old_one_alone(world: World) -> None:
    session = await world.turnwise.create_session(engine_options=SHORT)
    await session.prompt("old")
    fork = await session.fork()
    await session.resume([{"kind": "message", "role": "user", "text": "new"}])
    assert await prompts(session) == ["new"]
    assert await prompts(fork) == ["old"]
    (entry,) = await session.transcript()
    assert isinstance(entry.entry, MessageEntry)
    for each in (session, fork):
        await each.close()


async def test_no_worker_means_unavailable_and_the_same_prompt_works_later(temporal: Client, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'turnwise.db'}"
    async with start_world(temporal, url, with_worker=False) as world:
        session = await world.turnwise.create_session(engine_options=SHORT)
        assert (await session.view()).active_run_id is None
        sending = asyncio.create_task(
            session.submit("hello", prompt_id="mine", streaming_behavior=StreamingBehavior.FOLLOW_UP)
        )
        async with world.worker():
            await sending
            assert (await session.result("mine")).text == "done"
            with pytest.raises(RPCError):
                await world.temporal.get_workflow_handle("nobody").describe()
            await session.close()
