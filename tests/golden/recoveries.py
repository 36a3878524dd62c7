"""Every path that a run can take when its workers die: with real processes, as a journey to the run's end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.test_recovery import SPEAK_AND_WAIT, until_recovered
from tests.worker_process import Workers
from tests.world import ASK_THEN_ANSWER, World, until_asked, until_event, until_state
from turnwise.activities.sweep import RestartNotice
from turnwise.client import Run
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.runs import Recovery
from turnwise.statechart import State

Journey = Callable[[World, Workers], Awaitable[Run]]

ANSWERS: JsonObject = {"turns": [[{"final": "done"}]]}
WORKS_A_WHILE: JsonObject = {"turns": [[{"say": "Trying."}, {"sleep": 2}, {"final": "Done at last."}]]}


@dataclass(frozen=True, slots=True)
class Path:
    journey: Journey
    recovery: Recovery


RECOVERIES: dict[str, Path] = {}
"""By the name of the history's file."""


def recovery(how: Recovery = Recovery.RECONCILE) -> Callable[[Journey], Journey]:
    def add(journey: Journey) -> Journey:
        RECOVERIES[str(getattr(journey, "__name__", ""))] = Path(journey, how)
        return journey

    return add


@recovery()
async def preserved_while_waiting(world: World, crew: Workers) -> Run:
    """TR-10"""
    first = await crew.start()
    run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    await first.kill()
    await crew.start()
    await until_recovered(run)
    await run.reply(1, "blue")
    return run


@recovery()
async def failed_while_waiting(world: World, crew: Workers) -> Run:
    """TR-11, with what the sweep says of a handle that is lost"""
    await crew.start()
    run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    notice = RestartNotice(restart_id="restart", interaction_id=1, problem="The engine's handle is lost.")
    await world.temporal.get_workflow_handle(run.id).signal("restarted", notice)
    return run


@recovery()
async def failed_while_queued(world: World, crew: Workers) -> Run:
    """TR-12"""
    await (await crew.start()).kill()
    run = await world.turnwise.start(engine_options=ANSWERS)
    await crew.start()
    return run


@recovery()
async def failed_while_running(world: World, crew: Workers) -> Run:
    """TR-13"""
    first = await crew.start()
    run = await world.turnwise.start(engine_options=SPEAK_AND_WAIT)
    await until_state(run, State.RUNNING)
    await crew.start()
    await first.kill()
    return run


@recovery()
async def failed_as_its_worker_stopped(world: World, crew: Workers) -> Run:
    """TR-13, at once"""
    first = await crew.start()
    run = await world.turnwise.start(engine_options=SPEAK_AND_WAIT)
    await until_state(run, State.RUNNING)
    await crew.start()
    await first.stop()
    return run


@recovery(Recovery.REDRIVE)
async def run_again(world: World, crew: Workers) -> Run:
    first = await crew.start()
    run = await world.turnwise.start(engine_options=WORKS_A_WHILE)
    await until_event(run, EventType.MESSAGE_FINAL)
    await first.kill()
    await crew.start()
    return run


@recovery(Recovery.REDRIVE)
async def run_at_last_after_queueing(world: World, crew: Workers) -> Run:
    await (await crew.start()).kill()
    run = await world.turnwise.start(engine_options=ANSWERS)
    await crew.start()
    return run
