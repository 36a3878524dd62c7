"""The status in both databases: written with the facts that move it, kept by a clock that any process can wind."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import datetime

import pytest

from tests.status_watcher import shown, watching_status
from tests.stored_runs import CANCELED, StoredRun, decision
from turnwise.errors import TurnFenced
from turnwise.fcmp.events import DiagnosticWarning, ErrorInfo, EventData, MessageFinal, ToolCall, ToolResult, ToolStatus
from turnwise.runs import RunInput
from turnwise.statechart import Event
from turnwise.status import Reason, Status, StatusView
from turnwise.store import Store
from turnwise.store.observing import Deeds, StatusChange, Unobserved
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Delta, Frame, StatusChanged

FAILED = ErrorInfo(code="TURN_FAILED", message="It broke.")
HASTY = RunInput(accepted_ttl_sec=0, stall_after_sec=0.1)
CALM = RunInput(accepted_ttl_sec=3600, stall_after_sec=3600)


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


@pytest.fixture
async def ticking(store: Store) -> AsyncIterator[None]:
    async with store.ticking():
        yield


async def status_of(run: StoredRun) -> StatusView:
    return (await run.store.run(run.run_id)).status


def seconds(start: str | None, end: str | None) -> float:
    assert start is not None
    assert end is not None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


class Witness(Unobserved):
    """Remembers every change of a status that its store has committed."""

    def __init__(self) -> None:
        self.changes: list[StatusChange] = []

    def committed(self, deeds: Deeds) -> None:
        self.changes += deeds.changes


# Facts


async def test_a_run_that_asks_and_succeeds_shows_each_status_after_the_event_that_caused_it(store: Store) -> None:
    run = await StoredRun.registered(store, CALM)
    frames = store.watch(run.run_id)
    seen: list[str] = []

    async def look(frame: Frame) -> None:
        match frame:
            case StoredEvent(seq=seq):
                seen.append(str(seq))
            case StatusChanged(status):
                seen.append(f"{status.status.value}/{status.reason.value}")
            case Delta():
                seen.append("text")

    async def until(last: str) -> None:
        while not seen or seen[-1] != last:
            await look(await anext(frames))

    assert shown(await status_of(run)) == (Status.ACCEPTED, Reason.INPUT_ACCEPTED)
    await until("1")
    await run.open_turn()
    await until("awaiting_output/turn_started")
    await run.type("Half")
    await until("active_output/output_written")
    await run.say("Half a sentence.")
    await until("3")
    await run.ask()
    await until("completed/question_asked")
    await run.answer()
    await until("accepted/input_accepted")
    await run.open_turn()
    await until("awaiting_output/turn_started")
    await run.say("Done.")
    await until("active_output/output_written")
    await run.succeed()
    async for frame in frames:
        await look(frame)
    assert seen == [
        *("1", "2", "awaiting_output/turn_started", "text", "active_output/output_written", "3"),
        *("4", "5", "completed/question_asked", "6", "7", "accepted/input_accepted"),
        *("8", "awaiting_output/turn_started", "9", "active_output/output_written"),
        *("10", "11", "completed/run_succeeded"),
    ]


@pytest.mark.parametrize(
    "output",
    [
        MessageFinal(message_id="m1", text="Hello."),
        ToolCall(call_id="c1", name="search", arguments={}),
        ToolResult(call_id="c1", name="search", status=ToolStatus.COMPLETED, result=None),
        ToolResult(call_id="c1", name="search", status=ToolStatus.FAILED, result=None),
        None,
    ],
    ids=["text", "tool call", "tool result", "failed tool", "text being written"],
)
async def test_whatever_a_turn_puts_out_is_output(store: Store, output: EventData | None) -> None:
    run = await StoredRun.running(store, CALM)
    before = await status_of(run)
    assert (shown(before), before.last_activity_at) == ((Status.AWAITING_OUTPUT, Reason.TURN_STARTED), None)
    await (run.type("Hel") if output is None else run.write(output))
    after = await status_of(run)
    assert shown(after) == (Status.ACTIVE_OUTPUT, Reason.OUTPUT_WRITTEN)
    assert after.last_activity_at == after.timestamp > before.timestamp


async def test_more_output_moves_only_the_last_activity_and_nobody_is_told(store: Store) -> None:
    run = await StoredRun.running(store, CALM)
    async with watching_status(store.watch(run.run_id)) as watcher:
        await watcher.first()
        for text in ("Half", "Half a", "Half a sentence"):
            await run.type(text)
        await run.say("Half a sentence.")
        first = await watcher.next()
        await run.say("Another one.")
        now = await status_of(run)
        assert (shown(now), now.timestamp) == (shown(first), first.timestamp)
        assert seconds(first.last_activity_at, now.last_activity_at) > 0
        await run.succeed()
        assert [shown(status) for status in await watcher.rest()] == [(Status.COMPLETED, Reason.RUN_SUCCEEDED)]


Ending = Callable[[StoredRun], Coroutine[None, None, object]]

ENDINGS: list[tuple[str, Ending, Ending, Status, Reason]] = [
    ("succeeded", StoredRun.open_turn, StoredRun.succeed, Status.COMPLETED, Reason.RUN_SUCCEEDED),
    ("failed", StoredRun.open_turn, lambda run: run.close(Event.TURN_FAILED, FAILED), Status.ERROR, Reason.RUN_FAILED),
    (
        "canceled while running",
        StoredRun.open_turn,
        lambda run: run.close(Event.RUN_CANCELED, CANCELED),
        Status.CLOSED,
        Reason.RUN_CANCELED,
    ),
    (
        "canceled while waiting",
        lambda run: _asked(run),
        lambda run: run.store.cancel_wait(run.run_id, "Enough."),
        Status.CLOSED,
        Reason.RUN_CANCELED,
    ),
    (
        "interrupted",
        StoredRun.open_turn,
        lambda run: run.store.reconcile(run.run_id, FAILED),
        Status.ERROR,
        Reason.RUN_FAILED,
    ),
    (
        "not resumable",
        lambda run: _asked(run),
        lambda run: run.store.reconcile(run.run_id, FAILED),
        Status.ERROR,
        Reason.RUN_FAILED,
    ),
]


async def _asked(run: StoredRun) -> None:
    await run.open_turn()
    await run.ask()


@pytest.mark.parametrize(
    ("before", "end", "status", "reason"), [each[1:] for each in ENDINGS], ids=[e[0] for e in ENDINGS]
)
async def test_each_end_has_its_status_and_late_facts_change_nothing(
    store: Store, ticking: None, before: Ending, end: Ending, status: Status, reason: Reason
) -> None:
    run = await StoredRun.registered(store, RunInput(accepted_ttl_sec=0, stall_after_sec=3600))
    await before(run)
    await end(run)
    ended = await status_of(run)
    assert shown(ended) == (status, reason)
    with pytest.raises(TurnFenced):
        await run.say("Too late.")
    with pytest.raises(TurnFenced):
        await run.type("Too late.")
    with pytest.raises(TurnFenced):
        await run.open_turn()
    await run.store.cancel_wait(run.run_id, "Again.")
    await run.store.reconcile(run.run_id, FAILED)
    assert await status_of(run) == ended
    async with watching_status(store.watch(run.run_id)) as watcher:
        assert await watcher.first() == ended
        assert await watcher.rest() == []


async def test_a_question_that_is_decided_without_a_reply_awaits_output_and_accepted_nothing(store: Store) -> None:
    run = await StoredRun.waiting(store, CALM.model_copy(update={"interactive_require_user_reply": False}))
    await store.resolve(run.run_id, decision())
    assert shown(await status_of(run)) == (Status.AWAITING_OUTPUT, Reason.QUESTION_DECIDED)


async def test_a_question_that_a_restart_asks_again_is_no_new_status(store: Store) -> None:
    run = await StoredRun.waiting(store, CALM)
    before = await status_of(run)
    await store.preserve_wait(run.run_id, "restart-1", 1)
    assert await status_of(run) == before


async def test_an_interrupted_turn_that_is_run_again_has_put_out_nothing_yet(store: Store) -> None:
    run = await StoredRun.running(store, CALM)
    await run.say("So far.")
    await store.abandon_turn(run.run_id, 1, DiagnosticWarning(code="TURN_REDRIVEN", message="Once more."))
    await run.open_turn()
    status = await status_of(run)
    assert shown(status) == (Status.AWAITING_OUTPUT, Reason.TURN_STARTED)
    assert status.last_activity_at is not None


# The clock


async def test_what_nobody_starts_is_accepted_only_for_a_while(store: Store, ticking: None) -> None:
    run = await StoredRun.registered(store, RunInput(accepted_ttl_sec=0.1, stall_after_sec=3600))
    async with watching_status(store.watch(run.run_id)) as watcher:
        accepted = await watcher.first()
        waiting = await watcher.next()
        assert shown(waiting) == (Status.AWAITING_OUTPUT, Reason.ACCEPTANCE_EXPIRED)
        assert seconds(accepted.timestamp, waiting.timestamp) >= 0.1
        await run.open_turn()
        await run.say("At last.")
        # It was awaited already when the turn began: an unchanged status is not sent again.
        assert shown(await watcher.next()) == (Status.ACTIVE_OUTPUT, Reason.OUTPUT_WRITTEN)


async def test_a_turn_that_puts_out_nothing_stalls_and_recovers_by_itself_again_and_again(
    store: Store, ticking: None
) -> None:
    run = await StoredRun.registered(store, HASTY)
    async with watching_status(store.watch(run.run_id)) as watcher:
        await watcher.first()
        stalled = await watcher.until(Status.STALLED)
        assert (stalled.reason, stalled.last_activity_at) == (Reason.SILENCE_ELAPSED, None)
        await run.open_turn()
        assert shown(await watcher.next()) == (Status.AWAITING_OUTPUT, Reason.TURN_STARTED)
        assert (await watcher.next()).status is Status.STALLED
        for write in (run.say("One."), run.type("Two"), run.type("Two and"), run.say("Two and a half.")):
            await write
            active = await watcher.next()
            assert shown(active) == (Status.ACTIVE_OUTPUT, Reason.OUTPUT_WRITTEN)
            stalled = await watcher.next()
            assert shown(stalled) == (Status.STALLED, Reason.SILENCE_ELAPSED)
            assert stalled.last_activity_at == active.last_activity_at
        await run.succeed()
        assert shown(await watcher.next()) == (Status.COMPLETED, Reason.RUN_SUCCEEDED)


@pytest.mark.parametrize("kind", ["text being written", "messages"])
async def test_every_output_sets_the_clock_anew(store: Store, ticking: None, kind: str) -> None:
    patience = 0.3
    run = await StoredRun.running(store, RunInput(stall_after_sec=patience))
    async with watching_status(store.watch(run.run_id)) as watcher:
        begun, last = (await watcher.first()).timestamp, None
        while last is None or seconds(begun, last) < 2 * patience:
            await (run.type(f"It is {last}") if kind == "text being written" else run.say("Still here."))
            last = (await status_of(run)).last_activity_at
        stalls: list[StatusView] = []
        # A machine that is busy elsewhere may let it stall in between; never sooner than it is allowed to.
        while not stalls or stalls[-1].last_activity_at != last:
            stalls.append(await watcher.until(Status.STALLED))
        assert [each for each in stalls if seconds(each.last_activity_at or begun, each.timestamp) < patience] == []


async def test_a_question_may_wait_as_long_as_it_wants(store: Store, ticking: None) -> None:
    run = await StoredRun.waiting(store, HASTY)
    other = await StoredRun.running(store, HASTY)
    async with watching_status(store.watch(other.run_id)) as watcher:
        await watcher.until(Status.STALLED)
    assert shown(await status_of(run)) == (Status.COMPLETED, Reason.QUESTION_ASKED)


async def test_the_clock_leaves_everything_else_of_a_run_as_it_is(store: Store, ticking: None) -> None:
    """A restart tells by `updated_at` which runs it has interrupted: time passing is nobody's work on them."""
    run = await StoredRun.registered(store, HASTY)
    before = await store.run(run.run_id)
    async with watching_status(store.watch(run.run_id)) as watcher:
        await watcher.until(Status.STALLED)
    after = await store.run(run.run_id)
    assert after.model_copy(update={"status": before.status}) == before


