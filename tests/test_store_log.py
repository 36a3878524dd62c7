"""The event log in both databases: written once, closed when its turn is, and nothing after its end."""

from collections.abc import Awaitable, Callable

import pytest

from tests.stored_runs import (
    BROKEN,
    CANCELED,
    WARNING,
    StoredRun,
    decision,
    everything,
    message,
    open_question,
    reply,
    texts,
)
from turnwise.errors import (
    RunNotFound,
    TurnFenced,
)
from turnwise.fcmp.events import (
    EventType,
    OutputStatus,
    ToolCall,
)
from turnwise.fcmp.ordering import violations
from turnwise.runs import RunInput
from turnwise.statechart import Event, IllegalTransition
from turnwise.store import Store
from turnwise.store.records import AuditEntry, LiveMessage


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


# Repeating a call

Call = Callable[[StoredRun], Awaitable[object]]


async def register_again(run: StoredRun) -> None:
    await StoredRun.registered(run.store, run_id=run.run_id)


async def open_again(run: StoredRun) -> None:
    await run.store.open_turn(run.run_id, 1)


async def write_both_again(run: StoredRun) -> None:
    entries = [AuditEntry(source="scripted", event="engine.raw", data={"row": 1})]
    await run.store.write_output(run.run_id, 1, [message(1), message(2)], entries)


async def ask_again(run: StoredRun) -> None:
    closing = run.closing(Event.TURN_NEEDS_INPUT)
    closing.question = open_question()
    await run.store.close_turn(closing)


async def reply_again(run: StoredRun) -> None:
    assert await run.store.resolve(run.run_id, reply()) == reply()


async def warn_again(run: StoredRun) -> None:
    await run.store.warn(run.run_id, "question1.elapsed", WARNING)


async def cancel_wait_again(run: StoredRun) -> None:
    await run.store.cancel_wait(run.run_id, CANCELED.message)


async def succeed_again(run: StoredRun) -> None:
    await run.succeed()


async def fail_again(run: StoredRun) -> None:
    await run.close(Event.TURN_FAILED, BROKEN)


async def test_repeating_a_call_changes_nothing(store: Store) -> None:
    calls: list[tuple[Callable[[Store], Awaitable[StoredRun]], Call]] = [
        (StoredRun.registered, register_again),
        (StoredRun.running, register_again),
        (StoredRun.running, open_again),
        (StoredRun.running, write_both_again),
        (StoredRun.running, ask_again),
        (StoredRun.running, succeed_again),
        (StoredRun.running, fail_again),
        (StoredRun.waiting, reply_again),
        (StoredRun.waiting, warn_again),
        (StoredRun.waiting, cancel_wait_again),
    ]
    for prepared, call in calls:
        run = await prepared(store)
        await call(run)
        once = await everything(store, run.run_id)
        await call(run)
        assert await everything(store, run.run_id) == once, call.__name__


async def test_a_write_of_which_a_part_is_known_adds_the_rest(store: Store) -> None:
    run = await StoredRun.running(store)
    await store.write_output(run.run_id, 1, [message(1, "one")], [])
    await store.write_output(run.run_id, 1, [message(1, "one"), message(2, "two")], [])
    assert texts(await run.log()) == ["one", "two"]


async def test_a_question_is_resolved_once_whoever_comes_later(store: Store) -> None:
    run = await StoredRun.waiting(store, RunInput(interactive_require_user_reply=False))
    assert await store.resolve(run.run_id, decision()) == decision()
    assert await store.resolve(run.run_id, reply()) == decision()
    await run.open_turn()
    assert await store.resolve(run.run_id, reply()) == decision()
    assert (await store.run(run.run_id)).auto_decision_count == 1
    assert violations(await run.log()) == []


async def test_a_strict_run_is_never_decided_by_its_deadline(store: Store) -> None:
    run = await StoredRun.waiting(store)
    before = await everything(store, run.run_id)
    with pytest.raises(IllegalTransition):
        await store.resolve(run.run_id, decision())
    assert await everything(store, run.run_id) == before


# Fencing


async def closed_by_question(store: Store) -> StoredRun:
    return await StoredRun.waiting(store)


async def closed_by_success(store: Store) -> StoredRun:
    run = await StoredRun.running(store)
    await run.succeed()
    return run


async def closed_by_cancellation_of_the_wait(store: Store) -> StoredRun:
    run = await StoredRun.waiting(store)
    await store.cancel_wait(run.run_id, CANCELED.message)
    return run


async def closed_before_it_started(store: Store) -> StoredRun:
    run = await StoredRun.registered(store)
    run.attempt = 1
    await run.close(Event.RUN_CANCELED, CANCELED)
    return run


async def followed_by_another_turn(store: Store) -> StoredRun:
    run = await StoredRun.waiting(store)
    await run.answer()
    await store.open_turn(run.run_id, 2)
    return run


async def write_late_output(run: StoredRun) -> None:
    await run.store.write_output(run.run_id, 1, [message(9)], [])


