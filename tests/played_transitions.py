"""Every transition that the store takes, each played by a run of its own, which is brought to where it begins."""

from collections.abc import Awaitable, Callable

from tests.stored_runs import CANCELED, StoredRun, decision
from turnwise.errors import ORCHESTRATOR_RESTART_INTERRUPTED, TURN_FAILED
from turnwise.fcmp.events import ErrorInfo
from turnwise.runs import RunInput
from turnwise.statechart import TRANSITIONS, Event, Transition
from turnwise.store import Store

BY_ID = {transition.id: transition for transition in TRANSITIONS}
LENIENT = RunInput(interactive_require_user_reply=False)
BROKEN = ErrorInfo(code=TURN_FAILED, message="It broke.")
GONE = ErrorInfo(code=ORCHESTRATOR_RESTART_INTERRUPTED, message="The worker is gone.")


async def tr_01(store: Store) -> StoredRun:
    run = await StoredRun.registered(store)
    await run.open_turn()
    return run


async def tr_02(store: Store) -> StoredRun:
    run = await StoredRun.running(store)
    await run.say("Let me ask.")
    await run.ask(handle={"next": 2})
    return run


async def tr_03(store: Store) -> StoredRun:
    run = await StoredRun.waiting(store)
    await run.answer()
    return run


async def tr_04(store: Store) -> StoredRun:
    run = await StoredRun.waiting(store, LENIENT)
    await store.resolve(run.run_id, decision())
    return run


async def tr_05(store: Store) -> StoredRun:
    run = await tr_03(store)
    await run.open_turn()
    await run.say("It is blue.")
    await run.close(Event.TURN_SUCCEEDED, usage={"tokens": 7})
    return run


async def tr_06(store: Store) -> StoredRun:
    run = await StoredRun.running(store)
    await run.close(Event.TURN_FAILED, BROKEN)
    return run


async def tr_07(store: Store) -> StoredRun:
    run = await StoredRun.waiting(store)
    await store.cancel_wait(run.run_id, CANCELED.message)
    return run


async def tr_08(store: Store) -> StoredRun:
    run = await tr_03(store)
    run.attempt += 1  # of a turn that never started
    await run.close(Event.RUN_CANCELED, CANCELED)
    return run


async def tr_09(store: Store) -> StoredRun:
    run = await StoredRun.running(store)
    await run.type("Half a sen")
    await run.close(Event.RUN_CANCELED, CANCELED)
    return run


async def tr_12(store: Store) -> StoredRun:
    run = await StoredRun.registered(store)
    run.attempt += 1
    await run.close(Event.RESTART_RECONCILE_FAILED, GONE)
    return run


async def tr_13(store: Store) -> StoredRun:
    run = await StoredRun.running(store)
    await run.close(Event.RESTART_RECONCILE_FAILED, GONE)
    return run


Play = Callable[[Store], Awaitable[StoredRun]]
PLAYS: dict[str, Play] = {
    play.__name__.upper().replace("_", "-"): play
    for play in (tr_01, tr_02, tr_03, tr_04, tr_05, tr_06, tr_07, tr_08, tr_09, tr_12, tr_13)
}


async def played(store: Store) -> list[tuple[Transition, StoredRun]]:
    """One run for each transition that the store takes, which is the last that it took."""
    return [(BY_ID[name], await play(store)) for name, play in PLAYS.items()]