async def test_a_watcher_in_another_process_is_told_and_who_comes_later_finds_it_in_the_snapshot(
    store: Store, second_store: Store, ticking: None
) -> None:
    run = await StoredRun.running(store, HASTY)
    async with watching_status(second_store.watch(run.run_id)) as watcher:
        await watcher.first()
        stalled = await watcher.until(Status.STALLED)
        async with watching_status(second_store.watch(run.run_id)) as late:
            assert await late.first() == stalled
        await run.say("I live.")
        assert (await watcher.next()).status is Status.ACTIVE_OUTPUT


async def test_of_many_clocks_exactly_one_makes_each_change(store_url: str) -> None:
    witness = Witness()
    stores = [Store(store_url, witness) for _ in range(4)]
    async with AsyncExitStack() as stack:
        for each in stores:
            await each.open()
            stack.push_async_callback(each.close)
        for each in stores:
            await stack.enter_async_context(each.ticking())
        runs = [await StoredRun.registered(stores[0], HASTY) for _ in range(20)]
        for run in runs:
            async with watching_status(stores[1].watch(run.run_id)) as watcher:
                if (await watcher.first()).status is not Status.STALLED:
                    await watcher.until(Status.STALLED)
    for run in runs:
        assert [(each.source, each.target, each.reason) for each in witness.changes if each.run_id == run.run_id] == [
            (None, Status.ACCEPTED, Reason.INPUT_ACCEPTED),
            (Status.ACCEPTED, Status.AWAITING_OUTPUT, Reason.ACCEPTANCE_EXPIRED),
            (Status.AWAITING_OUTPUT, Status.STALLED, Reason.SILENCE_ELAPSED),
        ]


