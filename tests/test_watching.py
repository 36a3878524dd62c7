"""Following a run in both databases: snapshot, replay, live, across processes; nothing lost and nothing repeated."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.stored_runs import CANCELED, StoredRun, open_question
from turnwise.errors import CursorInvalid, RunNotFound
from turnwise.fcmp.events import DiagnosticWarning, FcmpEvent
from turnwise.fcmp.ordering import violations
from turnwise.statechart import Event, State
from turnwise.store import Store
from turnwise.store.changes import SLOW_POLL_SEC, Changes
from turnwise.store.records import Glance, LiveMessage, StoredEvent
from turnwise.store.topics import Topic
from turnwise.store.watching import Delta, Frame, Idle, Snapshot, StatusChanged

PATIENCE_SEC = 30.0
"""How long a test waits for what must come."""
AT_ONCE_SEC = SLOW_POLL_SEC / 2
"""Sooner than the slow poll would have found it: somebody must have told the watcher."""


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


class Watcher:
    """Reads frames one by one, passing over "nothing new" and the status, which has tests of its own."""

    def __init__(self, store: Store, run: StoredRun, cursor: int = 0) -> None:
        self._frames = store.watch(run.run_id, cursor)

    async def next(self, within: float = PATIENCE_SEC) -> Frame:
        async with asyncio.timeout(within):
            while isinstance(frame := await anext(self._frames), Idle | StatusChanged):
                pass
        return frame

    async def event(self, within: float = PATIENCE_SEC) -> int:
        frame = await self.next(within)
        assert isinstance(frame, StoredEvent), frame
        return frame.seq

    async def delta(self, within: float = PATIENCE_SEC) -> Delta:
        frame = await self.next(within)
        assert isinstance(frame, Delta), frame
        return frame

    async def start(self) -> Snapshot:
        frame = await self.next()
        assert isinstance(frame, Snapshot), frame
        return frame

    async def rest(self) -> list[Frame]:
        """All that comes until the run ends."""
        frames: list[Frame] = []
        with contextlib.suppress(StopAsyncIteration):
            while True:
                frames.append(await self.next())
        return frames

    async def leave(self) -> None:
        assert hasattr(self._frames, "aclose")
        await self._frames.aclose()


@contextlib.asynccontextmanager
async def watching(store: Store, run: StoredRun, cursor: int = 0) -> AsyncIterator[Watcher]:
    watcher = Watcher(store, run, cursor)
    try:
        yield watcher
    finally:
        await watcher.leave()


def seqs(frames: list[Frame]) -> list[int]:
    return [frame.seq for frame in frames if isinstance(frame, StoredEvent)]


async def until_told(write: Callable[[int], Awaitable[None]], watcher: Watcher) -> int:
    """Writes events until one reaches the watcher at once: at first its store may not be listening yet."""
    last = 2
    for number in range(10):
        await write(number)
        started = time.monotonic()
        last = await watcher.event()
        if time.monotonic() - started < AT_ONCE_SEC:
            return last
    raise AssertionError("nobody tells the watcher")


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


# Live


async def play(run: StoredRun) -> None:
    """A whole run: text, a question, a reply, more text, the end."""
    await run.open_turn()
    for text in ("Let", "Let me", "Let me ask 🎨"):
        await run.type(text, "m1")
    await run.say("Let me ask 🎨.")
    await run.ask()
    await run.answer()
    await run.open_turn()
    for text in ("It", "It is", "It is blue"):
        await run.type(text, "m2")
    await run.close(Event.RUN_CANCELED, CANCELED)


async def test_events_of_the_same_process_arrive_at_once(store: Store) -> None:
    run = await StoredRun.registered(store)
    async with watching(store, run) as watcher:
        await watcher.start()
        assert await watcher.event() == 1
        await run.open_turn()
        assert await watcher.event(AT_ONCE_SEC) == 2
        await run.type("Half a sen")
        assert await watcher.delta(AT_ONCE_SEC) == Delta("live", 0, "Half a sen")
        await run.type("Half a sentence")
        assert await watcher.delta(AT_ONCE_SEC) == Delta("live", 10, "tence")
        await run.ask()
        assert [await watcher.event(AT_ONCE_SEC) for _ in range(3)] == [3, 4, 5]


async def test_events_of_another_process_arrive_at_once(store: Store, second_store: Store) -> None:
    run = await StoredRun.running(second_store)
    async with watching(store, run, cursor=2) as watcher:
        await watcher.start()

        async def say(number: int) -> None:
            await run.say(f"text {number}")

        reached = await until_told(say, watcher)
        await run.type("Half a sen")
        assert await watcher.delta(AT_ONCE_SEC) == Delta("live", 0, "Half a sen")
        await run.ask()
        assert [await watcher.event(AT_ONCE_SEC) for _ in range(3)] == [reached + 1, reached + 2, reached + 3]


async def test_a_whole_run_of_the_same_process_is_followed_to_its_end(store: Store) -> None:
    run = await StoredRun.registered(store)
    watcher = Watcher(store, run)
    await watcher.start()
    frames, _ = await asyncio.gather(watcher.rest(), play(run))
    assert await tells(frames, run)


async def test_a_whole_run_of_another_process_is_followed_to_its_end(store: Store, second_store: Store) -> None:
    run = await StoredRun.registered(second_store)
    watcher = Watcher(store, run)
    await watcher.start()
    frames, _ = await asyncio.gather(watcher.rest(), play(run))
    assert await tells(frames, run)


async def tells(frames: list[Frame], run: StoredRun) -> bool:
    """Whether the frames are the whole log, with deltas that build up the text of the message that follows them."""
    texts: dict[str, str] = {}
    for frame in frames:
        match frame:
            case Delta(message_id, offset, text):
                assert offset == len(texts.get(message_id, "")), "nothing is sent twice"
                texts[message_id] = texts.get(message_id, "") + text
            case StoredEvent():
                event = FcmpEvent.model_validate_json(frame.body)
                if written := texts.pop(str(event.data.get("message_id")), None):
                    assert str(event.data["text"]).startswith(written)
    assert texts == {}, "no text follows the message that it belongs to"
    log = await run.log()
    assert violations(log) == []
    return [frame for frame in frames if isinstance(frame, StoredEvent)] == await run.store.events(run.run_id)


async def test_deltas_add_up_to_the_text_of_the_message(store: Store) -> None:
    run = await StoredRun.running(store)
    text = "A painter 👩🏽‍🎨 paints\0 it blue. " * 20
    async with watching(store, run, cursor=2) as watcher:
        await watcher.start()
        pieces: list[str] = []
        for end in range(7, len(text), 7):
            await run.type(text[:end], message_id="m1")
            delta = await watcher.delta()
            assert (delta.message_id, delta.offset) == ("m1", len("".join(pieces)))
            pieces.append(delta.text)
        await run.say(text)
        assert await watcher.event() == 3
        assert text.startswith("".join(pieces))
        assert len(text) - len("".join(pieces)) < 8


async def test_the_next_message_starts_anew(store: Store) -> None:
    run = await StoredRun.running(store)
    async with watching(store, run, cursor=2) as watcher:
        await watcher.start()
        await run.type("First", message_id="m1")
        assert await watcher.delta() == Delta("m1", 0, "First")
        await run.say("First")
        await run.type("Second", message_id="m2")
        assert await watcher.event() == 3
        assert await watcher.delta() == Delta("m2", 0, "Second")


async def test_a_slow_watcher_gets_no_text_after_the_message_that_it_belongs_to(store: Store) -> None:
    run = await StoredRun.running(store)
    async with watching(store, run, cursor=2) as watcher:
        await watcher.start()
        await run.type("First", message_id="m1")
        await run.say("First")
        assert await watcher.delta() == Delta("m1", 0, "First")
        assert await watcher.event() == 3
        await run.say("Second")
        assert await watcher.event() == 4


async def test_a_slow_watcher_gets_all_text_at_once_and_none_twice(store: Store) -> None:
    run = await StoredRun.running(store)
    async with watching(store, run, cursor=2) as watcher:
        await watcher.start()
        for text in ("Half", "Half a", "Half a sentence"):
            await run.type(text)
        assert await watcher.delta() == Delta("live", 0, "Half a sentence")
        await run.say("Half a sentence.")
        assert await watcher.event() == 3


async def test_a_very_slow_watcher_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.store.changes.MAX_UNREAD", 5)
    run = await StoredRun.running(store)
    async with watching(store, run, cursor=2) as watcher:
        await watcher.start()
        for number in range(12):
            await run.say(f"text {number}")
        assert [await watcher.event(AT_ONCE_SEC) for _ in range(12)] == list(range(3, 15))


async def test_writers_in_two_processes_are_seen_in_one_order(store: Store, second_store: Store) -> None:
    run = await StoredRun.running(store)
    other = StoredRun(second_store, run.run_id, attempt=1, written=1000)
    async with watching(store, run, cursor=2) as watcher:
        await watcher.start()
        await asyncio.gather(*(each.say(f"text {number}") for number in range(10) for each in (run, other)))
        assert [await watcher.event() for _ in range(20)] == list(range(3, 23))


async def test_news_of_this_process_do_not_jump_over_what_another_wrote(
    store: Store, second_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    notify = Changes.notify

    def only_our_own(changes: Changes, topic: Topic, news: Glance | None = None) -> None:
        if news is not None:
            notify(changes, topic, news)

    monkeypatch.setattr(Changes, "notify", only_our_own)
    run = await StoredRun.running(store)
    other = StoredRun(second_store, run.run_id, attempt=1, written=1000)
    async with watching(store, run, cursor=2) as watcher:
        await watcher.start()
        await other.say("theirs")
        await run.say("ours")
        assert [await watcher.event() for _ in range(2)] == [3, 4]


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
