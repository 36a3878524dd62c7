"""Following a run while it happens, in both databases: events at once and in order, text as it is written."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from tests.run_watcher import AT_ONCE_SEC, Watcher, play, tells, watching
from tests.stored_runs import StoredRun
from turnwise.store import Store
from turnwise.store.changes import Changes
from turnwise.store.records import Glance
from turnwise.store.topics import Topic
from turnwise.store.watching import Delta


@pytest.fixture
def store(shared_store: Store) -> Store:
    return shared_store


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