async def _stalled(run: StoredRun) -> None:
    await run.open_turn()
    async with run.store.ticking(), watching_status(run.store.watch(run.run_id)) as watcher:
        await watcher.until(Status.STALLED)


async def _talking(run: StoredRun) -> None:
    await run.open_turn()
    await run.type("Half a sen")


async def _nothing(run: StoredRun) -> None:
    pass


async def _succeeded(run: StoredRun) -> None:
    await run.open_turn()
    await run.succeed()


async def _failed(run: StoredRun) -> None:
    await run.open_turn()
    await run.close(Event.TURN_FAILED, FAILED)


async def _canceled(run: StoredRun) -> None:
    await run.open_turn()
    await run.close(Event.RUN_CANCELED, CANCELED)


@pytest.mark.parametrize(
    ("reach", "status", "later"),
    [
        (_nothing, Status.ACCEPTED, [Status.AWAITING_OUTPUT, Status.STALLED]),
        (StoredRun.open_turn, Status.AWAITING_OUTPUT, [Status.STALLED]),
        (_talking, Status.ACTIVE_OUTPUT, [Status.STALLED]),
        (_stalled, Status.STALLED, []),
        (_asked, Status.COMPLETED, []),
        (_succeeded, Status.COMPLETED, []),
        (_failed, Status.ERROR, []),
        (_canceled, Status.CLOSED, []),
    ],
    ids=["accepted", "awaiting_output", "active_output", "stalled", "asked", "completed", "error", "closed"],
)
async def test_a_status_and_its_clock_outlive_the_process_that_wrote_it(
    store_url: str, reach: Ending, status: Status, later: list[Status]
) -> None:
    dying = Store(store_url)
    await dying.open()
    run = await StoredRun.registered(dying, HASTY)
    await reach(run)
    before = await status_of(run)
    assert before.status is status
    await dying.close()
    witness = Witness()
    other = Store(store_url, witness)
    await other.open()
    try:
        assert (await other.run(run.run_id)).status == before
        marker = await StoredRun.registered(other, HASTY)
        async with other.ticking(), watching_status(other.watch(marker.run_id)) as watcher:
            await watcher.until(Status.STALLED)  # by then the older one has had its time, too
        assert [each.target for each in witness.changes if each.run_id == run.run_id] == later
        assert (await other.run(run.run_id)).status.status is (later[-1] if later else status)
    finally:
        await other.close()
