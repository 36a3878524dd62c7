"""Following a run in both databases: snapshot, replay, coming back, many watchers; nothing lost, nothing repeated."""

import asyncio

import pytest

from tests.run_watcher import AT_ONCE_SEC, PATIENCE_SEC, Watcher, play, seqs, tells, watching
from tests.stored_runs import StoredRun, open_question
from turnwise.errors import CursorInvalid, RunNotFound
from turnwise.fcmp.events import DiagnosticWarning, FcmpEvent
from turnwise.statechart import State
from turnwise.store import Store
from turnwise.store.records import LiveMessage, StoredEvent
from turnwise.store.watching import Delta, Idle, Snapshot


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


# The snapshot


async def test_a_watcher_is_first_told_where_the_run_stands(store: Store) -> None:
    run = await StoredRun.waiting(store)
    async with watching(store, run, cursor=2) as watcher:
        snapshot = await watcher.start()
        assert snapshot == Snapshot(await store.run(run.run_id), 2, None)
        assert (snapshot.run.state, snapshot.run.pending) == (State.WAITING_USER, open_question())
        assert [await watcher.event() for _ in range(2)] == [3, 4]


async def test_the_snapshot_holds_the_text_of_the_message_being_written(store: Store) -> None:
    run = await StoredRun.running(store)
    await run.type("Half a sen")
    async with watching(store, run, cursor=2) as watcher:
        assert (await watcher.start()).message == LiveMessage(message_id="live", text="Half a sen")


# Replay


async def test_replay_from_each_cursor_gives_exactly_the_rest(store: Store) -> None:
    run = await StoredRun.running(store)
    for number in range(5):
        await run.say(f"text {number}")
    await run.succeed()
    whole = await store.events(run.run_id)
    assert len(whole) == 9
    for cursor in range(len(whole) + 1):
        watcher = Watcher(store, run, cursor)
        assert (await watcher.start()).cursor == cursor
        assert await watcher.rest() == whole[cursor:]


async def test_replay_of_a_log_that_is_longer_than_one_batch_is_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.store.watching.BATCH", 4)
    run = await StoredRun.running(store)
    for number in range(20):
        await run.say(f"text {number}")
    async with watching(store, run) as watcher:
        await watcher.start()
        assert [await watcher.event(AT_ONCE_SEC) for _ in range(22)] == list(range(1, 23))
        await run.say("one more")
        assert await watcher.event() == 23


async def test_a_run_that_has_ended_is_replayed_and_the_watch_ends(store: Store) -> None:
    run = await StoredRun.running(store)
    await run.succeed()
    watcher = Watcher(store, run)
    assert isinstance(await watcher.next(), Snapshot)
    assert seqs(await watcher.rest()) == [1, 2, 3, 4]


async def test_a_cursor_outside_the_log_is_refused(store: Store) -> None:
    run = await StoredRun.running(store)
    for cursor in (-1, 3, 2**31, 2**70):
        with pytest.raises(CursorInvalid) as refusal:
            await Watcher(store, run, cursor).start()
        assert refusal.value.code == "CURSOR_INVALID"
        assert refusal.value.details == {"last_seq": 2}


async def test_a_run_that_does_not_exist_cannot_be_watched(store: Store) -> None:
    with pytest.raises(RunNotFound):
        await Watcher(store, StoredRun(store, "run-nobody")).start()


# Coming back


async def test_who_comes_back_in_the_middle_of_a_message_gets_the_sentence_so_far_and_then_the_rest(
    store: Store,
) -> None:
    run = await StoredRun.running(store)
    async with watching(store, run, cursor=2) as watcher:
        await watcher.start()
        await run.type("Half a sen")
        await watcher.delta()
    await run.type("Half a sentence")
    async with watching(store, run, cursor=2) as watcher:
        assert (await watcher.start()).message == LiveMessage(message_id="live", text="Half a sentence")
        await run.type("Half a sentence, and the rest")
        assert await watcher.delta() == Delta("live", 15, ", and the rest")


async def test_who_leaves_after_any_event_and_comes_back_misses_nothing_and_sees_nothing_twice(store: Store) -> None:
    run = await StoredRun.registered(store)
    seen: list[int] = []

    async def come_and_go() -> None:
        while True:
            async with watching(store, run, cursor=len(seen)) as watcher:
                await watcher.start()
                try:
                    while not isinstance(frame := await watcher.next(), StoredEvent):
                        pass
                except StopAsyncIteration:
                    return
                seen.append(frame.seq)

    await asyncio.gather(come_and_go(), play(run))
    assert seen == [event.seq for event in await run.log()]
    assert len(seen) == 11


# Many, and none


async def test_many_watchers_each_see_everything(store: Store, second_store: Store) -> None:
    runs = [await StoredRun.registered(store) for _ in range(3)]
    watchers = [(run, Watcher(on, run)) for run in runs for on in [store, second_store] * 5]
    for _, watcher in watchers:
        await watcher.start()
    *followed, _, _, _ = await asyncio.gather(*(watcher.rest() for _, watcher in watchers), *map(play, runs))
    for (run, _), frames in zip(watchers, followed, strict=True):
        assert frames is not None
        assert await tells(frames, run)


async def test_a_watcher_sees_only_its_own_run(store: Store) -> None:
    quiet, busy = await StoredRun.running(store), await StoredRun.registered(store)
    async with watching(store, quiet, cursor=2) as watcher:
        await watcher.start()
        await play(busy)
        await quiet.say("Mine")
        assert await watcher.event() == 3
        assert FcmpEvent.model_validate_json((await store.events(quiet.run_id))[2].body).data["text"] == "Mine"


async def test_a_watcher_is_told_from_time_to_time_that_the_run_lives(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.store.changes.SLOW_POLL_SEC", 0.01)
    run = await StoredRun.waiting(store)
    frames = store.watch(run.run_id, 4)
    async with asyncio.timeout(PATIENCE_SEC):
        assert isinstance(await anext(frames), Snapshot)
        assert [await anext(frames) for _ in range(3)] == [Idle(), Idle(), Idle()]


async def test_a_lost_notification_costs_time_and_no_data(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.store.changes.SLOW_POLL_SEC", 0.05)
    monkeypatch.setattr("turnwise.store.changes.Changes.notify", lambda *_: None)
    run = await StoredRun.registered(store)
    watcher = Watcher(store, run)
    await watcher.start()
    frames, _ = await asyncio.gather(watcher.rest(), play(run))
    assert await tells(frames, run)


async def test_a_warning_reaches_watchers_like_any_event(store: Store) -> None:
    run = await StoredRun.waiting(store)
    async with watching(store, run, cursor=4) as watcher:
        await watcher.start()
        await store.warn(run.run_id, "late", DiagnosticWarning(code="SESSION_TIMEOUT_ELAPSED", message="Waiting."))
        assert await watcher.event() == 5


async def test_watchers_leave_when_the_process_is_about_to_stop(store: Store) -> None:
    run = await StoredRun.waiting(store)
    watchers = [Watcher(store, run) for _ in range(3)]
    for watcher in watchers:
        await watcher.start()
    following = asyncio.gather(*(watcher.rest() for watcher in watchers))
    await asyncio.sleep(0)
    store.end_watches()
    assert [seqs(frames) for frames in await following] == [[1, 2, 3, 4]] * 3
