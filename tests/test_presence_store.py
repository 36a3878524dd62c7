"""Which workers the store knows of, and when a start is a restart."""

from turnwise.store import Store

QUEUE = "turnwise"


async def start(store: Store, worker_id: str, *, dead: tuple[str, ...] = ()) -> bool:
    """Whether this start was a restart; of the others it finds, `dead` have not beaten while it looked."""
    found = await store.join(worker_id, QUEUE)
    return await store.serve(worker_id, QUEUE, {other: found[other] for other in dead})


async def test_the_first_start_of_all_restarts_nothing_and_one_that_joins_others_neither(store: Store) -> None:
    assert not await start(store, "first")
    assert not await start(store, "second")
    assert await store.serving_workers(QUEUE) == {"first", "second"}


async def test_a_start_that_finds_only_dead_workers_is_a_restart(store: Store) -> None:
    await start(store, "first")
    assert await start(store, "second", dead=("first",))
    assert await store.serving_workers(QUEUE) == {"second"}


async def test_a_start_after_all_have_left_in_order_is_a_restart(store: Store) -> None:
    await start(store, "first")
    await store.leave("first")
    assert await start(store, "second")


async def test_a_worker_that_was_taken_for_dead_and_lives_is_known_again(store: Store) -> None:
    await start(store, "paused")
    await start(store, "second", dead=("paused",))
    await store.beat("paused", QUEUE)
    await store.leave("second")
    assert not await start(store, "third")
    assert await store.serving_workers(QUEUE) == {"paused", "third"}


async def test_workers_that_are_gone_are_forgotten_while_others_serve(store: Store) -> None:
    for gone in ("left", "killed"):
        await start(store, gone)
    await start(store, "stays")
    await store.leave("left")
    assert not await start(store, "new", dead=("killed",))
    assert set(await store.beat("new", QUEUE)) == {"stays", "new"}
    await store.leave("stays")
    await store.leave("new")
    assert await start(store, "next"), "the queue had workers, and all of them are gone"
