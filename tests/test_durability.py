"""What lasts: very long runs, large inputs, absent workers, and the shape of history."""

import asyncio

import pytest
from pydantic import JsonValue
from temporalio.api.enums.v1.event_type_pb2 import (
    EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
    EVENT_TYPE_MARKER_RECORDED,
    EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
    EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
)
from temporalio.client import Client

from tests.world import ANSWER, ASK, ASK_THEN_ANSWER, World, start_world, until_asked
from turnwise.errors import IdempotencyKeyReused, Unavailable
from turnwise.fcmp.events import EventType, Mode
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.statechart import State

MAX_HISTORY_BYTES = 64 * 1024


def asking(questions: int) -> JsonObject:
    turns: list[JsonValue] = [[ASK]] * questions
    return {"turns": [*turns, [ANSWER]]}


async def test_a_very_long_run_continues_as_new_and_loses_nothing(world: World) -> None:
    questions = 60
    run = await world.turnwise.start(engine_options=asking(questions), mode=Mode.AUTO)
    handle = world.temporal.get_workflow_handle(run.id)
    view = await run.wait()
    log = await run.history()
    description = await handle.describe()
    assert view.state is State.SUCCEEDED
    assert description.run_id != description.raw_info.first_run_id
    assert violations(log) == []
    asked = [event.data["interaction_id"] for event in log if event.type == EventType.INPUT_REQUIRED]
    assert asked == list(range(1, questions + 1))
    assert view.auto_decision_count == questions


async def test_a_run_that_continued_as_new_still_takes_replies_and_knows_the_old_ones(world: World) -> None:
    questions = 45
    run = await world.turnwise.start(engine_options=asking(questions))
    for number in range(1, questions + 1):
        await until_asked(run, number)
        await run.reply(number, f"answer {number}", reply_id=f"reply-{number}")
    first = await run.reply(1, "answer 1", reply_id="reply-1")
    assert (first.interaction_id, first.reply_id) == (1, "reply-1")
    assert (await run.wait()).state is State.SUCCEEDED
    log = await run.history()
    assert violations(log) == []
    accepted = [event.data["response"] for event in log if event.type == EventType.REPLY_ACCEPTED]
    assert accepted == [f"answer {number}" for number in range(1, questions + 1)]
    description = await world.temporal.get_workflow_handle(run.id).describe()
    assert description.run_id != description.raw_info.first_run_id


async def test_large_prompts_and_texts_stay_out_of_temporals_history(fresh_world: World) -> None:
    prompt, text = "p" * 500_000, "t" * 300_000
    run = await fresh_world.turnwise.start(prompt, engine_options={"turns": [[{"final": text}]]})
    await run.wait()
    log = await run.history()
    history = await fresh_world.temporal.get_workflow_handle(run.id).fetch_history()
    assert log[0].data["prompt"] == prompt
    assert [event.data["text"] for event in log if event.type == EventType.MESSAGE_FINAL] == [text]
    assert sum(event.ByteSize() for event in history.events) < MAX_HISTORY_BYTES


async def test_a_two_turn_run_costs_four_workflow_tasks_and_few_events(world: World) -> None:
    run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    await run.reply(1, "blue")
    handle = world.temporal.get_workflow_handle(run.id)
    await handle.result()
    kinds = [event.event_type for event in (await handle.fetch_history()).events]
    assert kinds.count(EVENT_TYPE_WORKFLOW_TASK_COMPLETED) == 4
    assert len(kinds) <= 32
    after_reply = kinds[kinds.index(EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED) :]
    published, next_turn = (
        after_reply.index(kind) for kind in (EVENT_TYPE_MARKER_RECORDED, EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
    )
    assert published < next_turn  # a turn whose reply is not in the log may not start


async def test_without_a_worker_a_run_is_queued_and_a_reply_is_told_to_come_again(
    temporal: Client, store_url: str
) -> None:
    async with start_world(temporal, store_url, with_worker=False) as world:
        run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
        assert (await run.view()).state is State.QUEUED
        async with world.worker():
            await until_asked(run)
        with pytest.raises(Unavailable) as refused:
            await run.reply(1, "blue", reply_id="patient")
        assert refused.value.details["reply_id"] == "patient"
        async with world.worker():
            receipt = await run.reply(1, "blue", reply_id="patient")
            assert receipt == await run.reply(1, "blue", reply_id="patient")
            assert (await run.wait()).state is State.SUCCEEDED
        assert violations(await run.history()) == []


async def test_an_idempotency_key_starts_one_run_however_often_it_is_sent(fresh_world: World) -> None:
    key = f"key of {fresh_world.task_queue}"
    runs = await asyncio.gather(
        *(fresh_world.turnwise.start("once", engine_options=ASK_THEN_ANSWER, idempotency_key=key) for _ in range(5))
    )
    assert len({run.id for run in runs}) == 1
    with pytest.raises(IdempotencyKeyReused):
        await fresh_world.turnwise.start("something else", idempotency_key=key)
    assert len((await fresh_world.turnwise.runs()).runs) == 1


async def test_a_second_process_on_the_same_database_sees_the_run_live(temporal: Client, store_url: str) -> None:
    async with start_world(temporal, store_url) as world, start_world(temporal, store_url, with_worker=False) as other:
        run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
        watching = asyncio.create_task(collect(other, run.id))
        await until_asked(run)
        await run.reply(1, "blue")
        await run.wait()
        assert await watching == list(range(1, 11))


async def collect(world: World, run_id: str) -> list[int]:
    return [event.seq async for event in world.turnwise.run(run_id).events()]