async def write_late_audit(run: StoredRun) -> None:
    entry = AuditEntry(source="scripted", event="engine.raw", data={})
    await run.store.write_output(run.run_id, 1, [], [entry])


async def write_late_text(run: StoredRun) -> None:
    await run.store.write_live_text(run.run_id, 1, LiveMessage(message_id="late", text="late"))


async def test_a_closed_turn_may_not_write_and_leaves_no_trace(store: Store) -> None:
    for closed in (
        closed_by_question,
        closed_by_success,
        closed_by_cancellation_of_the_wait,
        closed_before_it_started,
        followed_by_another_turn,
    ):
        run = await closed(store)
        before = await everything(store, run.run_id)
        for late in (write_late_output, write_late_audit, write_late_text, open_again):
            with pytest.raises(TurnFenced) as refusal:
                await late(run)
            assert refusal.value.code == "TURN_FENCED"
        await run.store.close_turn(run.closing(Event.TURN_FAILED, BROKEN))
        assert await everything(store, run.run_id) == before, closed.__name__


async def test_a_turn_may_not_start_out_of_its_order(store: Store) -> None:
    waiting = await StoredRun.waiting(store)
    ended = await closed_by_cancellation_of_the_wait(store)
    for run, attempt in ((await StoredRun.registered(store), 2), (waiting, 2), (ended, 2), (waiting, 3)):
        before = await everything(store, run.run_id)
        with pytest.raises(TurnFenced):
            await store.open_turn(run.run_id, attempt)
        assert await everything(store, run.run_id) == before


async def test_a_turn_that_has_not_started_may_not_write(store: Store) -> None:
    run = await StoredRun.registered(store)
    for early in (write_late_output, write_late_text):
        with pytest.raises(TurnFenced):
            await early(run)


async def test_what_belongs_to_no_run_is_not_found(store: Store) -> None:
    nobody = StoredRun(store, "run-nobody", attempt=1)
    calls: list[Call] = [open_again, write_late_output, succeed_again, reply_again, warn_again, cancel_wait_again]
    for call in calls:
        with pytest.raises(RunNotFound):
            await call(nobody)
    for read in (store.run, store.events, store.audit):
        with pytest.raises(RunNotFound):
            await read("run-nobody")
    assert await store.interaction("run-nobody", 1) is None


# Live text


async def test_the_message_being_written_is_kept_as_interrupted_when_its_turn_ends(store: Store) -> None:
    run = await StoredRun.running(store)
    await run.type("Half a sen")
    await run.type("Half a sentence")
    await run.close(Event.RUN_CANCELED, CANCELED)
    log = await run.log()
    assert [event.type for event in log[2:]] == [EventType.MESSAGE_FINAL, EventType.STATE_CHANGED, EventType.FAILED]
    assert log[2].data == {
        "message_id": "live",
        "text": "Half a sentence",
        "status": OutputStatus.INTERRUPTED.value,
    }
    assert violations(log) == []


async def test_a_finished_message_is_not_kept_a_second_time(store: Store) -> None:
    run = await StoredRun.running(store)
    await run.type("Half a sen", message_id="m1")
    await run.say("Half a sentence, and the rest.")
    await run.succeed()
    assert texts(await run.log()) == ["Half a sentence, and the rest."]


async def test_a_tool_call_does_not_end_the_message_being_written(store: Store) -> None:
    run = await StoredRun.running(store)
    await run.type("Let me see")
    await run.write(ToolCall(call_id="c", name="look", arguments={}))
    await run.ask()
    assert texts(await run.log()) == ["Let me see"]
    assert violations(await run.log()) == []


# After the end


async def test_nothing_follows_a_terminal_state_and_a_warning_says_nothing(store: Store) -> None:
    failed = await StoredRun.running(store)
    await failed.close(Event.TURN_FAILED, BROKEN)
    for run in (await closed_by_success(store), failed, await closed_by_cancellation_of_the_wait(store)):
        before = await everything(store, run.run_id)
        await store.warn(run.run_id, "late", WARNING)
        await store.cancel_wait(run.run_id, "late")
        await store.close_turn(run.closing(Event.TURN_SUCCEEDED))
        run.attempt += 1
        await store.close_turn(run.closing(Event.RUN_CANCELED, CANCELED))
        assert await everything(store, run.run_id) == before


async def test_a_reply_after_the_end_is_told_that_the_run_has_ended(store: Store) -> None:
    run = await closed_by_cancellation_of_the_wait(store)
    before = await everything(store, run.run_id)
    assert await store.resolve(run.run_id, reply()) is None
    assert await everything(store, run.run_id) == before


async def test_a_reply_that_was_accepted_is_still_known_after_the_end(store: Store) -> None:
    run = await StoredRun.waiting(store)
    await run.answer()
    await run.open_turn()
    await run.succeed()
    assert await store.resolve(run.run_id, reply(reply_id="another")) == reply()
